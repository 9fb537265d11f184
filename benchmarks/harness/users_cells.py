"""Cells as users write them, by the documentation alone: plain torch."""

from __future__ import annotations

import torch
from torch import nn

from graphsent.cells import SlottedCell, TreeCell


class Nary(SlottedCell):
    """The N-ary Tree-LSTM."""

    def __init__(self, in_feats, hidden_feats, num_slots=2):
        super().__init__(in_feats, hidden_feats, num_slots)
        self.W = nn.Linear(in_feats, 4 * hidden_feats)
        self.U = nn.Linear(num_slots * hidden_feats, (3 + num_slots) * hidden_feats, bias=False)

    def project(self, feat):
        return self.W(feat)

    def start(self, x):
        return self.state(x[:, : 3 * self.hidden_feats], 0)

    def combine(self, children, x):
        (h, c), size = children, self.hidden_feats
        iou, f = self.U(h.flatten(1)).split([3 * size, self.num_slots * size], -1)
        f = torch.sigmoid(f.unflatten(-1, (self.num_slots, size)) + x[:, None, 3 * size :])
        return self.state(iou + x[:, : 3 * size], (f * c).sum(1))

    def state(self, iou, memory):
        i, o, u = iou.chunk(3, -1)
        c = torch.sigmoid(i) * torch.tanh(u) + memory
        return torch.sigmoid(o) * torch.tanh(c), c


class Attentive(TreeCell):
    """The attentive Tree-LSTM."""

    state = Nary.state
    project = Nary.project
    start = Nary.start

    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats)
        self.W = nn.Linear(in_feats, 4 * hidden_feats)
        self.U = nn.Linear(hidden_feats, 3 * hidden_feats, bias=False)
        self.U_f, self.W_c, self.W_a = (
            nn.Linear(hidden_feats, hidden_feats, bias=False) for _ in range(3)
        )
        self.w = nn.Linear(hidden_feats, 1, bias=False)
        self.q = nn.Parameter(torch.rand(hidden_feats))

    def combine(self, children, x):
        (h, c), size = children, self.hidden_feats
        a = torch.softmax(self.w(torch.tanh(self.W_c(h) + self.W_a(self.q))), 1)
        f = torch.sigmoid(x[:, None, 3 * size :] + self.U_f(h))
        return self.state(x[:, : 3 * size] + self.U((a * h).sum(1)), (f * c).sum(1))


class GatedSum(TreeCell):
    """A GRU over the gated sum of the predecessors, for acyclic graphs."""

    state_names = ("h",)
    project = Nary.project

    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats)
        self.W = nn.Linear(in_feats, 3 * hidden_feats)
        self.U = nn.Linear(hidden_feats, 3 * hidden_feats)
        self.gate = nn.Linear(hidden_feats, hidden_feats)
        self.map = nn.Linear(hidden_feats, hidden_feats, bias=False)

    def start(self, x):
        return self.gru(x, torch.zeros_like(x[:, : self.hidden_feats]))

    def combine(self, children, x):
        (h,) = children
        return self.gru(x, (torch.sigmoid(self.gate(h)) * self.map(h)).sum(1))

    def gru(self, x, h):
        (r, z, n), (s, t, m) = x.chunk(3, -1), self.U(h).chunk(3, -1)
        r, z = torch.sigmoid(r + s), torch.sigmoid(z + t)
        return (torch.lerp(torch.tanh(n + r * m), h, z),)


class AttentionGRU(GatedSum):
    """Attention over the predecessors, then a GRU."""

    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats)
        self.key, self.query = nn.Linear(hidden_feats, 1), nn.Linear(3 * hidden_feats, 1)

    def combine(self, children, x):
        (h,) = children
        a = torch.softmax(self.key(h) + self.query(x).unsqueeze(1), 1)
        return self.gru(x, (a * h).sum(1))
