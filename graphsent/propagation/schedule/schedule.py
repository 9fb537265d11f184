"""The order in which the nodes of a graph are computed, as contiguous slices.

A schedule numbers the nodes by level, the length of the longest path that ends at a node, and
within a level by in-degree. A level is then a slice of these ordinals, and so are its nodes of one
in-degree; the messages that they receive are a slice of the mailbox. The nodes of the first level
are leaves, all others inner nodes; unless levels are reversed, leaves have no predecessors.
"""

from __future__ import annotations

from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphsent._derived import Unchanging, notes_of
from graphsent._dgl import dgl
from graphsent.errors import DataError
from graphsent.graphs.levels import levels_of
from graphsent.graphs.notes import edge_ends
from graphsent.propagation.errors import PropagationError


def to_device(index: Tensor, device: torch.device) -> Tensor:
    """The tensor on a device; the host does not wait for a copy from the CPU."""
    if device.type != "cuda" or not index.is_cpu or index.requires_grad:
        return index.to(device)
    return index.pin_memory().to(device, non_blocking=True)


class Nodes(NamedTuple):
    """Nodes that can be computed at once; ordinals and mailbox rows are half-open.

    ``degree`` is the highest in-degree, ``buckets`` of a level are its nodes by in-degree.
    """

    start: int
    end: int
    first_edge: int
    last_edge: int
    degree: int
    buckets: tuple[Nodes, ...] = ()


class Schedule(Unchanging):
    """Nodes by ordinal, and the mailbox: all edges by the ordinal of their target.

    The edges of one target are in the order of their ids, as in the mailbox of a DGL reduce
    function. All tensors are int64 and on one device, arrays on the host.

    Args:
        ends: (num_levels,) int64, ordinal after the last node of each level.
        degrees: (num_nodes,) int64, in-degree of the node at each ordinal.
        packed: The tensors below, concatenated.
        num_edges: Number of edges.

    Attributes:
        nodes: (num_nodes,) node at each ordinal.
        ordinal: (num_nodes,) ordinal of each node.
        edges: (num_edges,) edge at each row of the mailbox.
        source: (num_edges,) ordinal of the edge's source.
        target: (num_edges,) ordinal of the edge's target.
        num_leaves: Number of leaves.
        num_inner: Number of inner nodes.
    """

    def __init__(
        self, ends: np.ndarray, degrees: np.ndarray, packed: Tensor, num_edges: int
    ) -> None:
        self.ends, self.degrees, self.packed = ends, degrees, packed
        self.num_levels, self.num_nodes, self.num_edges = len(ends), len(degrees), num_edges
        self.num_leaves = int(ends[0]) if len(ends) else 0
        self.num_inner = self.num_nodes - self.num_leaves
        self.device = packed.device
        sizes = [*[self.num_nodes] * 2, *[num_edges] * 3]
        self.nodes, self.ordinal, self.edges, self.source, self.target = packed.split(sizes)

    @cached_property
    def levels(self) -> tuple[Nodes, ...]:
        """Slices of ordinals and mailbox rows, as Python integers."""
        changes = np.flatnonzero(self.degrees[1:] != self.degrees[:-1]) + 1
        starts = np.unique(np.concatenate(([0], changes, self.ends)))
        level = np.searchsorted(self.ends, starts[:-1], side="right")
        edges = np.concatenate(([0], np.cumsum(self.degrees)))[starts]
        degree = self.degrees[starts[:-1]]
        columns = (starts[:-1], starts[1:], edges[:-1], edges[1:], degree)
        buckets = map(Nodes, *(column.tolist() for column in columns))
        levels = []
        for _, members in groupby(zip(level.tolist(), buckets, strict=True), itemgetter(0)):
            parts = tuple(bucket for _, bucket in members)
            first, last = parts[0], parts[-1]
            levels.append(
                last._replace(start=first.start, first_edge=first.first_edge, buckets=parts)
            )
        return tuple(levels)

    @property
    def mailbox_slots(self) -> np.ndarray:
        """(num_edges,) index of each row of the mailbox among those of the same target."""
        first = np.cumsum(self.degrees) - self.degrees
        return np.arange(self.num_edges) - np.repeat(first, self.degrees)

    @cached_property
    @torch.inference_mode(False)
    def first_edge(self) -> Tensor:
        """(num_inner + 1,) first mailbox row of each node after the first level, and the end."""
        inner = torch.arange(self.num_leaves, self.num_nodes + 1, device=self.device)
        return torch.searchsorted(self.target, inner)

    @torch.inference_mode(False)
    def to(self, device: torch.device | str) -> Schedule:
        """The schedule on a device, cached; the host does not wait for the copy."""
        device = torch.device(device)
        if device == self.device:
            return self
        if device not in self.derived:
            packed = to_device(self.packed, device)
            self.derived[device] = Schedule(self.ends, self.degrees, packed, self.num_edges)
        return self.derived[device]

    def by_ordinal(self, rows: Tensor) -> Tensor:
        """Permutes rows, (num_nodes, ...), from the order of the graph to that of the schedule."""
        return rows.index_select(0, self.nodes)

    def by_node(self, rows: Tensor) -> Tensor:
        """Permutes rows, (num_nodes, ...), from the order of the schedule to that of the graph."""
        return rows.index_select(0, self.ordinal)

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies and pickles omit what was derived from it, on other devices or from edge data.
        return Schedule, (self.ends, self.degrees, self.packed, self.num_edges)


def schedule_of(
    graph: dgl.DGLGraph, *, reverse: bool = False, turn_edges: bool = False
) -> Schedule:
    """The schedule of a graph, on the CPU.

    It depends on nodes and edges only, not on data, and is cached until they change. Graphs of
    :mod:`graphsent.graphs` know the levels of their nodes from the trees; for other graphs DGL
    computes them.

    Args:
        graph: A homogeneous acyclic graph, such as a batch of trees.
        reverse: Take the levels from the last nodes to the first, as ``dgl.prop_nodes_topo`` does
            with its own ``reverse``; messages still follow the edges, so that nodes without
            incoming edges can be in any level.
        turn_edges: The schedule of the graph with its edges reversed; edge ids stay the same.

    Raises:
        PropagationError: If the graph has a cycle, or is restricted to some sparse formats.
    """
    notes = notes_of(graph)
    key = ("schedule", reverse, notes.turned != turn_edges)
    if key not in notes.facts:
        try:
            source, target = edge_ends(graph)
            level = levels_of(graph, turn_edges=reverse != turn_edges)
        except DataError as error:
            raise PropagationError(str(error)) from error
        if turn_edges:
            source, target = target, source
        notes.facts[key] = make_schedule(source, target, level)
    return notes.facts[key]


@torch.inference_mode(False)  # it is cached, and gradients may need it later
def make_schedule(source: np.ndarray, target: np.ndarray, level: np.ndarray) -> Schedule:
    """The schedule of nodes with given levels.

    Args:
        source: (num_edges,) source of each edge.
        target: (num_edges,) target of each edge.
        level: (num_nodes,) level of each node, from 0 without gaps.
    """
    degree = np.bincount(target, minlength=len(level))
    nodes = np.lexsort((degree, level))
    ordinal = np.empty_like(nodes)
    ordinal[nodes] = np.arange(len(nodes))

    target = ordinal[target]
    edges = np.argsort(target, kind="stable")
    packed = np.concatenate((nodes, ordinal, edges, ordinal[source[edges]], target[edges]))
    ends = np.cumsum(np.bincount(level))
    return Schedule(ends, degree[nodes], torch.from_numpy(packed), len(source))
