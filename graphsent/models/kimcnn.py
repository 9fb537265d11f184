"""The convolutional neural network of Kim (2014)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from graphsent._names import check_choice
from graphsent.contextual import Encoder
from graphsent.errors import ModelError
from graphsent.layers import WideConv1d
from graphsent.layers.phrase_convolution import stacked_largest, sum_windows, word_products
from graphsent.models.arguments import check_limits, check_sizes
from graphsent.models.batches.context import Context
from graphsent.models.embeddings.inputs import Inputs
from graphsent.models.encoders.filters import Filter, FilterEncoder
from graphsent.models.heads.classification import ConvolutionClassifier, limit_row_norms
from graphsent.vocabulary import Vocabulary

__all__ = ["KimCNN"]

_VARIANTS = ("nonstatic", "static", "multichannel")


class KimCNN(ConvolutionClassifier):
    r"""Convolution filters of several heights with max-over-time pooling (Kim 2014).

    `Convolutional Neural Networks for Sentence Classification
    <https://aclanthology.org/D14-1181>`_:

    .. math::
        c_j = \max_t \mathrm{relu}(w_j \cdot x_{t:t+h_j-1} + b_j), \qquad
        \hat p = \mathrm{softmax}(W c + b)

    with dropout on c and the maximum over all windows, including those in the zero padding before
    and after the sentence. (The author's code pads sentences to the length of the longest, with at
    least four zero words on each side.) So a sentence without words has
    :math:`c_j = \mathrm{relu}(b_j)`. With two channels of word vectors, one fine-tuned and one
    kept fixed, each filter is applied to both and the results are added, which equals the filter
    applied to their sum.

    Args:
        vocab: The vocabulary; unknown words share the vector of ``<unk>``.
        num_classes: Number of classes.
        embedding_dim: Size of the word vectors.
        heights: Filter heights: the number of words in a window.
        maps: Number of filters of each height.
        variant: ``"nonstatic"``, word vectors are fine-tuned; ``"static"``, they are kept fixed;
            ``"multichannel"``, one channel of each.
        max_norm: Upper bound on the norm of each class's output weights, enforced after each step;
            0 disables it.
        dropout: Dropout probability of the pooled features c.
        **options: Options of :class:`~graphsent.models.heads.classification.SentenceClassifier`.

    Raises:
        ModelError: A size is not positive, ``heights`` is empty, or ``variant`` is unknown.
    """

    name = "kimcnn"
    fixed_vectors: Tensor | None
    training_defaults: Mapping[str, Any] = {
        "epochs": 25,
        "batch_size": 50,
        "optimizer": "adadelta",
        "lr": 1.0,
        "embedding_optimizer": "same",
        "embedding_lr": 1.0,
        "weight_decay": 0.0,
    }

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        embedding_dim: int = 300,
        *,
        heights: tuple[int, ...] = (3, 4, 5),
        maps: int = 100,
        variant: str = "nonstatic",
        max_norm: float = 3.0,
        dropout: float = 0.5,
        **options: Any,
    ) -> None:
        sizes = {f"heights[{i}]": height for i, height in enumerate(heights)}
        check_sizes(maps=maps, **{"number of heights": len(heights)}, **sizes)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=maps * len(heights),
            dropout=dropout,
            **options,
        )
        check_choice("variant", variant, _VARIANTS, ModelError)
        check_limits(max_norm=max_norm)
        self.max_norm = max_norm
        self.encoder = KimCNNEncoder(embedding_dim, heights, maps)
        self.variant = variant
        self._set_channels()

    def set_inputs(self, inputs: Inputs, encoder: Encoder | None = None) -> None:
        """See the base class; both channels use these inputs."""
        super().set_inputs(inputs, encoder)
        self._set_channels()

    def _set_channels(self) -> None:
        table, fixed = self.embedding.weight, None
        if table is not None:
            table.requires_grad_(self.variant != "static")
            if self.variant == "multichannel":
                fixed = table.detach().clone()
        elif self.variant != "nonstatic":
            raise ModelError(f"variant={self.variant!r} needs a table of word vectors")
        self.register_buffer("fixed_vectors", fixed)

    def init_embeddings(self, matrix: Tensor | np.ndarray) -> None:
        """Initializes both channels with given word vectors; see the base class."""
        super().init_embeddings(matrix)
        table = self.embedding.weight
        if self.fixed_vectors is not None and table is not None:
            self.fixed_vectors.copy_(table.detach())

    def word_vectors(self, tokens: Tensor, context: Context | None = None) -> Tensor:
        """The word vectors; with two channels, their sum."""
        vectors = self.embedding(tokens, context)
        if self.fixed_vectors is None:
            return vectors
        return vectors + self.embedding.of_rows(self.fixed_vectors[tokens])

    def after_step(self) -> None:
        """Limits the norm of the output weights."""
        limit_row_norms(self.output.weight, self.max_norm)


class KimCNNEncoder(FilterEncoder):
    """The vector c of each sentence.

    Args:
        in_feats: Size of the word vectors.
        heights: Filter heights: the number of words in a window.
        maps: Number of filters of each height.
    """

    def __init__(self, in_feats: int, heights: Sequence[int], maps: int) -> None:
        super().__init__()
        self.convolutions: Any = nn.ModuleList(WideConv1d(in_feats, maps, each) for each in heights)
        self.bias = nn.Parameter(torch.zeros(maps * len(heights)))

    def forward(self, rows: Tensor, ranges: Tensor, words: Tensor | None = None) -> Tensor:
        """The maximum of each filter, (num_sentences, maps * number of heights)."""
        largest = []
        for layer in self.convolutions:
            products = word_products(layer, rows)
            sums, steps = sum_windows(products, ranges, layer.width, words)
            largest.append(stacked_largest(sums, steps, 1).squeeze(1))
        # A window within the padding sums to 0.
        return torch.relu(torch.cat(largest, 1).clamp(min=0) + self.bias)

    def first_filters(self) -> list[Filter]:
        """All filters."""
        return [
            Filter(f"height {layer.width}, map {number}", weight, slice(None))
            for layer in self.convolutions
            for number, weight in enumerate(layer.weight.detach(), start=1)
        ]
