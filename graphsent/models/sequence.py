"""Sequential baselines over the words of a sentence: classification, relatedness of pairs."""

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
    r"""Unidirectional or bidirectional LSTM or GRU over the words of a sentence or phrase.

    .. math::
        \hat p = \mathrm{softmax}(W h + b)

    with dropout on h, the last state of :class:`~graphsent.layers.SequenceEncoder`, zero for a
    sentence without words. Of a tree only the words and the spans of its phrases are read: every
    labelled phrase is a separate example, starting from a zero state. With torch's two biases per
    gate, an LSTM with sizes 300 / 168 has 315,840 parameters, as Tai et al. 2015 report, plus 845
    for five classes.

    Args:
        vocab: The vocabulary; unknown words share the vector of ``<unk>``.
        num_classes: Number of classes.
        embedding_dim: Size of the word vectors.
        hidden: Size of the hidden state of each direction.
        bidirectional: Whether to add a second network that reads from right to left; h is then the
            concatenation of both last states.
        dropout: Dropout probability of the sentence vector h.
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
    """Sentence relatedness by an LSTM or GRU over the words: the sequential baselines of Tai et al.

    Sentences need no trees; of a tree only the words are read. A model saved with the parser of
    its training trees uses that parser to tokenize raw text.

    Args:
        vocab: The vocabulary; unknown words share the vector of ``<unk>``.
        num_classes: The highest score, or the number of classes; see
            :class:`~graphsent.models.heads.relatedness.RelatednessModel`.
        embedding_dim: Size of the word vectors.
        hidden: Size of the hidden state of each direction.
        comparison: Size of the hidden layer of the comparison head.
        bidirectional: Whether to add a second network that reads from right to left.
        **options: ``cell`` as in :class:`~graphsent.layers.SequenceEncoder`, and those of
            :class:`~graphsent.models.heads.relatedness.RelatednessModel`.
    """

    name = "sequence-relatedness"
    encoder_class = SequenceEncoder
    unsaved_tokenizer = "treebank"  # the tokenization of SICK's trees

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
        if self.reads_text:
            return as_trees(inputs, self.parse, self.node_labels)
        return super()._read(inputs)

    def _read_pairs(self, inputs: Iterable[Any]) -> list[TreePair]:
        if self.reads_text:
            return as_pairs(inputs, self.parse)
        return super()._read_pairs(inputs)
