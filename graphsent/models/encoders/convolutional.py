"""What convolutional sentence models have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from graphsent.models.embeddings.contextual import Context
from graphsent.models.encoders.filters import Filter
from graphsent.models.heads.sentence import SentenceClassifier, SequenceBatch
from graphsent.sentences import Phrase

__all__ = ["ConvolutionClassifier"]


class ConvolutionClassifier(SentenceClassifier):
    """Base of models that run filters over the words of sentences.

    Results do not depend on padding or on the other sentences of a batch. Arguments are those of
    :class:`~graphsent.models.heads.sentence.SentenceClassifier`.
    """

    # Kalchbrenner et al. 2014 and Kim 2014 learn from the phrases of neutral sentences, too.
    task_option_defaults: Mapping[str, Mapping[str, Any]] = {"sst2": {"neutral_roots": "phrases"}}

    @abstractmethod
    def features(self, rows: Any, ranges: Tensor, words: Tensor | None = None) -> Tensor:
        """The vectors of sentences, (batch, num_features).

        Args:
            rows: What :meth:`word_rows` made of word vectors.
            ranges: First and last + 1 word of each sentence, (batch, 2) int64.
            words: The row of each word, (num_words,) int64; by default there is one for each.
        """

    @abstractmethod
    def first_filters(self) -> list[Filter]:
        """The filters over word vectors, see :func:`~graphsent.models.filter_ngrams`."""

    def word_vectors(self, tokens: Tensor, context: Context | None = None) -> Tensor:
        """What stands for words, (num_words, embedding_dim).

        Args:
            tokens: (num_words,) int64, vocabulary indices.
            context: That of the same words, see :class:`SequenceBatch`.
        """
        return self.embedding(tokens, context)

    def word_rows(self, vectors: Tensor) -> Any:
        """What is computed once for each word, whatever phrases it is in; by default its vector.

        Args:
            vectors: (num_words, embedding_dim).
        """
        return vectors

    def node_states(self, batch: SequenceBatch) -> Tensor:
        """The vector of each sequence, (num_units, num_features)."""
        tokens, words = self.embedding.distinct(batch.tokens)
        vectors = self.word_vectors(tokens, batch.context)
        if not len(batch.ranges):
            return vectors.new_zeros(0, self.output.in_features)
        return self.features(self.word_rows(vectors), batch.ranges, words)

    def training_examples(self, examples: Sequence[Any]) -> Sequence[Any]:
        """The labelled phrases of some trees, each a sentence of its own; or the sentences.

        Phrases are examples like sentences (Kalchbrenner et al. 2014, Kim 2014): drawn one by one,
        in random order. The same words with the same label, *the* for instance, are one example,
        as they are one entry in the phrase dictionary of the Stanford Sentiment Treebank. Where an
        encoder gives features, a phrase has those of its words in the first sentence that it is in.

        Args:
            examples: Trees and sentences.
        """
        if not self.phrases:  # a sentence without a class would only make batches smaller
            return [each for each in examples if each.labels[int(each.depths.argmin())]]
        if all(tree.num_nodes == 1 for tree in examples):
            return examples
        found: dict[tuple[tuple[str, ...], str], Phrase] = {}
        for tree in examples:
            words = tuple(map(self.vocab.normal, tree.words))
            for label, (begin, end) in zip(tree.labels, tree.spans.tolist(), strict=True):
                if label and (words[begin:end], label) not in found:
                    found[words[begin:end], label] = Phrase(words, begin, end, label)
        return list(found.values())
