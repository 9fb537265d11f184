"""The states of nodes without predecessors, given or to be made of the sums of their gates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from graphsent.propagation.compiled_leaves import lstm_leaves
from graphsent.propagation.linear import FirstOutputs, made
from graphsent.propagation.pointwise import lstm_state


class LSTMStart(NamedTuple):
    r"""The first states of a Tree-LSTM, which the compiled walks make on their way.

    .. math::
        c = \sigma(i) * \tanh(u), \qquad h = \sigma(o) * \tanh(c)

    Attributes:
        sums: i, o, u, in this order, (num_rows, 3 * size); or a linear map that has them.
        gate_output: with False there is no o, and :math:`h = \tanh(c)`.
    """

    sums: Tensor | FirstOutputs
    gate_output: bool = True

    @property
    def num_gates(self) -> int:
        """How many there are of i, o, u."""
        return 2 + self.gate_output

    def states(self) -> tuple[Tensor, Tensor]:
        """H and c, (num_rows, size)."""
        sums = made(self.sums)
        states = lstm_leaves(sums, self.gate_output)
        return lstm_state(sums, gate_output=self.gate_output) if states is None else states


Start = Sequence[Tensor] | LSTMStart


def states_of(start: Start, rows: Tensor | None = None) -> tuple[Tensor, ...]:
    """The parts of the states, (num_rows, size), or some rows of them."""
    states = start.states() if isinstance(start, LSTMStart) else tuple(start)
    return states if rows is None else tuple(part.index_select(0, rows) for part in states)


def tensors_of(start: Start) -> tuple[Tensor, ...]:
    """What the states are made of, or their parts."""
    if not isinstance(start, LSTMStart):
        return tuple(start)
    return (start.sums,) if isinstance(start.sums, Tensor) else start.sums[:3]
