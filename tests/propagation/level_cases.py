"""Cells on schedules, run by the engines under test and by DGL.

Rules with compiled kernels run both with them, if there is a compiler, and in torch.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from graphsent import cells
from graphsent._dgl import dgl
from graphsent.cells.slots import SlottedCell
from graphsent.propagation.backends.levels import run_levels
from graphsent.propagation.schedule.schedule import Schedule, schedule_of
from graphsent.propagation.schedule.slots import Slots, make_slots

IN_FEATS, HIDDEN_FEATS = 4, 3
CHILD_INDEX = "child_index"

State = tuple[Tensor, ...]
Engine = Callable[..., State]


def slots_of(cell: SlottedCell, graph: dgl.DGLGraph, schedule: Schedule) -> Slots:
    return make_slots(schedule, cell.num_slots, graph.edata.get(cell.slot_name))


def any_cell(cell: cells.TreeCell, graph, schedule, start, *inner) -> State:
    slots = slots_of(cell, graph, schedule) if isinstance(cell, SlottedCell) else None
    return run_levels(cell.combine, schedule, start, inner, slots)


def run(cell: cells.TreeCell, engine: Engine, graph: dgl.DGLGraph, feat: Tensor) -> State:
    """The states of all nodes by an engine."""
    schedule = schedule_of(graph)
    data = cell.prepare(graph, feat)
    sizes = (schedule.num_leaves, schedule.num_nodes - schedule.num_leaves)
    inputs = [schedule.by_ordinal(data[name]).split(sizes) for name in cell.input_names]
    start = cell.start(*(leaves for leaves, _ in inputs))
    states = engine(cell, graph, schedule, start, *(inner for _, inner in inputs))
    return tuple(schedule.by_node(part) for part in states)


def run_dgl(cell: cells.TreeCell, graph: dgl.DGLGraph, feat: Tensor) -> State:
    return cell.run(graph, feat, engine="dgl")


@dataclass(frozen=True)
class Case:
    """A cell with an engine, and the maximum number of predecessors of its nodes."""

    name: str
    cell: type[cells.TreeCell]
    engine: Engine
    max_degree: int
    options: dict[str, Any] = field(default_factory=dict)
    slot_name: str | None = None
    single_successor: bool = False

    def build(self) -> cells.TreeCell:
        cell = self.cell(IN_FEATS, HIDDEN_FEATS, **self.options).double()
        for parameter in cell.parameters():
            torch.nn.init.uniform_(parameter, -0.8, 0.8)
        return cell

    def graph(self, rng: random.Random, num_nodes: int) -> dgl.DGLGraph:
        """A random graph that the cell accepts."""
        if self.single_successor:
            return forest(rng, num_nodes, self.max_degree, self.slot_name)
        return dag(rng, num_nodes, self.max_degree, self.slot_name)


def _graph(
    incoming: Sequence[Sequence[int]], rng: random.Random, max_degree: int, slot_name: str | None
) -> dgl.DGLGraph:
    """The graph with these predecessors, renumbered, edges in any order, in random slots."""
    names = rng.sample(range(len(incoming)), len(incoming))
    edges = [
        (names[before], names[node], slot)
        for node, several in enumerate(incoming)
        for before, slot in zip(several, rng.sample(range(max_degree), len(several)), strict=True)
    ]
    rng.shuffle(edges)
    columns = torch.tensor(edges, dtype=torch.int64).view(-1, 3)
    graph = dgl.graph((columns[:, 0], columns[:, 1]), num_nodes=len(incoming))
    if slot_name is not None:
        graph.edata[slot_name] = columns[:, 2]
    return graph


def dag(
    rng: random.Random, num_nodes: int, max_degree: int, slot_name: str | None = CHILD_INDEX
) -> dgl.DGLGraph:
    """A random acyclic graph; nodes may have several successors."""
    incoming = [
        rng.sample(range(node), rng.randint(0, min(node, max_degree))) for node in range(num_nodes)
    ]
    return _graph(incoming, rng, max_degree, slot_name)


def forest(
    rng: random.Random, num_nodes: int, max_degree: int, slot_name: str | None = CHILD_INDEX
) -> dgl.DGLGraph:
    """Random trees, edges from child to parent."""
    incoming: list[list[int]] = [[] for _ in range(num_nodes)]
    for node in range(num_nodes - 1):
        parent = rng.randrange(node + 1, num_nodes + 1)
        if parent < num_nodes and len(incoming[parent]) < max_degree:
            incoming[parent].append(node)
    return _graph(incoming, rng, max_degree, slot_name)


CASES = [
    Case("any: nary", cells.NaryTreeLSTM, any_cell, 2, slot_name=CHILD_INDEX),
    Case("any: child-sum", cells.ChildSumTreeLSTM, any_cell, 4),
    Case("any: gru", cells.ChildSumTreeGRU, any_cell, 4),
    Case("any: attentive", cells.AttentiveTreeLSTM, any_cell, 4),
    Case("any: lexicalized", cells.LexicalizedTreeLSTM, any_cell, 2, {"lexicalized": False}),
    Case("any: recursive", cells.RecursiveCell, any_cell, 2),
    Case("any: TreeNet", cells.TreeNet, any_cell, 2, slot_name="kind"),
    Case("any: top-down", cells.TopDownTreeLSTM, any_cell, 1, slot_name=CHILD_INDEX),
]
