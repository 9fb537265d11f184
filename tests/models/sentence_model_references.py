"""References of the convolutional models and baselines, from the equations, per sentence.

Each function takes a model for its parameters alone, and words, (num_words, embedding_dim): the
vectors of one sentence. It returns the vector that the classifier gets. Loops are over maps and
rows or over positions, so that each line is one of the papers'; autograd differentiates them.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, tanh
from torch.nn.functional import pad


def wide(u: Tensor, w: Tensor) -> Tensor:
    """Wide convolution of one row: s + m - 1 values, none for an empty row."""
    if not len(u):
        return u
    around = pad(u, (len(w) - 1, len(w) - 1))
    return torch.stack([around[j : j + len(w)] @ w for j in range(len(u) + len(w) - 1)])


def k_max(row: Tensor, k: int) -> Tensor:
    """The k largest values in order, the first of equal ones; all if there are fewer."""
    values = row.tolist()
    by_size = sorted(range(len(row)), key=lambda t: (-values[t], t))
    return row[sorted(by_size[:k])]


def kept(num_words: int, k_top: int, layer: int, num_layers: int) -> int:
    return max(k_top, math.ceil((num_layers - layer) * num_words / num_layers))


def row_maps(layers, words: Tensor, widths, maps, k_top: int, fold: bool, pool_top=True):
    """F of the last layer, ``F[row][map]``, and with folding half the rows in each layer."""
    num_rows, num_layers = words.shape[1], len(widths)
    F = [[words[:, r]] for r in range(num_rows)]
    while fold and len(F) % 2**num_layers:
        F.append([words.new_zeros(len(words))])
    for layer in range(1, num_layers + 1):
        weight = layers.convolutions[layer - 1].weight
        bias = layers.activations[layer - 1].bias
        n = maps[layer - 1]
        Z = [
            [sum(wide(F[r][q], weight[r * n + j, q]) for q in range(len(F[r]))) for j in range(n)]
            for r in range(len(F))
        ]
        if fold:
            Z = [[a + b for a, b in zip(Z[r], Z[r + 1], strict=True)] for r in range(0, len(Z), 2)]
        if pool_top or layer < num_layers:
            k = kept(len(words), k_top, layer, num_layers)
            Z = [[k_max(row, k) for row in of_row] for of_row in Z]
        F = [[tanh(Z[r][j] + bias[r * n + j]) for j in range(n)] for r in range(len(Z))]
    return F


def dcnn(model, words: Tensor) -> Tensor:
    options = model.config
    k_top = options["k_top"]
    F = row_maps(
        model.encoder.layers, words, options["widths"], options["maps"], k_top, fold=options["fold"]
    )
    return torch.cat([pad(row, (0, k_top - len(row))) for of_row in F for row in of_row])


def max_tdnn(model, words: Tensor) -> Tensor:
    if not len(words):
        return words.new_zeros(words.shape[1])
    convolution = model.encoder.convolution
    width = convolution.width
    words = pad(words, (0, 0, 0, max(0, width - len(words))))
    c = []
    for r in range(words.shape[1]):
        windows = [words[t : t + width, r] for t in range(len(words) - width + 1)]
        w, b = convolution.weight[r, 0], convolution.bias[r]
        c.append(torch.stack([tanh(w @ window + b) for window in windows]).max())
    return torch.stack(c)


def kim_cnn(model, *channels: Tensor) -> Tensor:
    """With one or two channels, each (num_words, embedding_dim)."""
    heights, n = model.config["heights"], model.config["maps"]
    c = []
    for place, height in enumerate(heights):
        around = [pad(words, (0, 0, height, height)) for words in channels]
        for j in range(n):
            w = model.encoder.convolutions[place].weight[j].T  # (height, embedding_dim)
            scores = [
                sum((words[t : t + height] * w).sum() for words in around)
                for t in range(len(around[0]) - height + 1)
            ]
            c.append(torch.relu(torch.stack(scores) + model.encoder.bias[place * n + j]).max())
    return torch.stack(c)


def nbow(_model, words: Tensor) -> Tensor:
    return tanh(sum(words, words.new_zeros(words.shape[1])))


def wide_positions(c: list[Tensor], weight: Tensor) -> list[Tensor]:
    """Full convolution: the products with all channels summed at each of T + m - 1 positions."""
    width, zero = weight.shape[2], torch.zeros_like(weight[0, :, 0])
    around = [zero] * (width - 1) + c + [zero] * (width - 1)
    return [
        sum(weight[:, :, a] @ around[t + a] for a in range(width))
        for t in range(len(c) + width - 1)
    ]


def k_max_of_channels(c: list[Tensor], k: int) -> list[Tensor]:
    """Pools each channel by itself."""
    return list(torch.stack([k_max(channel, k) for channel in torch.stack(c, 1)], 1))


def guided_positions(stack, words: Tensor, options) -> list[Tensor]:
    """The positions c_t of the last layer of one stack, each (hidden,)."""
    widths, k_top = stack.widths, options["k_top"]
    if options["convolution"] == "rowwise":
        F = row_maps(stack.layers, words, widths, options["row_maps"], k_top, True, pool_top=False)
        columns = torch.stack([row for of_row in F for row in of_row])
        weight, bias = stack.projection.weight[:, :, 0], stack.projection.bias
        return [weight @ column + bias for column in columns.unbind(1)]
    c = list(words)
    for layer, _ in enumerate(widths, start=1):
        weight = stack.layers.convolutions[layer - 1].weight
        bias = stack.layers.activations[layer - 1].bias
        c = [tanh(each + bias) for each in wide_positions(c, weight)]
        if layer < len(widths) and options["pool"] == "kmax":
            c = k_max_of_channels(c, kept(len(words), k_top, layer, len(widths)))
    return c


def attention(c: list[Tensor], guide: Tensor, temperature: float) -> list[Tensor]:
    """alpha of equation 10."""
    norm = torch.linalg.vector_norm
    scores = [torch.exp((each @ guide) / (norm(each) * norm(guide)) / temperature) for each in c]
    return [score / sum(scores) for score in scores]


def guided(stack, words: Tensor, guide: Tensor | None, options) -> Tensor:
    """s of one stack; without a guide, the largest values of each channel."""
    c = guided_positions(stack, words, options)
    if guide is not None:
        alpha = attention(c, guide, options["temperature"])
        c = [a * each for a, each in zip(alpha, c, strict=True)]
        if options["readout"] == "sum":
            return sum(c)
    k_top = options["k_top"]
    return torch.cat([pad(k_max(row, k_top), (0, k_top))[:k_top] for row in torch.stack(c, 1)])


def tree_lstm(tree, cell, vector_of) -> list[tuple[Tensor, Tensor]]:
    """(h, c) of the nodes of a binary tree in preorder, Tai et al. 2015, N = 2."""
    hidden = cell.U.weight.shape[1] // 2
    W, b = cell.W.weight.split(hidden), cell.W.bias.split(hidden)
    U = [rows.split(hidden, 1) for rows in cell.U.weight.split(hidden)]
    zero = cell.W.bias.new_zeros(hidden)

    def state(node: int) -> tuple[Tensor, Tensor]:
        children = [states[child] for child in children_of(tree, node)]
        x = vector_of(tree.tokens[node])
        (h1, c1), (h2, c2) = children or ((zero, zero), (zero, zero))
        i, o, u = (W[g] @ x + U[g][0] @ h1 + U[g][1] @ h2 + b[g] for g in range(3))
        f1, f2 = (W[3] @ x + U[g][0] @ h1 + U[g][1] @ h2 + b[3] for g in (3, 4))
        c = torch.sigmoid(i) * tanh(u) + torch.sigmoid(f1) * c1 + torch.sigmoid(f2) * c2
        return torch.sigmoid(o) * tanh(c), c

    states: dict[int, tuple[Tensor, Tensor]] = {}
    for node in reversed(range(tree.num_nodes)):
        states[node] = state(node)
    return [states[node] for node in range(tree.num_nodes)]


def recursive(tree, cell, vector_of) -> list[Tensor]:
    """h of the nodes of a binary tree in preorder, Socher et al. 2013."""
    hidden = len(cell.U.weight)
    U = cell.U.weight.split(hidden, 1)
    h: dict[int, Tensor] = {}
    for node in reversed(range(tree.num_nodes)):
        total = cell.W.weight @ vector_of(tree.tokens[node]) + cell.W.bias
        for place, child in enumerate(children_of(tree, node)):
            total = total + U[place] @ h[child]
        h[node] = tanh(total)
    return [h[node] for node in range(tree.num_nodes)]


def children_of(tree, node: int) -> list[int]:
    return [child for child in range(tree.num_nodes) if tree.parents[child] == node]
