"""What a cell computes, apart from how it gets round a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from graphsent._dgl import dgl
from graphsent.cells.errors import CellError
from graphsent.cells.validation import (
    check_projected,
    check_signature,
    check_size,
    check_state,
)
from graphsent.propagation.schedule.schedule import Schedule
from graphsent.propagation.schedule.slots import Slots

State = tuple[Tensor, ...]
"""The parts of a state, the output ``h`` first; all of shape (..., hidden_feats)."""


class Recursion(nn.Module):
    r"""The recursion of a cell over the predecessors of each node of an acyclic graph.

    .. math::
        s_t = \mathrm{combine}(\{s_k : k \to t\}, \mathrm{project}(x)_t), \qquad
        s_t = \mathrm{start}(\mathrm{project}(x)_t) \text{ where there is no } k \to t

    A subclass gives :meth:`project`, :meth:`start` and :meth:`combine`, which know tensors only and
    work row by row. ``project`` sees many nodes at once, so that it costs one matrix product;
    ``combine`` sees the nodes of one level.

    Attributes:
        state_names: node data that hold the parts of the state; ``h`` is the first.
        input_names: node data that :meth:`start` and :meth:`combine` are given, in their order.
        edge_names: edge data that the message function reads where the graph has them.
        inner_input: whether nodes with predecessors have inputs.
        no_initial_state: why there cannot be initial states; empty if there can.
    """

    state_names: tuple[str, ...] = ("h", "c")
    input_names: tuple[str, ...] = ("x",)
    edge_names: tuple[str, ...] = ()
    inner_input: bool = True
    no_initial_state: str = ""

    def __init__(self, in_feats: int, hidden_feats: int) -> None:
        super().__init__()
        check_size("in_feats", in_feats)
        check_size("hidden_feats", hidden_feats)
        self.in_feats = in_feats
        self.hidden_feats = hidden_feats

    @property
    def out_feats(self) -> int:
        """Size of a row of what the cell returns."""
        return self.hidden_feats

    def reset_parameters(self) -> None:
        """Draws all parameters anew."""
        raise self._undefined("reset_parameters", (), "draws all parameters anew")

    def project(self, feat: Tensor) -> Tensor:
        """What the inputs contribute to the gates: (num_nodes, in_feats) -> (num_nodes, ...)."""
        raise self._undefined(
            "project", ("feat",), "returns a row for each of feat, (num_nodes, in_feats)"
        )

    # With *Any and **Any an override may take what its input_names say, by any names.

    def start(self, *inputs: Any, **_: Any) -> State:
        """States of nodes without predecessors.

        Args:
            *inputs: rows of the node data ``input_names``, each (num_nodes, ...).

        Returns:
            The parts of the states, each (num_nodes, hidden_feats).
        """
        raise self._undefined(
            "start", self.input_names, f"returns {self._a_state()} of nodes without predecessors"
        )

    def combine(self, children: State, *inputs: Any, **_: Any) -> State:
        """States of nodes with predecessors.

        Args:
            children: parts of the predecessors' states, each (num_nodes, num_children,
                hidden_feats).
            *inputs: rows of the node data ``input_names``, each (num_nodes, ...).

        Returns:
            The parts of the states, each (num_nodes, hidden_feats).
        """
        raise self._undefined(
            "combine",
            ("children", *self.input_names),
            f"returns {self._a_state()} of nodes with predecessors",
        )

    def checked_project(self, feat: Tensor) -> Tensor:
        """What :meth:`project` returns; a CellError if that has not a row for each of feat."""
        try:
            x = self.project(feat)
        except TypeError:
            check_signature(self, "project", "feat")
            raise
        return check_projected(self, x, feat)

    def checked_start(self, *inputs: Tensor) -> State:
        """What :meth:`start` returns; a CellError if that is no state."""
        try:
            state = self.start(*inputs)
        except TypeError:
            check_signature(self, "start", *self.input_names)
            raise
        return check_state(self, "start", state, inputs[0])

    def checked_combine(self, children: State, *inputs: Tensor) -> State:
        """What :meth:`combine` returns; a CellError if that is no state, or it fails."""
        try:
            state = self.combine(children, *inputs)
        except TypeError:
            check_signature(self, "combine", "children", *self.input_names)
            raise
        except (IndexError, RuntimeError, ValueError) as error:
            if type(error) not in (IndexError, RuntimeError, ValueError):
                raise
            shapes = [tuple(part.shape) for part in children]
            raise CellError(
                f"{type(self).__name__}.combine(children, ...) failed on children, a tuple of "
                f"{' and '.join(self.state_names)}, of shapes {shapes}, that is "
                "(num_nodes, num_children, hidden_feats), where num_children is that of the nodes, "
                f"and in a SlottedCell always num_slots: {error}"
            ) from error
        return check_state(self, "combine", state, children[0])

    def extra_inputs(self, graph: dgl.DGLGraph, device: torch.device) -> dict[str, Tensor]:
        """The node data of ``input_names`` beside x, on a device."""
        return {}

    def arrange(self, messages: State, slots: Tensor | None = None) -> State:
        """The predecessors' states as ``combine`` takes them.

        Args:
            messages: parts of the states, (nodes, edges, hidden_feats), in mailbox order.
            slots: (nodes, edges) their slots, of cells that tell them apart.
        """
        return messages

    def slots(self, graph: dgl.DGLGraph, schedule: Schedule) -> Slots | None:
        """Which predecessor is in which slot, on the CPU, of cells that tell them apart."""
        return None

    def check_structure(self, graph: dgl.DGLGraph) -> None:
        """Raises a CellError if the cell cannot run over a graph of this shape."""

    def _undefined(self, method: str, arguments: Sequence[str], purpose: str) -> CellError:
        signature = f"{method}({', '.join(('self', *arguments))})"
        return CellError(
            f"the cell {type(self).__name__} has no method {signature}, which {purpose}: "
            "see docs/own_cell.md"
        )

    def _a_state(self) -> str:
        """What a state is, for errors."""
        names = ", ".join(self.state_names) + ("," if len(self.state_names) == 1 else "")
        return f"the state ({names}), a tuple of tensors (num_nodes, hidden_feats),"

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.in_feats}, {self.hidden_feats}"
