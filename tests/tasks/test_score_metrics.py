"""Pearson, Spearman and MSE of scores over a whole split."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import stats

from graphsent.errors import DataError
from graphsent.tasks import get_task

LEVELS = np.arange(1, 6)


def figures(logits: torch.Tensor, scores: torch.Tensor, sizes: list[int]) -> dict[str, float]:
    metrics = get_task("sick").metrics()
    for part, gold in zip(logits.split(sizes), scores.split(sizes), strict=True):
        metrics.update(part, SimpleNamespace(gold=gold, roots=torch.arange(len(gold))))
    return {name: float(value) for name, value in metrics.compute().items()}


@pytest.mark.parametrize("sizes", [[50], [25, 25], [1, 30, 19]])
def test_metrics_do_not_depend_on_batches(sizes):
    logits = torch.randn(50, 5)
    labels = (1 + 4 * torch.rand(50)).round(decimals=1)  # with ties
    scores = torch.softmax(logits.double(), 1).numpy() @ LEVELS
    found = figures(logits, labels, sizes)
    gold = labels.double().numpy()
    assert found["pearson"] == pytest.approx(stats.pearsonr(scores, gold)[0], abs=1e-9)
    assert found["spearman"] == pytest.approx(stats.spearmanr(scores, gold)[0], abs=1e-9)
    assert found["mse"] == pytest.approx(((scores - gold) ** 2).mean(), abs=1e-9)
    assert set(found) == {"pearson", "spearman", "mse"}


def test_ranks_of_many_equal_scores():
    gold = torch.arange(200_000) % 5 + 1.0
    scores = (gold + torch.arange(200_000) % 3).clamp(max=5)
    logits = 60 * torch.nn.functional.one_hot((scores - 1).long(), 5).float()
    expected = stats.spearmanr(scores.numpy(), gold.numpy())[0]
    assert figures(logits, gold, [200_000])["spearman"] == pytest.approx(expected, abs=1e-9)


def test_pairs_without_a_score_are_left_out():
    logits = torch.randn(6, 5)
    labels = torch.tensor([1, 2, float("nan"), 4, 5, 3])
    known = ~labels.isnan()
    assert figures(logits, labels, [6]) == figures(logits[known], labels[known], [5])
    assert figures(logits, labels, [2, 1, 3]) == figures(logits[known], labels[known], [2, 3])


@pytest.mark.filterwarnings("ignore:The ``compute`` method")
def test_without_any_score_there_is_nothing_to_evaluate():
    with pytest.raises(DataError, match="no example has a gold score"):
        figures(torch.randn(2, 5), torch.full((2,), float("nan")), [2])


def test_the_error_of_numbers_that_are_not_finite():
    """It is not 0, the best."""
    logits = torch.tensor([[float("nan")] * 5, [0.0] * 5])
    assert np.isnan(figures(logits, torch.tensor([1.0, 2.0]), [2])["mse"])


def test_equal_scores_have_no_correlation():
    found = figures(torch.zeros(4, 5), torch.tensor([1.0, 2, 3, 5]), [2, 2])
    assert found["pearson"] == found["spearman"] == 0
    assert found["mse"] == pytest.approx((4 + 1 + 0 + 4) / 4)


def test_reset_clears_the_state():
    metrics = get_task("sick").metrics()
    batch = SimpleNamespace(gold=torch.tensor([1.0, 2, 5]), roots=torch.arange(3))
    metrics.update(torch.randn(3, 5), batch)
    metrics.reset()
    logits = torch.eye(5)[[0, 1, 4]] * 100
    metrics.update(logits, batch)
    found = metrics.compute()
    assert found["pearson"] == pytest.approx(1)
    assert found["mse"] == pytest.approx(0, abs=1e-9)


def test_the_task_selects_by_correlation():
    task = get_task("sick")
    assert task.selection_metric in task.metrics()
    assert task.label_names == ("1", "2", "3", "4", "5")
