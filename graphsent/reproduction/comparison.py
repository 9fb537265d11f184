"""Significance tests of the difference between two configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
    folds: bool = False,
    seed: int = 0,
) -> Difference:
    r"""Compares two configurations by a paired bootstrap over test examples and seeds.

    Each of 10,000 samples resamples the test examples, the same ones for both sides, and the runs
    of each side, all with replacement, and takes the difference of the mean metrics. If :math:`b`
    of the :math:`B` differences lie on the rarer side of zero, or at zero, p is
    :math:`2 (b + 1) / (B + 1)`. The folds of a corpus together form one test set, each evaluated by
    its own run.

    Args:
        first: Finished runs of one configuration.
        second: Finished runs of another one, on the same test examples.
        folds: Whether the runs are folds: the same ones on both sides, in the same order.
        seed: Seed of the bootstrap.

    Raises:
        DataError: They were not evaluated on the same examples.
    """
    sides = [[unpack(each["examples"]) for each in runs] for runs in (first, second)]
    if folds:
        sides = [[(side[0][0], np.concatenate([v for _, v in side]))] for side in sides]
    shapes = {(columns, len(values)) for side in sides for columns, values in side}
    if len(shapes) != 1:
        raise DataError("compared runs were not evaluated on the same test examples")
    ((columns, number),) = shapes
    sums = [np.stack([addends(columns, values) for _, values in side]) for side in sides]
    means = [metric_of(columns, each.sum(1), number).mean() for each in sums]
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(0, _SAMPLES, _AT_ONCE):
        drawn = generator.integers(number, size=(_AT_ONCE, number))
        rows = np.arange(_AT_ONCE)[:, None] * number
        counts = np.bincount((drawn + rows).ravel(), minlength=_AT_ONCE * number)
        weights = counts.reshape(_AT_ONCE, number).astype(np.float64)
        sampled = []
        for each in sums:  # as one product: einsum is 50 times slower
            flat = weights @ each.transpose(1, 0, 2).reshape(number, -1)
            metrics = metric_of(columns, flat.reshape(_AT_ONCE, len(each), -1), number)
            runs = generator.integers(len(each), size=metrics.shape)
            sampled.append(np.take_along_axis(metrics, runs, 1).mean(1))
        found.append(sampled[0] - sampled[1])
    differences = np.concatenate(found)
    rarer = min((differences <= 0).sum(), (differences >= 0).sum())
    low, high = np.percentile(differences, (2.5, 97.5))
    p = min(1.0, 2 * (int(rarer) + 1) / (len(differences) + 1))
    lengths = (len(first), len(second))
    return Difference(float(means[0] - means[1]), float(low), float(high), p, lengths)
