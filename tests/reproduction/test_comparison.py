"""The paired bootstrap, and the metrics that it resamples."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torchmetrics.functional import pearson_corrcoef

from graphsent.errors import DataError
from graphsent.reproduction import Catalogue, FinishedRuns, Run, compare, verdicts
from graphsent.reproduction.examples import COLUMNS, addends, metric_of, pack, unpack
from graphsent.reproduction.verdict import num_after_holm

RIGHT, SCORES, BRACKETS = COLUMNS.values()


def runs(*values: np.ndarray, columns: tuple[str, ...] = RIGHT) -> list[dict]:
    return [{"examples": pack(columns, each)} for each in values]


def right(share: float, number: int = 1000, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random((number, 1)) < share).astype(int)


def test_packing_round_trip():
    values = np.random.default_rng(0).integers(-5000, 5000, (100, 2))
    columns, found = unpack(pack(SCORES, values))
    assert columns == SCORES
    assert (found == values).all()
    with pytest.raises(DataError, match="expected the values of test examples"):
        unpack({"columns": ["right"], "number": 3, "values": "AAAA"})


def test_metrics_are_functions_of_sums():
    scores = np.random.default_rng(0).integers(1000, 5000, (50, 2))
    found = metric_of(SCORES, addends(SCORES, scores).sum(0), 50)
    x, y = torch.tensor(scores.T).double()
    assert float(found) == pytest.approx(float(pearson_corrcoef(x, y)), abs=1e-12)
    constant = addends(SCORES, np.array([[1000, 2000], [1000, 3000]])).sum(0)
    assert metric_of(SCORES, constant, 2) == 0
    brackets = np.array([[8, 10, 10], [1, 4, 6]])
    assert metric_of(BRACKETS, addends(BRACKETS, brackets).sum(0), 2) == 2 * 9 / 30
    assert metric_of(RIGHT, np.array([3.0]), 4) == 0.75


def test_a_clear_improvement_is_found():
    better, worse = (runs(*(right(p, seed=s) for s in range(5))) for p in (0.9, 0.8))
    found = compare(better, worse)
    assert found.mean == pytest.approx(0.1, abs=0.02)
    assert 0.05 < found.low < found.mean < found.high < 0.15
    assert found.p == pytest.approx(2 / 10_001)
    assert found.num_runs == (5, 5)
    turned = compare(worse, better)
    assert turned.mean == pytest.approx(-found.mean)
    assert turned.p == found.p


def test_equal_results_are_no_difference():
    same = runs(right(0.5))
    found = compare(same, same)
    assert (found.mean, found.low, found.high, found.p) == (0, 0, 0, 1)


def test_pairs_tell_more_than_two_samples_would():
    base = right(0.7)
    better = base.copy()
    better[np.flatnonzero(base == 0)[:12]] = 1  # correct where the other is, and on 12 more
    assert compare(runs(better), runs(base)).p < 0.01
    unpaired = np.random.default_rng(1).permutation(better)
    assert compare(runs(unpaired), runs(base)).p > 0.2


def test_a_difference_between_seeds_alone_is_undecided():
    first = runs(*(right(p, 5000) for p in (0.7, 0.9)))
    second = runs(*(right(p, 5000) for p in (0.68, 0.88)))
    assert compare(first[:1], second[:1]).p < 0.01
    assert compare(first, second).p > 0.2


def test_under_no_difference_p_is_below_a_twentieth_about_once_in_twenty():
    found = [compare(runs(right(0.6, 300, s)), runs(right(0.6, 300, s + 500))).p for s in range(60)]
    assert sum(p < 0.05 for p in found) <= 8  # 3 are expected


def test_folds_are_compared_by_a_corrected_t_test():
    better = [right(0.9, 40 + seed % 2, seed) for seed in range(10)]
    worse = [right(0.6, 40 + seed % 2, seed + 50) for seed in range(10)]
    found = compare(runs(*better), runs(*worse), num_folds=10)
    differences = [one.mean() - other.mean() for one, other in zip(better, worse, strict=True)]
    uncorrected = stats.ttest_rel(differences, [0] * 10)
    t = uncorrected.statistic * math.sqrt(1 / 10 / (1 / 10 + 1 / 9))
    assert found.mean == pytest.approx(np.mean(differences))
    assert found.p == pytest.approx(2 * stats.t.sf(t, 9))
    assert uncorrected.pvalue < found.p < 0.01
    half = stats.t.ppf(0.975, 9) * found.mean / t
    assert (found.low, found.high) == pytest.approx((found.mean - half, found.mean + half))


def test_a_difference_on_one_fold_is_none():
    one, other = runs(right(0.9, 40)), runs(right(0.1, 40))
    found = compare(one, other, num_folds=10)
    assert (found.low, found.high, found.p) == (-math.inf, math.inf, 1)


def test_the_same_on_every_fold_is_no_difference():
    folds = runs(*[right(0.9, 40, seed) for seed in range(10)])
    found = compare(folds, folds, num_folds=10)
    assert (found.mean, found.low, found.high, found.p) == (0, 0, 0, 1)


def test_only_folds_that_both_have_are_compared(tmp_path):
    catalogue, finished = Catalogue(), FinishedRuns(tmp_path)
    each = next(
        comparison
        for table in catalogue.tables.values()
        for comparison in table.comparisons
        if catalogue.configurations[comparison.first].num_folds
    )
    shipped = [catalogue.configurations[name] for name in (each.first, each.second)]
    for configuration, folds in zip(shipped, (range(9), range(1, 10)), strict=True):
        for fold in folds:
            values = right(0.8, 40 + fold)  # other examples on each fold
            content = {
                "data": {},
                "dev": {},
                "test": {"accuracy": float(values.mean())},
                "examples": pack(RIGHT, values),
                "best_epoch": 1,
                "minutes": 1,
                "versions": {},
            }
            finished.write(Run(configuration, "fold", fold), content)
    verdict = verdicts(catalogue, finished)[each]
    assert (verdict.num_runs, verdict.mean, verdict.text) == ((8, 8), 0, "undecided")
    for fold in range(8):
        finished.file(Run(shipped[0], "fold", fold)).unlink()
    assert verdicts(catalogue, finished)[each].text == "one fold cannot tell"
    finished.file(Run(shipped[0], "fold", 8)).unlink()
    assert verdicts(catalogue, finished)[each] is None


@pytest.mark.parametrize(
    ("values", "number"),
    [([], 0), ([0.04], 1), ([0.06], 0), ([0.04, 0.02], 2), ([0.04, 0.03], 0), ([0.1, 0.001], 1)],
)
def test_holm(values, number):
    assert num_after_holm(values) == number


def test_results_on_other_examples_are_rejected():
    with pytest.raises(DataError, match="not evaluated on the same test examples"):
        compare(runs(right(0.5, 10)), runs(right(0.5, 11)))


def test_the_interval_holds_95_per_cent():
    found = compare(runs(right(0.5, 2000, 1)), runs(right(0.5, 2000, 2)))
    # For the difference of two independent shares of a half: 1.96 deviations on either side.
    deviation = (2 * 0.25 / 2000) ** 0.5
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * deviation, rel=0.06)
