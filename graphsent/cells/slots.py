"""Cells that tell their predecessors apart: each has a slot of its own."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from graphsent._dgl import dgl
from graphsent.cells.base import TreeCell
from graphsent.cells.errors import CellError
from graphsent.cells.recursion import State
from graphsent.cells.validation import describe_node
from graphsent.errors import GraphsentWarning
from graphsent.propagation.schedule.schedule import Schedule, schedule_of
from graphsent.propagation.schedule.slots import Slots, slots_of

CHILD_INDEX = "child_index"
_WARNED = "warned of the order of edges"


class SlottedCell(TreeCell):
    """Base of the cells whose ``combine`` is given exactly ``num_slots`` predecessors, in order.

    The slot of a predecessor is the edge data ``slot_name`` where the graph has it, else the place
    of the edge in the mailbox, which is the order in which the edges were added. Then there is a
    :class:`graphsent.errors.GraphsentWarning`, once a graph, if a node has several of them. An
    empty slot holds zeros.

    Attributes:
        slot_name: edge data with the slots, ``child_index`` unless a cell says otherwise.
        predecessors: what they are called in errors.
        remedy: what to do about a node with too many of them.
        needs_slots: whether the graph must have this edge data.
    """

    slot_name: str = CHILD_INDEX
    predecessors: str = "children"
    remedy: str = ": binarize the trees, or choose a cell for more children"
    needs_slots: bool = False
    edge_names: tuple[str, ...] = (CHILD_INDEX,)

    def __init__(self, in_feats: int, hidden_feats: int, num_slots: int) -> None:
        super().__init__(in_feats, hidden_feats)
        if not isinstance(num_slots, int | np.integer) or num_slots < 1:
            raise CellError(f"expected at least 1 child, got {num_slots!r}")
        self.num_slots = num_slots

    @property
    def max_degree(self) -> int:
        """The largest number of predecessors of a node."""
        return self.num_slots

    def arrange(self, messages: State, slots: Tensor | None = None) -> State:
        """The predecessors' states in their slots, (nodes, num_slots, hidden_feats)."""
        return tuple(_fill(part, slots, self.num_slots) for part in messages)

    def slots(self, graph: dgl.DGLGraph, schedule: Schedule) -> Slots:
        """Which predecessor is in which slot, on the CPU."""
        return slots_of(schedule, self.num_slots, graph.edata.get(self.slot_name))

    def check_structure(self, graph: dgl.DGLGraph) -> None:
        """Raises a CellError if a node has too many predecessors, or two in one slot."""
        if self.needs_slots and self.slot_name not in graph.edata:
            raise CellError(
                f"{type(self).__name__} needs a graph with edge data {self.slot_name!r}"
            )
        if self._fits(graph):
            self._warn_of_edge_order(graph)
            return
        too_many = graph.in_degrees() > self.max_degree
        self.check_degrees(graph, too_many, f"at most {self.max_degree}")
        if self.slot_name in graph.edata:
            self._check_slots(graph, graph.edata[self.slot_name])

    def _fits(self, graph: dgl.DGLGraph) -> bool:
        """Whether nothing is wrong; what is found out on the way is kept for the run."""
        schedule, slots = schedule_of(graph), graph.edata.get(self.slot_name)
        limited = self.max_degree >= self.num_slots  # by the slots
        if not limited and schedule.degrees.max(initial=0) > self.max_degree:
            return False
        if slots is not None and (slots.is_floating_point() or not slots.is_cpu):
            return False
        try:
            slots_of(schedule, self.num_slots, slots)
        except ValueError:
            return False
        return True

    def _warn_of_edge_order(self, graph: dgl.DGLGraph) -> None:
        """Warns, once a graph, if the slots of several predecessors follow from the edges alone."""
        if self.slot_name in graph.edata:
            return
        schedule = schedule_of(graph)
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
        """Raises a CellError that names the first node that ``wrong`` marks."""
        if not wrong.any():
            return
        node = int(wrong.nonzero()[0])
        raise CellError(
            f"{type(self).__name__} takes {valid} {self.predecessors}, got "
            f"{int(graph.in_degrees(node))} at {describe_node(graph, node)}{self.remedy}"
        )

    def _check_slots(self, graph: dgl.DGLGraph, slots: Tensor) -> None:
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
        if (taken > 1).any():
            first = int((taken > 1).nonzero()[0])
            node, slot = divmod(first, self.num_slots)
            raise CellError(
                f"{type(self).__name__} takes {self.predecessors} that differ in "
                f"{self.slot_name}, got {int(taken[first])} with {slot} at "
                f"{describe_node(graph, node)}"
            )


def _fill(messages: Tensor, slot: Tensor | None, num_slots: int) -> Tensor:
    """Places messages (nodes, edges, size) in slots (nodes, num_slots, size)."""
    num_nodes, num_edges, size = messages.shape
    if slot is None:
        return functional.pad(messages, (0, 0, 0, num_slots - num_edges))
    index = slot.long().unsqueeze(-1).expand_as(messages)
    return messages.new_zeros(num_nodes, num_slots, size).scatter(1, index, messages)


def edge_slots(graph: dgl.DGLGraph) -> Tensor:
    """The slot of every edge: edge data ``child_index``, or else its place in the mailbox."""
    if CHILD_INDEX in graph.edata:
        return graph.edata[CHILD_INDEX].long()
    nodes = graph.edges()[1].long()
    order = torch.argsort(nodes, stable=True)
    degrees = graph.in_degrees().long()
    first = torch.cumsum(degrees, 0) - degrees
    slots = torch.empty_like(order)
    slots[order] = torch.arange(len(order), device=order.device) - first[nodes[order]]
    return slots
