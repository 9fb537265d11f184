"""Significance tests of the difference between two configurations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from scipy.special import stdtr, stdtrit

from graphsent._threads import torch_threads
from graphsent.errors import DataError
from graphsent.reproduction.examples import addends, metric_of, unpack

__all__ = ["Difference", "compare"]

_SAMPLES = 10_000
_AT_ONCE = 250


@dataclass(frozen=True)
class Difference:
    """The difference in a metric between two configurations.

    Attributes:
        mean: Mean over the runs of the first minus mean over the runs of the second.
        low: Lower end of the 95 % interval.
        high: Upper end.
        p: Two-sided p-value of the null hypothesis of no difference.
        num_runs: Number of runs of each.
    """

    mean: float
    low: float
    high: float
    p: float
    num_runs: tuple[int, int]


def compare(
    first: Sequence[Mapping[str, Any]],
    second: Sequence[Mapping[str, Any]],
    *,
    num_folds: int = 0,
    seed: int = 0,
) -> Difference:
    r"""Compares two configurations.

    Runs that differ in their seeds are compared by a paired bootstrap over test examples and runs.
    Each of 10,000 samples resamples the test examples, the same ones for both sides, and the runs
    of each side, all with replacement, and takes the difference of the mean metrics. If :math:`b`
    of the :math:`B` differences lie on the rarer side of zero, or at zero, p is
    :math:`2 (b + 1) / (B + 1)`. The variance due to chance in a single example and run counts three
    times (Owen 2007, "The pigeonhole bootstrap"), so p is rather too large.

    Runs on folds are compared by a corrected paired t-test (Nadeau and Bengio 2003, "Inference for
    the generalization error"): for k of K folds, whose differences have the mean :math:`m` and the
    deviation :math:`s` (k - 1), :math:`m / (s \sqrt{1 / k + 1 / (K - 1)})` has k - 1 degrees of
    freedom. The second term is for the training data that the folds share.

    Args:
        first: Finished runs of one configuration.
        second: Finished runs of another one, on the same test examples.
        num_folds: Number of folds of the corpus if the runs are folds, the same ones on both
            sides and in the same order; otherwise 0.
        seed: Seed of the bootstrap.

    Raises:
        DataError: They were not evaluated on the same examples.
    """
    sides = [[unpack(each["examples"]) for each in runs] for runs in (first, second)]
    lengths = (len(first), len(second))
    shapes = [[(columns, len(values)) for columns, values in side] for side in sides]
    if shapes[0] != shapes[1] if num_folds else len(set(shapes[0] + shapes[1])) != 1:
        raise DataError("compared runs were not evaluated on the same test examples")
    sums = [[addends(columns, values) for columns, values in side] for side in sides]
    columns = sides[0][0][0]
    means = [
        np.array([metric_of(columns, each.sum(0), len(each)) for each in side]) for side in sums
    ]
    if num_folds:
        return Difference(*_of_folds(means[0] - means[1], num_folds), lengths)
    differences = _resampled(columns, [np.stack(side) for side in sums], seed)
    rarer = min((differences <= 0).sum(), (differences >= 0).sum())
    low, high = np.percentile(differences, (2.5, 97.5))
    p = min(1.0, 2 * (int(rarer) + 1) / (len(differences) + 1))
    mean = float(means[0].mean() - means[1].mean())
    return Difference(mean, float(low), float(high), p, lengths)


def _resampled(columns: tuple[str, ...], sides: Sequence[np.ndarray], seed: int) -> np.ndarray:
    """Differences of the mean metrics in samples, from addends (num_runs, num_examples, k)."""
    both, number = np.concatenate(sides), sides[0].shape[1]
    terms = torch.from_numpy(both.transpose(1, 0, 2).reshape(number, -1))
    found = []
    for counts, *runs in _draws(number, tuple(map(len, sides)), seed):
        # Beside other processes, two threads take ten times as long as one; einsum, 50 times.
        with torch_threads(1):
            sums = (torch.from_numpy(counts).to(terms.dtype) @ terms).numpy()
        sums = sums.reshape(len(counts), len(both), -1)
        metrics = np.split(metric_of(columns, sums, number), [len(sides[0])], 1)
        first, second = (
            np.take_along_axis(each, chosen, 1).mean(1)
            for each, chosen in zip(metrics, runs, strict=True)
        )
        found.append(first - second)
    return np.concatenate(found)


# Drawing takes three quarters of the time, and comparisons of as many runs draw the same samples.
@lru_cache(maxsize=4)
def _draws(number: int, num_runs: tuple[int, ...], seed: int) -> list[tuple[np.ndarray, ...]]:
    """How often each sample contains each example, and the runs of each side that it contains.

    Returns:
        For each of several samples, (samples, number) uint8 and per side (samples, runs) int64.
    """
    generator = np.random.default_rng(seed)
    found: list[tuple[np.ndarray, ...]] = []
    for _ in range(0, _SAMPLES, _AT_ONCE):
        drawn = generator.integers(number, size=(_AT_ONCE, number))
        rows = np.arange(_AT_ONCE)[:, None] * number
        counts = np.bincount((drawn + rows).ravel(), minlength=_AT_ONCE * number)
        runs = [generator.integers(count, size=(_AT_ONCE, count)) for count in num_runs]
        found.append((counts.reshape(_AT_ONCE, number).astype(np.uint8), *runs))
    return found


def _of_folds(differences: np.ndarray, num_folds: int) -> tuple[float, float, float, float]:
    """Mean, interval and p-value of the differences on folds."""
    mean, number = float(differences.mean()), len(differences)
    if number == 1:
        return mean, -math.inf, math.inf, 1.0
    error = float(differences.std(ddof=1)) * math.sqrt(1 / number + 1 / (num_folds - 1))
    p = 2 * float(stdtr(number - 1, -abs(mean) / error)) if error else float(mean == 0)
    half = float(stdtrit(number - 1, 0.975)) * error
    return mean, mean - half, mean + half, p
