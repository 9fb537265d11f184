"""The dynamic convolutional neural network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from graphsent.models.encoders.convolutional import ConvolutionClassifier
from graphsent.models.encoders.filters import Filter, row_filters
from graphsent.models.encoders.phrase_convolution import stacked
from graphsent.models.encoders.row_maps import PooledLayer, RowMaps
from graphsent.vocabulary import Vocabulary

__all__ = ["DCNN"]


class DCNN(ConvolutionClassifier):
    r"""Dynamic convolutional neural network (Kalchbrenner, Grefenstette and Blunsom 2014).

    .. math::
        \hat p = \mathrm{softmax}(W \, \mathrm{vec}(F^L) + b)

    with dropout on :math:`F^L`, the last layer of
    :class:`~graphsent.models.encoders.row_maps.RowMaps`. The vector of a sentence without
    words is zero. The defaults are the paper's for binary sentiment;
    ``task_defaults`` has those for the other tasks. TREC's pooling is not known: k is that of
    binary sentiment.

    Args:
        vocab: The words the model knows.
        num_classes: Number of classes.
        embedding_dim: Length of a word vector.
        widths: Width of the filters of each layer.
        maps: Number of maps of each layer.
        k_top: How many values of each row the last layer keeps.
        fold: Whether rows are added in pairs after each convolution.
        phrases: Whether labelled phrases are examples; if not, only sentences are.
        dropout: Dropout on the last layer.
        embedding_dropout: Dropout on word vectors.
        sparse_embedding: Whether the gradient of the word table holds only the rows in use.
        label_names: Names of the classes; by default their numbers.

    Raises:
        ModelError: A size is not positive, or widths and maps are not of as many layers.
    """

    name = "dcnn"
    training_defaults: Mapping[str, Any] = {
        "batch_size": 50,
        "optimizer": "adagrad",
        "lr": 0.05,
        "embedding_optimizer": "same",
        "embedding_lr": 0.05,
    }
    task_defaults: Mapping[str, Mapping[str, Any]] = {
        "sst5": {"widths": (10, 7), "maps": (6, 12), "k_top": 5},
        "trec": {"embedding_dim": 32, "widths": (8,), "maps": (5,)},
        "twitter": {"embedding_dim": 60},
    }

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        embedding_dim: int = 48,
        *,
        widths: tuple[int, ...] = (7, 5),
        maps: tuple[int, ...] = (6, 14),
        k_top: int = 4,
        fold: bool = True,
        phrases: bool = True,
        dropout: float = 0.5,
        embedding_dropout: float = 0.0,
        sparse_embedding: bool = False,
        label_names: Sequence[str] | None = None,
    ) -> None:
        layers = RowMaps(embedding_dim, widths, maps, k_top, fold=fold)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=layers.num_channels * k_top,
            dropout=dropout,
            embedding_dropout=embedding_dropout,
            sparse_embedding=sparse_embedding,
            label_names=label_names,
            phrases=phrases,
        )
        self.layers = layers

    def features(self, rows: Tensor, ranges: Tensor, words: Tensor | None = None) -> Tensor:
        """The last layer as one vector, (batch, rows * maps * k_top)."""
        rows = rows if words is None else rows.index_select(0, words)
        last = stacked(*self.layers(rows, ranges), self.layers.k_top)
        return last.transpose(1, 2).flatten(1)

    def trace(self, rows: Tensor, ranges: Tensor) -> list[PooledLayer]:
        """What each layer selected; arguments as in :meth:`features`."""
        return self.layers.trace(rows, ranges)

    def first_filters(self) -> list[Filter]:
        """The feature detectors of the first layer: one for each map and row."""
        return row_filters(self.layers.convolutions[0].weight, self.layers.num_rows)
