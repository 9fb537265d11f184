"""The dynamic convolutional neural network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from graphsent.layers.phrase_convolution import stacked
from graphsent.models.arguments import check_sizes
from graphsent.models.encoders.filters import Filter, FilterEncoder
from graphsent.models.encoders.row_maps import RowMaps
from graphsent.models.heads.classification import ConvolutionClassifier
from graphsent.vocabulary import Vocabulary

__all__ = ["DCNN", "DCNNEncoder"]


class DCNNEncoder(FilterEncoder):
    """Encodes sentences as the flattened last layer of a DCNN.

    See :class:`~graphsent.models.encoders.row_maps.RowMaps`.

    Args:
        in_feats: Size of the word vectors.
        widths: Filter width of each layer, in words.
        maps: Number of feature maps of each layer.
        k_top: k of the k-max pooling in the last layer: the number of values kept per row.
        fold: Whether to sum pairs of adjacent rows after each convolution.

    Raises:
        ModelError: A size is not positive, or ``widths`` and ``maps`` differ in length.
    """

    def __init__(
        self,
        in_feats: int,
        *,
        widths: tuple[int, ...] = (7, 5),
        maps: tuple[int, ...] = (6, 14),
        k_top: int = 4,
        fold: bool = True,
    ) -> None:
        super().__init__()
        self.layers = RowMaps(in_feats, widths, maps, k_top, fold=fold)
        self.num_features = self.layers.num_channels * k_top

    def forward(self, rows: Tensor, ranges: Tensor, words: Tensor | None = None) -> Tensor:
        """The vectors of sentences, (num_sentences, num_features)."""
        x, steps = self.layers(rows, ranges, words)
        last = stacked(x, steps, self.layers.k_top)
        return last.transpose(1, 2).flatten(1)

    def first_filters(self) -> list[Filter]:
        """The filters of the first layer, one per map and row."""
        return self.layers.first_filters()


class DCNN(ConvolutionClassifier):
    r"""Dynamic convolutional neural network (Kalchbrenner, Grefenstette and Blunsom 2014).

    .. math::
        \hat p = \mathrm{softmax}(W \, \mathrm{vec}(F^L) + b)

    with dropout on :math:`F^L`, the last layer of
    :class:`~graphsent.models.encoders.row_maps.RowMaps`. The vector of a sentence without
    words is zero. The defaults are the paper's for binary sentiment; ``task_defaults`` has those
    for the other tasks. The paper does not give k for TREC; that of binary sentiment is used.

    Args:
        vocab: The vocabulary; unknown words share the vector of ``<unk>``.
        num_classes: Number of classes.
        embedding_dim: Size of the word vectors.
        dropout: Dropout probability of the last layer.
        **options: Options of :class:`DCNNEncoder` and of
            :class:`~graphsent.models.heads.classification.SentenceClassifier`.
    """

    name = "dcnn"
    encoder: DCNNEncoder
    encoder_class = DCNNEncoder
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
        dropout: float = 0.5,
        **options: Any,
    ) -> None:
        check_sizes(embedding_dim=embedding_dim)
        encoder = DCNNEncoder(embedding_dim, **self._encoder_options(options))
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=encoder.num_features,
            dropout=dropout,
            **options,
        )
        self.encoder = encoder
