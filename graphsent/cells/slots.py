"""Cells that tell their predecessors apart: each has a slot of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from graphsent._dgl import dgl
from graphsent.cells.base import State, TreeCell
from graphsent.cells.errors import CellError
from graphsent.cells.validation import describe_node

CHILD_INDEX = "child_index"
_SLOT = "slot"


class SlottedCell(TreeCell):
    """Base of the cells whose ``combine`` is given exactly ``num_slots`` predecessors, in order.

    The slot of a predecessor is the edge data ``slot_name`` where the graph has it, else the place
    of the edge in the mailbox, which is the order in which the edges were added. An empty slot
    holds zeros.

    Attributes:
        slot_name: edge data with the slots, ``child_index`` unless a cell says otherwise.
    """

    slot_name: ClassVar[str] = CHILD_INDEX
    edge_names: ClassVar[tuple[str, ...]] = (CHILD_INDEX,)

    def __init__(self, in_feats: int, hidden_feats: int, num_slots: int) -> None:
        super().__init__(in_feats, hidden_feats)
        self.num_slots = num_slots

    def message_func(self, edges: Any) -> dict[str, Tensor]:
        """DGL message function: sends the source's state, and its slot."""
        messages = super().message_func(edges)
        if self.slot_name in edges.data:
            messages[_SLOT] = edges.data[self.slot_name]
        return messages

    def check_structure(self, graph: dgl.DGLGraph) -> None:
        """Raises a CellError if a node has too many predecessors, or two in one slot."""
        self.check_degrees(graph, graph.in_degrees() > self.num_slots, f"at most {self.num_slots}")
        if self.slot_name not in graph.edata:
            return
        slots, nodes = graph.edata[self.slot_name], graph.edges()[1]
        valid = f"0 to {self.num_slots - 1}"
        wrong = (slots < 0) | (slots >= self.num_slots)
        if wrong.any():
            edge = int(wrong.nonzero()[0])
            raise CellError(
                f"{describe_node(graph, int(nodes[edge]))} has an incoming edge with "
                f"{self.slot_name} {int(slots[edge])}: {type(self).__name__} takes {valid}"
            )
        taken = torch.bincount(nodes * self.num_slots + slots)
        if (taken > 1).any():
            node, slot = divmod(int((taken > 1).nonzero()[0]), self.num_slots)
            raise CellError(
                f"{describe_node(graph, node)} has {int(taken.max())} incoming edges with "
                f"{self.slot_name} {slot}: expected one at most"
            )

    def check_degrees(self, graph: dgl.DGLGraph, wrong: Tensor, valid: str) -> None:
        """Raises a CellError that names the first node that ``wrong`` marks."""
        if not wrong.any():
            return
        node = int(wrong.nonzero()[0])
        raise CellError(
            f"{describe_node(graph, node)} has {int(graph.in_degrees(node))} incoming edges "
            f"(children): {type(self).__name__} takes {valid}"
        )

    def _children(self, messages: Mapping[str, Tensor]) -> State:
        slot = messages.get(_SLOT)
        return tuple(_fill(messages[name], slot, self.num_slots) for name in self.state_names)


def _fill(messages: Tensor, slot: Tensor | None, num_slots: int) -> Tensor:
    """Places messages (nodes, edges, size) in slots (nodes, num_slots, size)."""
    num_nodes, num_edges, size = messages.shape
    if slot is None:
        return functional.pad(messages, (0, 0, 0, num_slots - num_edges))
    index = slot.long().unsqueeze(-1).expand_as(messages)
    return messages.new_zeros(num_nodes, num_slots, size).scatter(1, index, messages)
