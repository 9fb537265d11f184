"""Pointwise operations shared by cells."""

from __future__ import annotations

import torch
from torch import Tensor


def lstm_state(
    update: Tensor, forgotten: Tensor | None = None, gate_output: bool = True
) -> tuple[Tensor, Tensor]:
    r"""The state (h, c) of an LSTM from the pre-activations of its gates.

    .. math::
        c = \sigma(i) * \tanh(u) + \mathrm{forgotten}, \qquad h = \sigma(o) * \tanh(c)

    Args:
        update: pre-activations i, o, u, concatenated, (..., 3 * hidden_feats); without an output
            gate i, u.
        forgotten: the predecessors' memory after the forget gates, (..., hidden_feats).
        gate_output: whether there is an output gate; otherwise :math:`h = \tanh(c)`.
    """
    parts = update.chunk(3 if gate_output else 2, -1)
    c = torch.sigmoid(parts[0]) * torch.tanh(parts[-1])
    if forgotten is not None:
        c = c + forgotten
    return (torch.sigmoid(parts[1]) * torch.tanh(c) if gate_output else torch.tanh(c)), c
