"""The order in which the nodes of a graph are computed, as contiguous slices.

A schedule numbers the nodes anew: by level, which is the length of the longest path that ends at a
node, and within a level by in-degree. A level is then a slice of rows, as are its nodes of one
in-degree, and the messages that they receive.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from graphsent._dgl import dgl
from graphsent.propagation.errors import cycle_error


class Bucket(NamedTuple):
    """Nodes of one level with the same in-degree; positions and mailbox rows are half-open."""

    start: int
    end: int
    first_edge: int
    last_edge: int
    degree: int


class Level(NamedTuple):
    """Nodes that can be computed at once; positions and mailbox rows are half-open."""

    start: int
    end: int
    first_edge: int
    last_edge: int
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, eq=False)
class Schedule:
    """Nodes by position, and the mailbox: all edges by the position of their target.

    The edges of one target are in the order of their ids, as in the mailbox of a DGL reduce
    function. Bounds are Python numbers; all tensors are int64 and on one device.

    Attributes:
        levels: slices of positions and mailbox rows.
        nodes: (num_nodes,) node at each position.
        position: (num_nodes,) position of each node.
        edges: (num_edges,) edge at each row of the mailbox.
        source: (num_edges,) position of the edge's source.
        target: (num_edges,) position of its target.
        sent_to: (num_nodes,) mailbox row to which the node at each position sends, ``num_edges``
            where there is none; no rows at all if some node sends to several.
    """

    levels: tuple[Level, ...]
    nodes: Tensor
    position: Tensor
    edges: Tensor
    source: Tensor
    target: Tensor
    sent_to: Tensor

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return len(self.edges)

    @property
    def num_sources(self) -> int:
        """Number of nodes of the first level."""
        return self.levels[0].end if self.levels else 0

    @property
    def single_successor(self) -> bool:
        """Whether every node sends to one other at most, as from child to parent in a tree."""
        return len(self.sent_to) == self.num_nodes

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.nodes.device

    def to(self, device: torch.device | str) -> Schedule:
        """The schedule on a device; the host does not wait. Kept for the next call."""
        device = torch.device(device)
        if device == self.device:
            return self
        if device not in self._moved:
            tensors = (self.nodes, self.position, self.edges, self.source, self.target)
            packed = torch.cat((*tensors, self.sent_to))  # one transfer for all
            if device.type == "cuda":
                packed = packed.pin_memory()
            packed = packed.to(device, non_blocking=True)
            sizes = [len(tensor) for tensor in (*tensors, self.sent_to)]
            self._moved[device] = Schedule(self.levels, *packed.split(sizes))
        return self._moved[device]

    @cached_property
    def _moved(self) -> dict[torch.device, Schedule]:
        return {}


class _Known(NamedTuple):
    structure: object  # DGL replaces it, and does not change it, when nodes or edges come or go
    schedules: dict[tuple[bool, bool], Schedule]


_known: WeakKeyDictionary[dgl.DGLGraph, _Known] = WeakKeyDictionary()


def schedule_of(
    graph: dgl.DGLGraph, *, reverse: bool = False, turn_edges: bool = False
) -> Schedule:
    """The schedule of a graph, on the CPU.

    It depends on nodes and edges alone, not on data, and is computed once for as long as the graph
    lives and has the same nodes and edges.

    Args:
        graph: a homogeneous acyclic graph, such as a batch of trees.
        reverse: take the levels from the last nodes to the first, as ``dgl.prop_nodes_topo`` does
            with its own ``reverse``; messages follow the edges as they are, so that nodes without
            incoming edges can be in any level.
        turn_edges: the schedule of the graph with its edges turned round; edge ids stay.

    Raises:
        PropagationError: if the graph has a cycle.
    """
    known = _known.get(graph)
    if known is None or known.structure is not graph._graph:
        known = _known[graph] = _Known(graph._graph, {})
    if (reverse, turn_edges) not in known.schedules:
        known.schedules[reverse, turn_edges] = _make_schedule(graph, reverse, turn_edges)
    return known.schedules[reverse, turn_edges]


def _make_schedule(graph: dgl.DGLGraph, reverse: bool, turn_edges: bool) -> Schedule:
    source, target = (ends.cpu().numpy() for ends in graph.edges(order="eid"))
    if turn_edges:
        source, target = target, source
    num_nodes = graph.num_nodes()
    level = _levels(graph, reverse != turn_edges)
    degree = np.bincount(target, minlength=num_nodes)
    key = level * (int(degree.max(initial=0)) + 1) + degree
    nodes = _argsort(key)
    position = np.empty_like(nodes)
    position[nodes] = np.arange(num_nodes)

    edges = _argsort(position[target])
    source, target = position[source[edges]], position[target[edges]]
    single = np.bincount(source, minlength=1).max() <= 1
    sent_to = np.full(num_nodes if single else 0, len(edges))
    if single:
        sent_to[source] = np.arange(len(edges))
    levels = _slices(key[nodes], level[nodes], degree[nodes])
    tensors = (nodes, position, edges, source, target, sent_to)
    return Schedule(levels, *(torch.from_numpy(np.asarray(array, np.int64)) for array in tensors))


def _levels(graph: dgl.DGLGraph, reverse: bool) -> np.ndarray:
    """The level of each node, int64; DGL finds them in linear time."""
    num_nodes = graph.num_nodes()
    if not num_nodes:
        return np.zeros(0, np.int64)
    try:
        frontiers = dgl.topological_nodes_generator(graph.cpu(), reverse)
    except dgl.DGLError as error:
        if "loop detected" not in str(error):
            raise
        raise cycle_error(num_nodes) from error
    level = np.empty(num_nodes, np.int64)
    sizes = [len(frontier) for frontier in frontiers]
    level[torch.cat(list(frontiers)).numpy()] = np.repeat(np.arange(len(sizes)), sizes)
    return level


def _argsort(keys: np.ndarray) -> np.ndarray:
    """Stable order of non-negative keys; numpy sorts 16-bit numbers by radix."""
    if len(keys) and keys.max() <= np.iinfo(np.uint16).max:
        keys = keys.astype(np.uint16)
    return np.argsort(keys, kind="stable")


def _slices(key: np.ndarray, level: np.ndarray, degree: np.ndarray) -> tuple[Level, ...]:
    """Levels and buckets of nodes in order, from their keys, levels and in-degrees."""
    if not len(key):
        return ()
    starts = np.concatenate(([0], np.flatnonzero(np.diff(key)) + 1))
    ends = np.append(starts[1:], len(key))
    edges_before = np.concatenate(([0], np.cumsum(degree)))
    columns = (starts, ends, edges_before[starts], edges_before[ends], degree[starts])
    buckets = list(map(Bucket, *(column.tolist() for column in columns)))
    first = np.concatenate(([0], np.flatnonzero(np.diff(level[starts])) + 1)).tolist()
    levels = []
    for begin, end in zip(first, [*first[1:], len(buckets)], strict=True):
        members = tuple(buckets[begin:end])
        levels.append(
            Level(
                members[0].start,
                members[-1].end,
                members[0].first_edge,
                members[-1].last_edge,
                members,
            )
        )
    return tuple(levels)
