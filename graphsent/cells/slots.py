"""Cells with ordered predecessors: each has its own slot."""

from __future__ import annotations

import warnings
from typing import NoReturn

import torch
from torch import Tensor
from torch.nn import functional

from graphsent._dgl import dgl
from graphsent._numbers import check_sizes
from graphsent.cells.base import State, TreeCell
from graphsent.cells.errors import CellError
from graphsent.cells.validation import describe_node
from graphsent.errors import GraphsentWarning
from graphsent.propagation.schedule.schedule import Schedule, schedule_of
from graphsent.propagation.schedule.slots import Slots, slots_of

CHILD_INDEX = "child_index"
_WARNED = "warned of the order of edges"


class SlottedCell(TreeCell):
    """Base class of cells whose ``combine`` takes exactly ``num_slots`` predecessors, in order.

    The slot of a predecessor is the edge data ``slot_name``. In a graph without them, it is the
    position of the edge among the node's incoming edges, in the order in which they were added;
    if a node has several, a :class:`graphsent.errors.GraphsentWarning` says so once per graph. An
    empty slot holds zeros.

    Attributes:
        slot_name: Name of the edge data, ``child_index`` by default.
        needs_slots: Whether the graph must have these edge data.
        predecessors: What predecessors are called in errors.
        remedy: Advice for nodes with too many of them, the end of an error.
        max_degree: The largest number of predecessors of a node, ``num_slots`` or fewer.
    """

    slot_name: str = CHILD_INDEX
    predecessors: str = "children"
    remedy: str = ": binarize the trees, or choose a cell for more children"
    needs_slots: bool = False

    def __init__(self, in_feats: int, hidden_feats: int, num_slots: int) -> None:
        super().__init__(in_feats, hidden_feats)
        check_sizes(CellError, num_children=num_slots)
        self.num_slots = self.max_degree = num_slots

    def arrange(self, messages: State, slots: Tensor | None = None) -> State:
        """The predecessors' states in their slots, (num_nodes, num_slots, hidden_feats)."""
        num_nodes, num_edges, size = messages[0].shape
        if slots is None:
            missing = self.num_slots - num_edges
            return tuple(functional.pad(part, (0, 0, 0, missing)) for part in messages)
        shape = (num_nodes, self.num_slots, size)
        index = slots.long().unsqueeze(-1).expand_as(messages[0])
        return tuple(part.new_zeros(shape).scatter(1, index, part) for part in messages)

    def slots(self, graph: dgl.DGLGraph, schedule: Schedule) -> Slots:
        """The predecessor in each slot, on the CPU."""
        return slots_of(schedule, self.num_slots, graph.edata.get(self.slot_name))

    def check_structure(self, graph: dgl.DGLGraph) -> None:
        """Raises a CellError if a node has too many predecessors, or two in one slot."""
        schedule, slots = schedule_of(graph), graph.edata.get(self.slot_name)
        if self.needs_slots and slots is None:
            raise CellError(
                f"{type(self).__name__} needs a graph with edge data {self.slot_name!r}"
            )
        most = min(self.max_degree, self.num_slots)
        if schedule.degrees.max(initial=0) > most:
            self.check_degrees(graph, graph.in_degrees() > most, f"at most {most}")
        if slots is None:
            self._warn_of_edge_order(schedule)
            return
        try:
            slots_of(schedule, self.num_slots, slots)  # cached for the run
        except ValueError:
            self._check_slots(graph, slots)

    def _warn_of_edge_order(self, schedule: Schedule) -> None:
        """Warns, once per graph, if only the order of edges tells predecessors apart."""
        if _WARNED in schedule.derived or schedule.degrees.max(initial=0) < 2:
            return
        warnings.warn(
            f"the graph has no edge data {self.slot_name!r}: {type(self).__name__} takes the "
            f"{self.predecessors} of a node in the order in which their edges were added; to say "
            f"which is which, set graph.edata[{self.slot_name!r}] to 0, 1, ... for each edge",
            GraphsentWarning,
            stacklevel=2,
        )
        schedule.derived[_WARNED] = True

    def check_degrees(self, graph: dgl.DGLGraph, wrong: Tensor, valid: str) -> None:
        """Raises a CellError that names the first node marked in ``wrong``, if there is one."""
        if not wrong.any():
            return
        node = int(wrong.nonzero()[0])
        raise CellError(
            f"{type(self).__name__} takes {valid} {self.predecessors}, got "
            f"{int(graph.in_degrees(node))} at {describe_node(graph, node)}{self.remedy}"
        )

    def _check_slots(self, graph: dgl.DGLGraph, slots: Tensor) -> NoReturn:
        """Raises a CellError that says what is wrong with slots."""
        if slots.dim() != 1 or slots.is_floating_point():
            raise CellError(
                f"expected edge data {self.slot_name!r} of shape (num_edges,) and integer dtype, "
                f"got {tuple(slots.shape)} and {slots.dtype}"
            )
        nodes = graph.edges()[1]
        wrong = (slots < 0) | (slots >= self.num_slots)
        if wrong.any():
            edge = int(wrong.nonzero()[0])
            node = int(nodes[edge])
            raise CellError(
                f"{type(self).__name__} takes {self.slot_name} 0 to {self.num_slots - 1}, got "
                f"{int(slots[edge])} at one of the {int(graph.in_degrees(node))} "
                f"{self.predecessors} of {describe_node(graph, node)}{self.remedy}"
            )
        taken = torch.bincount(nodes * self.num_slots + slots)
        first = int((taken > 1).nonzero()[0])
        node, slot = divmod(first, self.num_slots)
        raise CellError(
            f"{type(self).__name__} takes {self.predecessors} that differ in {self.slot_name}, got "
            f"{int(taken[first])} with {slot} at {describe_node(graph, node)}"
        )


def edge_slots(graph: dgl.DGLGraph) -> Tensor:
    """The slot of every edge, (num_edges,): ``child_index``, or else its index among them."""
    if CHILD_INDEX in graph.edata:
        return graph.edata[CHILD_INDEX]
    schedule = schedule_of(graph)
    slots = torch.empty_like(schedule.edges)
    slots[schedule.edges] = torch.from_numpy(schedule.mailbox_slots)
    return slots.to(graph.device)
