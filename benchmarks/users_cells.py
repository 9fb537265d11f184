"""Cells as users write them from the documentation: those of docs/own_cell.md, and another."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn

from graphsent.cells import SlottedCell, TreeCell

linear = partial(nn.Linear, bias=False)


def lstm(iou, memory):
    """The new h and c, from the gates and the gated sum of the children's c."""
    i, o, u = iou.chunk(3, -1)
    c = torch.sigmoid(i) * torch.tanh(u) + memory
    return torch.sigmoid(o) * torch.tanh(c), c


class Nary(SlottedCell):
    """The N-ary Tree-LSTM."""

    def __init__(self, in_feats, hidden_feats, num_slots=2):
        super().__init__(in_feats, hidden_feats, num_slots)
        self.W = nn.Linear(in_feats, 4 * hidden_feats)
        self.U = linear(num_slots * hidden_feats, (3 + num_slots) * hidden_feats)

    def project(self, feat):
        return self.W(feat)

    def start(self, x):
        return lstm(x[:, : 3 * self.hidden_feats], 0)

    def combine(self, children, x):
        (h, c), size = children, self.hidden_feats
        iou, f = self.U(h.flatten(1)).split([3 * size, self.num_slots * size], -1)
        f = torch.sigmoid(x[:, None, 3 * size :] + f.unflatten(-1, (self.num_slots, size)))
        return lstm(x[:, : 3 * size] + iou, (f * c).sum(1))


class Attentive(TreeCell):
    """The attentive Tree-LSTM."""

    project, start = Nary.project, Nary.start

    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats)
        self.W = nn.Linear(in_feats, 4 * hidden_feats)
        self.U = linear(hidden_feats, 3 * hidden_feats)
        self.U_f, self.W_c, self.W_a = (linear(hidden_feats, hidden_feats) for _ in range(3))
        self.w, self.q = linear(hidden_feats, 1), nn.Parameter(torch.rand(hidden_feats))

    def combine(self, children, x):
        (h, c), size = children, self.hidden_feats
        a = torch.softmax(self.w(torch.tanh(self.W_c(h) + self.W_a(self.q))), 1)
        f = torch.sigmoid(x[:, None, 3 * size :] + self.U_f(h))
        return lstm(x[:, : 3 * size] + self.U((a * h).sum(1)), (f * c).sum(1))


class GatedSum(TreeCell):
    """A GRU over the gated sum of the predecessors' states."""

    state_names = ("h",)

    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats)
        self.gru = nn.GRUCell(in_feats, hidden_feats)
        self.gate = nn.Linear(hidden_feats, hidden_feats)
        self.map = linear(hidden_feats, hidden_feats)

    def project(self, feat):
        return feat

    def start(self, x):
        return (self.gru(x, x.new_zeros(x.shape[0], self.hidden_feats)),)

    def combine(self, children, x):
        (h,) = children
        return (self.gru(x, (torch.sigmoid(self.gate(h)) * self.map(h)).sum(1)),)


class AttentionGRU(TreeCell):
    """A GRU over an attention-weighted sum of the predecessors' states."""

    state_names = ("h",)
    project, start = GatedSum.project, GatedSum.start

    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats)
        self.gru = nn.GRUCell(in_feats, hidden_feats)
        self.key, self.query = nn.Linear(hidden_feats, 1), nn.Linear(in_feats, hidden_feats)

    def combine(self, children, x):
        (h,) = children
        a = torch.softmax(self.key(torch.tanh(h + self.query(x).unsqueeze(1))), 1)
        return (self.gru(x, (a * h).sum(1)),)
