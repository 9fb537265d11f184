"""Pointwise steps that cells have in common."""

from __future__ import annotations

import torch
from torch import Tensor


def lstm_state(
    update: Tensor, forgotten: Tensor | None = None, gate_output: bool = True
) -> tuple[Tensor, Tensor]:
    r"""State (h, c) of an LSTM from what enters its gates.

    .. math::
        c = \sigma(i) * \tanh(u) + \mathrm{forgotten}, \qquad h = \sigma(o) * \tanh(c)

    Args:
        update: the sums i, o, u side by side, (..., 3 * hidden_feats); i, u without output gate.
        forgotten: what the forget gates leave of the predecessors' memory, (..., hidden_feats).
        gate_output: whether there is an output gate; :math:`h = \tanh(c)` otherwise.
    """
    parts = update.chunk(3 if gate_output else 2, -1)
    c = torch.sigmoid(parts[0]) * torch.tanh(parts[-1])
    if forgotten is not None:
        c = c + forgotten
    return (torch.sigmoid(parts[1]) * torch.tanh(c) if gate_output else torch.tanh(c)), c
