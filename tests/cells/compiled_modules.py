"""Runs modules with cells and layers under torch.compile: ``python compiled_modules.py BACKEND``.

Runs in its own process, since failures here may corrupt the memory of the process.
"""

from __future__ import annotations

import sys

import torch
from torch import Tensor, nn

from graphsent import cells, dgl
from graphsent.layers import GRU, LSTM, SequenceEncoder, WideConv1d
from graphsent.layers.phrase_convolution import (
    convolve,
    keep_largest,
    sum_windows,
    word_products,
)
from graphsent.propagation import prop_nodes_topo

SIZE = 4


class Model(nn.Module):
    """Words, a cell, and classes."""

    def __init__(self, cell: nn.Module, by_word: bool) -> None:
        super().__init__()
        self.words, self.cell = nn.Embedding(7, 3), cell
        self.classes, self.by_word = nn.Linear(cell.out_feats, 2), by_word

    def forward(self, graph: dgl.DGLGraph, tokens: Tensor) -> Tensor:
        feat = self.words(tokens)
        if self.by_word:
            feat = cells.IndexedFeat(self.words.weight, tokens)
        return self.classes(torch.relu(self.cell(graph, feat)))


class OfMemory(cells.ChildSumTreeLSTM):
    """A cell with a ``forward`` of its own."""

    def forward(self, graph: dgl.DGLGraph, feat: Tensor) -> Tensor:
        self.check_call(graph, feat, return_cell=True)
        return torch.cat(self.run(graph, feat), -1).narrow(-1, 1, SIZE)


class Twice(nn.Module):
    """A module that runs a cell itself."""

    in_feats, out_feats = 3, SIZE

    def __init__(self) -> None:
        super().__init__()
        self.cell = cells.ChildSumTreeLSTM(3, SIZE)

    def forward(self, graph: dgl.DGLGraph, feat: Tensor) -> Tensor:
        self.cell.check_call(graph, feat)
        first, _ = self.cell.run(graph, feat)
        return first + self.cell.run(graph, 2 * feat, return_cell=False)[0]


class Summed(nn.Module):
    """States computed by user-defined functions."""

    in_feats, out_feats = 3, 3

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, graph: dgl.DGLGraph, feat: Tensor) -> Tensor:
        return prop_nodes_topo(
            graph,
            lambda edges: {"m": self.linear(edges.src["h"])},
            lambda nodes: {"h": nodes.data["h"] + torch.tanh(nodes.mailbox["m"]).sum(1)},
            ndata={"h": feat},
        )["h"]


class Sequences(nn.Module):
    """A layer over padded sequences, and classes."""

    def __init__(self, layer: LSTM | GRU) -> None:
        super().__init__()
        self.layer, self.classes = layer, nn.Linear(layer.hidden_size, 2)

    def forward(self, feat: Tensor, ranges: Tensor) -> Tensor:
        padded = feat.view(20, 3, 3)
        packed, _ = self.layer(padded, lengths=ranges[:, 1] - ranges[:, 0])
        return self.classes(torch.relu(self.layer(padded)[0] + packed))


class Convolutions(nn.Module):
    """Convolution and pooling of concatenated sentences."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = WideConv1d(3, 4, 3), WideConv1d(4, 8, 2, rows=4)

    def forward(self, feat: Tensor, ranges: Tensor) -> Tensor:
        feat, ranges = sum_windows(word_products(self.first, feat), ranges, 3)
        feat, ranges = convolve(feat, ranges, *self.second.filters())
        return keep_largest(feat, ranges, torch.full((len(ranges),), 2))[0]


def chain(num_nodes: int, name: str) -> dgl.DGLGraph:
    graph = dgl.graph((torch.arange(num_nodes - 1), torch.arange(1, num_nodes)))
    graph.edata[name] = torch.ones(num_nodes - 1, dtype=torch.int64)
    return graph


def binary(num_leaves: int, name: str) -> dgl.DGLGraph:
    """A node for the first two leaves, one for that and the third, and so on."""
    inner = torch.arange(num_leaves, 2 * num_leaves - 1)
    children = [torch.cat((torch.tensor([0]), inner[:-1])), torch.arange(1, num_leaves)]
    graph = dgl.graph((torch.stack(children, 1).flatten(), inner.repeat_interleave(2)))
    graph.edata[name] = torch.tensor([0, 1]).repeat(num_leaves - 1)
    return graph


def step(model: nn.Module, *inputs: dgl.DGLGraph | Tensor) -> tuple[Tensor, ...]:
    """Results and gradients."""
    logits = model(*inputs)
    logits.square().sum().backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    model.zero_grad()
    return logits.detach(), *(grad for grad in gradients if grad is not None)


def check(model: nn.Module, compiled, compiled_step, graph: dgl.DGLGraph) -> None:
    tokens = torch.arange(graph.num_nodes()) % 7
    expected = step(model, graph, tokens)
    for found in (step(compiled, graph, tokens), compiled_step(model, graph, tokens)):
        for got, known in zip(found, expected, strict=True):
            torch.testing.assert_close(got, known)


def check_sequences(backend: str) -> None:
    feat, ranges = torch.randn(60, 3), torch.tensor([[0, 20], [20, 35], [35, 60]])
    ranges[:, 1].clamp_(max=40)
    layers = [LSTM(3, SIZE, engine="levels"), GRU(3, SIZE, engine="levels")]
    encoders = [SequenceEncoder(3, SIZE, cell=cell, bidirectional=True) for cell in ("lstm", "gru")]
    for model in (*map(Sequences, layers), *encoders, Convolutions()):
        torch._dynamo.reset()
        compiled = torch.compile(model, backend=backend)
        for _ in range(3):
            expected, found = step(model, feat, ranges), step(compiled, feat, ranges)
            for got, known in zip(found, expected, strict=True):
                torch.testing.assert_close(got, known)


def main(backend: str) -> None:
    built = [
        (cells.ChildSumTreeLSTM(3, SIZE), chain, False),
        (cells.NaryTreeLSTM(3, SIZE), binary, True),
        (cells.AttentiveTreeGRU(3, SIZE, reset="literal"), chain, False),
        (cells.BiTreeLSTM(3, SIZE), binary, True),
        (OfMemory(3, SIZE), chain, False),
        (Twice(), chain, False),
        (Summed(), chain, False),
    ]
    for number, (cell, make, by_word) in enumerate(built):
        torch._dynamo.reset()
        model = Model(cell, by_word)
        compiled = torch.compile(model, backend=backend)
        compiled_step = torch.compile(step, backend=backend)
        sizes = range(2, 41) if backend == "eager" and not number else (2, 3, 7)
        for num_nodes in sizes:
            check(model, compiled, compiled_step, make(num_nodes, "child_index"))
    alone = cells.ChildSumTreeLSTM(3, SIZE)
    graph, feat = chain(5, "child_index"), torch.randn(5, 3)
    assert torch.equal(torch.compile(alone, backend=backend)(graph, feat), alone(graph, feat))
    check_sequences(backend)
    print("the same")


if __name__ == "__main__":
    main(sys.argv[1])
