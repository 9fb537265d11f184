"""What models of pairs of sentences have in common: scores, and classes, of how they relate."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from graphsent._dgl import dgl
from graphsent._names import unknown
from graphsent.errors import ModelError
from graphsent.graphs import root_nodes
from graphsent.layers import Dropout, RelatednessHead, relatedness_loss
from graphsent.models.arguments import check_classes, check_rates, check_sizes, class_names
from graphsent.models.base.inference import evaluating, map_batches
from graphsent.models.base.losses import classification_loss, regression_loss
from graphsent.models.base.model import Model
from graphsent.models.base.prediction import PairPrediction
from graphsent.models.batches.forms import as_trees
from graphsent.models.batches.pairs import PairBatch, as_pairs, pair_batch
from graphsent.models.batches.trees import is_labelled, tree_graph
from graphsent.models.embeddings.table import WordEmbedding
from graphsent.models.heads.scores import ScoreOutput, scores_of
from graphsent.pairs import TreePair
from graphsent.vocabulary import Vocabulary

__all__ = ["RelatednessModel", "TreeRelatednessModel"]


class RelatednessModel(Model):
    r"""Base of models that score or classify pairs of sentences (Tai et al. 2015, section 4.2).

    One encoder gives the vectors :math:`h_1, h_2` of both sentences;
    :class:`~graphsent.layers.RelatednessHead` compares them. What it gives is a distribution
    :math:`\hat p`, either over the scores from 1 to K, of which the mean
    :math:`\sum_i i\, \hat p_i` is the score of a pair; or over classes. With one class scores may
    be any numbers, and the head gives one
    (:class:`~graphsent.models.heads.scores.ScoreOutput`).

    Args:
        vocab: The words the model knows; others share the vector of ``<unk>``.
        num_classes: The highest score K, or 1 for scores of any range; or the number of classes.
        goal: ``"regression"``, scores; or ``"classification"``.
        embedding_dim: Length of a word vector.
        num_features: Length of a sentence's vector.
        comparison: Length of the head's hidden layer.
        dropout: Dropout on the vectors of the sentences.
        embedding_dropout: The same for word vectors.
        sparse_embedding: Whether the gradient of the word table holds only the rows in use.
        label_names: Names of the scores, by default "1" to "K"; or of the classes.

    Raises:
        ModelError: A size is not positive, a rate of dropout is none, there is no such goal, there
            are less than two classes, or there is not one name for each.
    """

    examples = "pairs"
    goals = ("regression", "classification")
    label_names: tuple[str, ...]

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        *,
        goal: str,
        embedding_dim: int,
        num_features: int,
        comparison: int,
        dropout: float,
        embedding_dropout: float,
        sparse_embedding: bool,
        label_names: Sequence[str] | None,
    ) -> None:
        super().__init__(vocab)
        if goal not in self.goals:
            raise ModelError(unknown("goal", goal, self.goals))
        self.goal = goal
        if num_classes < 2 and goal == "classification":
            raise ModelError(f"num_classes: expected at least 2 classes, got {num_classes}")
        levels = [str(score) for score in range(1, num_classes + 1)]
        self.label_names = class_names(num_classes, label_names or levels)
        check_sizes(embedding_dim=embedding_dim, num_features=num_features, comparison=comparison)
        check_rates(dropout=dropout, embedding_dropout=embedding_dropout)
        self.embedding = WordEmbedding(
            len(vocab), embedding_dim, dropout=embedding_dropout, sparse=sparse_embedding
        )
        self.dropout = Dropout(dropout)
        self.num_features = num_features
        self.head = RelatednessHead(num_features, comparison, num_classes)
        if num_classes == 1:
            self.head.output = ScoreOutput(comparison)

    @abstractmethod
    def pair_states(self, batch: Any) -> torch.Tensor:
        """The vectors of the sentences of a batch, (2 * batch_size, num_features).

        Those of all first sentences come before those of all second ones.
        """

    @abstractmethod
    def _read(self, inputs: Iterable[Any]) -> Sequence[Any]:
        """Sentences as the model reads them, in any form that it takes."""

    @abstractmethod
    def _read_pairs(self, inputs: Iterable[Any]) -> list[TreePair]:
        """The same for pairs of sentences."""

    @abstractmethod
    def _batch(self, pairs: Sequence[TreePair]) -> Any:
        """The batch of some pairs: a named tuple with ``labels``, ``roots`` and ``to(device)``."""

    @abstractmethod
    def _sentence_vectors(self, sentences: Sequence[Any]) -> np.ndarray:
        """The vectors of some sentences, (num_sentences, num_features)."""

    @staticmethod
    @abstractmethod
    def _size(sentence: Any) -> int:
        """How much there is to compute for a sentence."""

    def init_embeddings(self, matrix: torch.Tensor | np.ndarray) -> None:
        """Starts from given word vectors, (len(vocab), embedding_dim).

        Raises:
            ModelError: The matrix has another shape.
        """
        self.embedding.init_vectors(matrix)

    def collate(self, pairs: Iterable[Any]) -> Any:
        """The batch of some pairs; fit for a ``DataLoader``.

        Args:
            pairs: See :func:`~graphsent.models.batches.pairs.as_pairs`.

        Returns:
            A :class:`~graphsent.models.PairBatch` or :class:`~graphsent.models.WordPairBatch`.

        Raises:
            ModelError: Something is no pair of trees or sentences, a score is out of range, or a
                label is no class.
        """
        pairs = self._read_pairs(pairs)
        batch = self._batch(pairs)
        highest = len(self.label_names)
        if self.goal == "classification":
            check_classes(batch.labels, highest, "pair")
        elif highest > 1:
            for number, pair in enumerate(pairs, start=1):
                if pair.score is not None and not 1 <= pair.score <= highest:
                    raise ModelError(
                        f"pair {number}: expected a score from 1 to {highest}, got {pair.score}"
                    )
        return batch

    def forward(self, batch: Any) -> torch.Tensor:
        """The logits of the scores or classes of every pair, (batch_size, num_classes)."""
        return self.head(*self.dropout(self.pair_states(batch)).chunk(2))

    def loss(self, outputs: torch.Tensor, batch: Any, nodes: str = "all") -> torch.Tensor:
        """What training minimizes.

        It is :func:`~graphsent.layers.relatedness_loss` of pairs with a score from 1 to K,
        :func:`~graphsent.models.base.losses.regression_loss` for scores of any range, and
        :func:`~graphsent.models.base.losses.classification_loss` for classes.

        Args:
            outputs: (batch_size, num_classes).
            batch: The batch.
            nodes: Makes no difference: every unit is a whole pair.
        """
        if self.goal == "classification":
            return classification_loss(outputs, batch, nodes)
        output = self.head.output
        if isinstance(output, ScoreOutput):
            return regression_loss(outputs, batch, nodes, deviation=output.deviation)
        known = is_labelled(batch.labels)
        return relatedness_loss(outputs[known], batch.labels[known])

    def init_scores(self, examples: Iterable[Any]) -> None:
        """Takes over mean and deviation of the scores of training pairs, if they have any range."""
        if isinstance(self.head.output, ScoreOutput):
            self.head.output.fit([pair.score for pair in examples if pair.score is not None])

    def predict(
        self, pairs: Iterable[Any], batch_size: int = 64
    ) -> np.ndarray | list[PairPrediction]:
        """Scores or classifies pairs of sentences; scores and labels that they have are ignored.

        Args:
            pairs: See :func:`~graphsent.models.batches.pairs.as_pairs`.
            batch_size: How many pairs are computed at once.

        Returns:
            The scores in the order given, (num_pairs,) float32; or the class of each pair.

        Raises:
            ModelError: Something is no pair of trees or sentences.
        """
        pairs = [TreePair(*self.as_learned(pair[:2])) for pair in self._read_pairs(pairs)]
        sizes = [self._size(pair.first) + self._size(pair.second) for pair in pairs]
        with evaluating(self) as model:
            if self.goal == "regression":
                scores = map_batches(pairs, sizes, batch_size, model._scores)
                return np.array(scores, np.float32)
            rows = map_batches(pairs, sizes, batch_size, model._probabilities)
        return [
            PairPrediction(pair, probabilities, self.label_names)
            for pair, probabilities in zip(pairs, rows, strict=True)
        ]

    def encode(self, trees: Iterable[Any], batch_size: int = 64) -> np.ndarray:
        """The vector of each of some sentences (not pairs), (num_trees, num_features) float32.

        Args:
            trees: See :func:`~graphsent.models.batches.forms.as_trees`, or
                :func:`~graphsent.models.batches.forms.as_sentences` for a model that needs no
                trees.
            batch_size: How many trees are computed at once.

        Raises:
            ModelError: Something is no tree or sentence.
        """
        trees = self.as_learned(self._read(trees))
        with evaluating(self) as model:
            sizes = [self._size(tree) for tree in trees]
            rows = map_batches(trees, sizes, batch_size, model._sentence_vectors)
        return np.stack(rows) if rows else np.zeros((0, self.num_features), np.float32)

    @property
    def _device(self) -> torch.device:
        return next(self.head.parameters()).device

    def _outputs(self, pairs: list[TreePair]) -> torch.Tensor:
        return self(self._batch(pairs).to(self._device)).float()

    def _scores(self, pairs: list[TreePair]) -> np.ndarray:
        return scores_of(self._outputs(pairs)).cpu().numpy()

    def _probabilities(self, pairs: list[TreePair]) -> np.ndarray:
        return torch.softmax(self._outputs(pairs), 1).cpu().numpy()


class TreeRelatednessModel(RelatednessModel):
    """Base of those that read the trees of the sentences; arguments as above."""

    tree_kind = "dependency"

    @abstractmethod
    def sentence_states(self, graph: dgl.DGLGraph, roots: torch.Tensor) -> torch.Tensor:
        """The vectors of the sentences of a batched graph, (num_sentences, num_features).

        Args:
            graph: All sentences.
            roots: The root node of each, (num_sentences,) int64.
        """

    def pair_states(self, batch: PairBatch) -> torch.Tensor:
        """The vectors of all first sentences, then of all second ones."""
        return self.sentence_states(batch.graph, batch.sentences.flatten())

    def _read(self, inputs: Iterable[Any]) -> list[Any]:
        return as_trees(inputs, self.parse if self.reads_text else None)

    def _read_pairs(self, inputs: Iterable[Any]) -> list[TreePair]:
        return as_pairs(inputs, self.parse if self.reads_text else None)

    def _batch(self, pairs: Sequence[TreePair]) -> PairBatch:
        return pair_batch(pairs, self.vocab, self.goal, self.context)

    def _sentence_vectors(self, sentences: Sequence[Any]) -> np.ndarray:
        graph = tree_graph(sentences, self.vocab, context=self.context(sentences))
        roots = root_nodes(graph).to(self._device)
        return self.sentence_states(graph, roots).float().cpu().numpy()

    @staticmethod
    def _size(sentence: Any) -> int:
        return sentence.num_nodes
