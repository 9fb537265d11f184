"""The DCNN of the benchmark of convolution, over a batch at once and sentence by sentence."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from graphsent.layers import (
    BiasActivation,
    DynamicKMaxPooling,
    WideConv1d,
    dynamic_k,
    zero_beyond,
)

from .data import NUM_CLASSES

BATCH_SIZE, ROWS = 50, 48
CONTENDERS = ("per sentence", "layers")


class Sizes(NamedTuple):
    """Of a network with two layers."""

    widths: tuple[int, int]
    maps: tuple[int, int]
    k_top: int


SIZES = {"five classes": Sizes((10, 7), (6, 12), 5), "two classes": Sizes((7, 5), (6, 14), 4)}


class Network(nn.Module):
    """The DCNN, twice: over a batch, and over one sentence."""

    def __init__(self, sizes: Sizes, num_words: int) -> None:
        super().__init__()
        self.sizes = sizes
        self.table = nn.Embedding(num_words, ROWS)
        (width, next_width), (maps, next_maps), k_top = sizes
        half = ROWS // 2
        first = WideConv1d(ROWS, ROWS * maps, width, rows=ROWS, fold=True)
        second = WideConv1d(half * maps, half * next_maps, next_width, rows=half, fold=True)
        self.convolutions = nn.ModuleList([first, second])
        self.poolings = nn.ModuleList(DynamicKMaxPooling(k_top, layer, 2) for layer in (1, 2))
        self.activations = nn.ModuleList(
            BiasActivation(convolution.out_channels) for convolution in self.convolutions
        )
        self.output = nn.Linear(self.convolutions[1].out_channels * k_top, NUM_CLASSES)

    def over_batch(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Logits of a padded batch of sentences."""
        x, steps = self.table(words).transpose(1, 2), lengths
        parts = zip(self.convolutions, self.poolings, self.activations, strict=True)
        for convolve, pool, activate in parts:
            x, steps = convolve(x, steps)
            x, steps = pool(x, steps, lengths)
            x = activate(x, steps)
        return self.output(x.flatten(1))

    def over_sentence(self, words: Tensor) -> Tensor:
        """Logits of one sentence, with torch's operations."""
        x = self.table(words).t()
        for layer, convolve in enumerate(self.convolutions, start=1):
            padding = convolve.width - 1
            x = functional.conv1d(x, convolve.weight, padding=padding, groups=convolve.rows)
            first, second = x.unflatten(0, (convolve.rows // 2, 2, -1)).unbind(1)
            x = (first + second).flatten(0, 1)
            k = dynamic_k(torch.tensor(len(words)), self.sizes.k_top, layer, 2)
            kept = x.topk(int(k), 1).indices.sort(1).values
            bias = self.activations[layer - 1].bias
            x = torch.tanh(x.gather(1, kept) + bias[:, None])
        return self.output(x.flatten())


class Batch(NamedTuple):
    """Sentences one by one, and padded."""

    sentences: list[Tensor]
    words: Tensor
    lengths: Tensor
    labels: Tensor


def make_batches(parts: Sequence[tuple[list[int], int]], num_batches: int) -> list[Batch]:
    """Batches of random sentences, given as words and label."""
    if len(parts) < BATCH_SIZE * num_batches:
        raise SystemExit(
            f"error: expected at least {BATCH_SIZE * num_batches} sentences, got {len(parts)}"
        )
    chosen = random.Random(0).sample(list(parts), BATCH_SIZE * num_batches)
    batches = []
    for first in range(0, len(chosen), BATCH_SIZE):
        words, labels = zip(*chosen[first : first + BATCH_SIZE], strict=True)
        sentences = [torch.tensor(numbers) for numbers in words]
        lengths = torch.tensor([len(sentence) for sentence in sentences])
        padded = pad_sequence(sentences, batch_first=True)
        batches.append(Batch(sentences, padded, lengths, torch.tensor(labels)))
    return batches


def loss(network: Network, batch: Batch, contender: str) -> Tensor:
    """Cross-entropy of a batch."""
    if contender == "layers":
        logits = network.over_batch(batch.words, batch.lengths)
    else:
        logits = torch.stack([network.over_sentence(words) for words in batch.sentences])
    return functional.cross_entropy(logits, batch.labels)


def largest_difference(network: Network, batch: Batch) -> float:
    """The largest difference of gradients in float64."""
    network = network.double()
    parameters = list(network.parameters())
    found = [torch.autograd.grad(loss(network, batch, name), parameters) for name in CONTENDERS]
    network.float()
    return max((a - b).abs().max().item() for a, b in zip(*found, strict=True))


def layer_inputs(network: Network, batch: Batch) -> list[tuple[WideConv1d, Tensor, Tensor]]:
    """Each convolution with what it gets in the network."""
    first, second = network.convolutions
    with torch.no_grad():
        x = zero_beyond(network.table(batch.words).transpose(1, 2), batch.lengths).contiguous()
        y, steps = network.poolings[0](*first(x, batch.lengths), batch.lengths)
        y = network.activations[0](y, steps).contiguous()
    return [(first, x.requires_grad_(), batch.lengths), (second, y.requires_grad_(), steps)]
