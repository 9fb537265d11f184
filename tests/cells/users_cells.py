"""Cells as users write them: those of the benchmark, and others that complement them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import torch
from torch import nn

from graphsent.cells import SlottedCell, TreeCell

_FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "users_cells.py"
_spec = importlib.util.spec_from_file_location("cells_of_the_benchmark", _FILE)
benchmark = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(benchmark)
Nary, Attentive = benchmark.Nary, benchmark.Attentive
GatedSum, AttentionGRU = benchmark.GatedSum, benchmark.AttentionGRU


class ManyThings(TreeCell):
    """What the others lack per edge: means, products of pairs, several heads."""

    state_names = ("h", "m")
    project = Nary.project

    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats)
        self.W = nn.Linear(in_feats, hidden_feats)
        self.pair = nn.Linear(2 * hidden_feats, hidden_feats)
        self.heads = nn.Linear(hidden_feats, 2)
        self.out = nn.Sequential(nn.Linear(2 * hidden_feats, hidden_feats), nn.Tanh())
        self.last = nn.Linear(hidden_feats, hidden_feats)

    def start(self, x):
        return torch.tanh(self.last(nn.functional.gelu(x))), x

    def combine(self, children, x):
        h, m = children
        pair = torch.relu(self.pair(torch.cat((h, x.unsqueeze(1).expand_as(h)), -1)))
        heads = torch.softmax(self.heads(pair), 1)  # (nodes, children, 2)
        pooled = (heads.unsqueeze(-1) * m.unsqueeze(2)).sum(1).flatten(1)
        mean = pair.mean(1) - 0.5 * x / (1 + torch.exp(x))
        return torch.tanh(self.last(self.out(pooled) + mean)), mean * mean + 1


class Maxima(TreeCell):
    """Maxima over predecessors, of parts of their states and of pairs with the input."""

    state_names = ("h", "m")
    project = Nary.project

    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats)
        self.W = nn.Linear(in_feats, hidden_feats)
        self.pool = nn.Linear(hidden_feats, hidden_feats)
        self.out = nn.Linear(2 * hidden_feats, hidden_feats)

    def start(self, x):
        return torch.tanh(x), torch.sigmoid(x)

    def combine(self, children, x):
        h, m = children
        pooled = torch.relu(self.pool(h + x.unsqueeze(1))).amax(1)
        largest = (h - m.amax(1, keepdim=True)).max(1).values
        both = torch.cat((pooled, x), -1)
        return torch.tanh(self.out(both)), torch.tanh(largest * m.max(1)[0] + x)


class ManySlots(SlottedCell):
    """What the others lack per slot: one map each, attention, maxima, parts of a state."""

    state_names = ("h", "m")
    project = Nary.project

    def __init__(self, in_feats, hidden_feats, num_slots=3):
        super().__init__(in_feats, hidden_feats, num_slots)
        self.W = nn.Linear(in_feats, hidden_feats)
        self.each = nn.Linear(hidden_feats, hidden_feats)
        self.score = nn.Linear(hidden_feats, 1)
        self.all = nn.Linear((num_slots + 1) * hidden_feats, hidden_feats)

    def start(self, x):
        return torch.sigmoid(x), -x

    def combine(self, children, x):
        h, m = children
        each = torch.tanh(self.each(h) + x.unsqueeze(1))
        a = torch.softmax(self.score(each), 1)
        largest = torch.stack([each[:, 0] * 2, *each.unbind(1)[1:]], 1).amax(1)
        everything = self.all(torch.cat((h.flatten(1), x), -1))
        turned = torch.cat((m[:, 1, 2:], m[:, 0, :2]), -1)
        return torch.tanh(everything + (a * m).sum(1)), largest - turned


class Choices(SlottedCell):
    """Comparisons; one product of parts of a state; leaves that read part of a projection."""

    state_names = ("h", "m")
    project = Nary.project

    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats, 2)
        self.W = nn.Linear(in_feats, 4 * hidden_feats, bias=False)
        self.U = nn.Linear(2 * hidden_feats, 3 * hidden_feats)
        self.V = nn.Linear(2 * hidden_feats, 2 * hidden_feats, bias=False)

    def start(self, x):
        i, _, g, o = x.chunk(4, -1)
        m = torch.where(i >= g, torch.tanh(g), i * g)
        return torch.sigmoid(o) * m, m

    def combine(self, children, x):
        h, m = children
        i, f, g, o = x.chunk(4, -1)
        h_i, h_f, h_o = self.U(h.flatten(1)).chunk(3, -1)
        m_i, m_f = self.V(m.flatten(1)).chunk(2, -1)
        gate = torch.sigmoid(i + h_i + m_i)
        new = torch.where(g > m.sum(1), gate * g, torch.tanh(f + h_f + m_f))
        return torch.where(o != 0, torch.sigmoid(o + h_o) * new, new), new


class Unused(TreeCell):
    """Leaves that read columns of a projection without gradients."""

    state_names = ("h",)
    project = Nary.project

    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats)
        self.W = nn.Linear(in_feats, 4 * hidden_feats)
        self.U = nn.Linear(hidden_feats, hidden_feats)

    def start(self, x):
        _, gate, new, unused = x.chunk(4, -1)
        torch.sigmoid(unused)
        return (torch.where(gate > 0, new, -new),)

    def combine(self, children, x):
        return (torch.tanh(x[:, : self.hidden_feats] + self.U(children[0].sum(1))),)


class Products(TreeCell):
    """States that are products with weights, and nothing else."""

    state_names = ("h", "m")
    project = Nary.project

    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats)
        self.W = nn.Linear(in_feats, hidden_feats)
        self.U = nn.Linear(hidden_feats, hidden_feats, bias=False)
        self.V = nn.Linear(2 * hidden_feats, hidden_feats, bias=False)

    def start(self, x):
        return x, torch.tanh(x)

    def combine(self, children, x):
        h, m = children
        return self.U(h.sum(1)), self.V(torch.cat((m.mean(1), x), -1))


CELLS = {
    kind.__name__: kind
    for kind in (
        *(Nary, Attentive, GatedSum, AttentionGRU),
        *(ManyThings, Maxima, ManySlots, Choices, Unused, Products),
    )
}
