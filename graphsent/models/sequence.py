"""Sequential baselines: the sentence as a row of words; classes, and relatedness of pairs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphsent.layers import SequenceEncoder
from graphsent.models.arguments import check_sizes
from graphsent.models.base.reading import ReadsWords
from graphsent.models.batches.forms import as_trees
from graphsent.models.batches.pairs import as_pairs
from graphsent.models.heads.classification import SentenceClassifier
from graphsent.models.heads.relatedness import RelatednessModel
from graphsent.pairs import TreePair
from graphsent.vocabulary import Vocabulary

__all__ = ["SequenceClassifier", "SequenceRelatedness"]


class SequenceClassifier(SentenceClassifier):
    r"""LSTM or GRU, of one or both directions, over the words of a sentence or phrase.

    .. math::
        \hat p = \mathrm{softmax}(W h + b)

    with dropout on h, the last state of :class:`~graphsent.layers.SequenceEncoder`, zero for a
    sentence without words. Of a tree only the words are read, and which spans of them are phrases:
    every labelled phrase is an example of its own, from a zero state. With torch's two biases a
    gate an LSTM of 300 / 168 has 315,840 parameters, as Tai et al. 2015 report, and 845 for five
    classes.

    Args:
        vocab: The words the model knows.
        num_classes: Number of classes.
        embedding_dim: Length of a word vector.
        hidden: Length of the state of each direction.
        bidirectional: Whether there is a second network from right to left; h is then the last
            states of both.
        dropout: Dropout on h.
        **options: ``cell`` as in :class:`~graphsent.layers.SequenceEncoder`, and those of
            :class:`~graphsent.models.heads.classification.SentenceClassifier`.
    """

    name = "sequence"
    encoder_class = SequenceEncoder

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        embedding_dim: int = 300,
        hidden: int = 168,
        *,
        bidirectional: bool = False,
        dropout: float = 0.5,
        **options: Any,
    ) -> None:
        check_sizes(hidden=hidden)
        of_encoder = self._encoder_options(options)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=2 * hidden if bidirectional else hidden,
            dropout=dropout,
            **options,
        )
        self.encoder = SequenceEncoder(
            embedding_dim, hidden, bidirectional=bidirectional, **of_encoder
        )


class SequenceRelatedness(ReadsWords, RelatednessModel):
    """Relatedness by an LSTM or GRU over the words: the paper's sequential baselines.

    Sentences need no trees; of a tree the words are read. A model that was saved when it was given
    trees, with the parser that they are from, has that parser divide raw text.

    Args:
        vocab: The words the model knows.
        num_classes: The highest score, or the number of classes; see
            :class:`~graphsent.models.heads.relatedness.RelatednessModel`.
        embedding_dim: Length of a word vector.
        hidden: Length of the state of each direction.
        comparison: Length of the hidden layer of the head.
        bidirectional: See :class:`~graphsent.layers.SequenceEncoder`.
        **options: ``cell`` as there, and those of
            :class:`~graphsent.models.heads.relatedness.RelatednessModel`.
    """

    name = "sequence-relatedness"
    encoder_class = SequenceEncoder
    unsaved_tokenizer = "treebank"  # that of the trees of SICK

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int = 5,
        embedding_dim: int = 300,
        hidden: int = 150,
        comparison: int = 50,
        *,
        bidirectional: bool = False,
        **options: Any,
    ) -> None:
        check_sizes(hidden=hidden)
        of_encoder = self._encoder_options(options)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=2 * hidden if bidirectional else hidden,
            comparison=comparison,
            **options,
        )
        self.encoder = SequenceEncoder(
            embedding_dim, hidden, bidirectional=bidirectional, **of_encoder
        )

    def _read(self, inputs: Iterable[Any]) -> list[Any]:
        return as_trees(inputs, self.parse) if self.reads_text else super()._read(inputs)

    def _read_pairs(self, inputs: Iterable[Any]) -> list[TreePair]:
        return as_pairs(inputs, self.parse) if self.reads_text else super()._read_pairs(inputs)
