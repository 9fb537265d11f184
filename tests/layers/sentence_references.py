"""Reference implementations of the sentence layers, one sentence at a time.

A sentence is a tensor without padding, (channels, time). Loops are over steps and filters, so that
autograd differentiates them one number after another.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def convolution(x: Tensor, weight: Tensor, rows: int, first: int, last: int) -> Tensor:
    """Sums over the windows that begin at steps ``first`` to ``last`` of x, zero outside."""
    num_outputs, num_inputs, width = weight.shape
    outputs_per_row = num_outputs // rows
    steps = []
    for start in range(first, last + 1):
        values = []
        for channel in range(num_outputs):
            row = channel // outputs_per_row
            total = x.new_zeros(())
            for q in range(num_inputs):
                for a in range(width):
                    if 0 <= start + a < x.shape[1]:
                        total = total + weight[channel, q, a] * x[row * num_inputs + q, start + a]
            values.append(total)
        steps.append(torch.stack(values))
    return torch.stack(steps, 1)


def wide_convolution(x: Tensor, weight: Tensor, rows: int) -> Tensor:
    if not x.shape[1]:
        return x.new_zeros(len(weight), 0)
    return convolution(x, weight, rows, 1 - weight.shape[2], x.shape[1] - 1)


def narrow_convolution(x: Tensor, weight: Tensor, rows: int) -> Tensor:
    if not x.shape[1]:
        return x.new_zeros(len(weight), 0)
    return convolution(x, weight, rows, 0, max(0, x.shape[1] - weight.shape[2]))


def folding(x: Tensor, num_maps: int) -> Tensor:
    num_rows = len(x) // num_maps
    row = [x[r * num_maps : (r + 1) * num_maps] for r in range(num_rows)]
    return torch.cat([row[2 * i] + row[2 * i + 1] for i in range(num_rows // 2)])


def dynamic_k(num_words: int, k_top: int, layer: int, num_layers: int) -> int:
    return max(k_top, math.ceil((num_layers - layer) * num_words / num_layers))


def k_max_positions(row: list[float], k: int) -> list[int]:
    by_size = sorted(range(len(row)), key=lambda t: (-row[t], t))
    return sorted(by_size[:k])


def k_max(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    positions = torch.tensor([k_max_positions(row.tolist(), k) for row in x], dtype=torch.int64)
    return torch.stack([row[p] for row, p in zip(x, positions, strict=True)]), positions


def attention(x: Tensor, guide: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    if not x.shape[1]:
        return torch.zeros_like(guide), x.new_zeros(0)
    cosines = [
        (column @ guide) / (torch.sqrt(column @ column) * torch.sqrt(guide @ guide))
        for column in x.unbind(1)
    ]
    exponentials = [torch.exp(cosine / temperature) for cosine in cosines]
    weights = torch.stack([value / sum(exponentials) for value in exponentials])
    return sum(a * column for a, column in zip(weights, x.unbind(1), strict=True)), weights
