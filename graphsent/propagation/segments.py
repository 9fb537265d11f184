"""The edges of a schedule by their target, and sums over them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from graphsent.propagation.schedule.schedule import Bucket, Level, Schedule

SUMMED_AT_ONCE = 256
"""Longer sums are made in parts: each addition to a long one costs a bit of its digits."""


class Segments(NamedTuple):
    """The edges of a level by their target.

    Attributes:
        target: (edges,) row of each edge's target in the level.
        rows: (edges,) 0, 1, 2, ...
        offsets: (nodes,) first edge of each node.
        wide: nodes with many edges; rows and edges counted from those of the level.
    """

    target: Tensor
    rows: Tensor
    offsets: Tensor
    wide: tuple[Bucket, ...]

    def sum(self, values: Tensor, out: Tensor) -> Tensor:
        """Sums of rows of edges by node: (edges, size) -> (nodes, size).

        Rounding grows with the number of edges up to ``SUMMED_AT_ONCE`` of them, and hardly beyond.
        """
        out.copy_(torch.embedding_bag(values, self.rows, self.offsets)[0])
        for bucket in self.wide:
            rows = values[bucket.first_edge : bucket.last_edge].unflatten(0, (-1, bucket.degree))
            torch.sum(rows, 1, out=out[bucket.start : bucket.end])
        return out

    def expand(self, values: Tensor, out: Tensor) -> Tensor:
        """Rows of nodes by edge: (nodes, size) -> (edges, size)."""
        return torch.index_select(values, 0, self.target, out=out)


class Segmentation:
    """The edges by their target, for all levels but the first, whose nodes have none."""

    def __init__(self, schedule: Schedule) -> None:
        first = schedule.num_sources
        self.target = schedule.target - first
        inner = torch.arange(first, schedule.num_nodes, device=schedule.device)
        offsets = torch.searchsorted(schedule.target, inner)
        rows = torch.arange(schedule.num_edges, device=schedule.device)
        levels = schedule.levels[1:]
        wide = tuple(bucket for level in levels for bucket in _wide(level, first, 0))
        self.all = Segments(self.target, rows, offsets, wide)
        self._levels = levels

    def by_level(self) -> list[Segments]:
        """The edges to each level."""
        edges = [level.last_edge - level.first_edge for level in self._levels]
        nodes = [level.end - level.start for level in self._levels]
        targets, offsets = self.target.split(edges), self.all.offsets.split(nodes)
        first = self._levels[0].start if self._levels else 0
        return [
            Segments(
                target - (level.start - first),
                self.all.rows[: len(target)],
                offset - level.first_edge,
                _wide(level, level.start, level.first_edge),
            )
            for level, target, offset in zip(self._levels, targets, offsets, strict=True)
        ]

    def sum(self, values: Tensor) -> Tensor:
        """Sums by node of rows of all edges: (edges, size) -> (nodes, size)."""
        return self.all.sum(values, values.new_empty(len(self.all.offsets), values.shape[1]))


def edge_sizes(schedule: Schedule) -> list[int]:
    """Numbers of edges to all levels but the first."""
    return [level.last_edge - level.first_edge for level in schedule.levels[1:]]


def _wide(level: Level, start: int, first_edge: int) -> tuple[Bucket, ...]:
    """The nodes of a level that have many edges, counted from a node and an edge."""
    return tuple(
        Bucket(
            bucket.start - start,
            bucket.end - start,
            bucket.first_edge - first_edge,
            bucket.last_edge - first_edge,
            bucket.degree,
        )
        for bucket in level.buckets
        if bucket.degree > SUMMED_AT_ONCE
    )
