"""Models of sentence pairs: scores or classes of their relatedness."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch

from graphsent._names import check_choice
from graphsent._numbers import LARGEST
from graphsent.errors import ModelError
from graphsent.layers import Dropout, RelatednessHead, relatedness_loss
from graphsent.models.arguments import check_classes, check_rates, check_sizes, class_names
from graphsent.models.base.inference import evaluating, map_batches
from graphsent.models.base.losses import classification_loss, regression_loss
from graphsent.models.base.model import Model
from graphsent.models.base.pair_prediction import PairPrediction
from graphsent.models.base.reading import ReadsTrees
from graphsent.models.batches.pairs import PairBatch, gold_of_pairs
from graphsent.models.batches.units import is_labelled
from graphsent.models.heads.scores import ScoreOutput, scores_of
from graphsent.pairs import TreePair
from graphsent.vocabulary import Vocabulary

__all__ = ["RelatednessModel", "TreeRelatednessModel"]


class RelatednessModel(Model):
    r"""Base class of models that score or classify sentence pairs (Tai et al. 2015, section 4.2).

    A shared encoder computes the vectors :math:`h_1, h_2` of both sentences, and
    :class:`~graphsent.layers.RelatednessHead` compares them. Its output is a distribution
    :math:`\hat p` over the scores 1 to K, whose mean :math:`\sum_i i\, \hat p_i` is the score of
    the pair, or over classes. With one class, scores may be any numbers, and the head predicts the
    score directly (:class:`~graphsent.models.heads.scores.ScoreOutput`).

    Args:
        vocab: The vocabulary; unknown words share the vector of ``<unk>``.
        num_classes: The highest score K, or 1 for scores of any range; for classification the
            number of classes.
        embedding_dim: Size of the word vectors.
        num_features: Size of a sentence vector.
        comparison: Size of the hidden layer of the comparison head.
        goal: ``"regression"`` for scores, or ``"classification"``.
        dropout: Dropout probability of the sentence vectors.
        label_names: Names of the scores or classes; by default ``"1"`` to ``"K"``.
        **options: ``embedding_dropout`` and ``sparse_embedding`` as in
            :class:`~graphsent.models.heads.classification.Classifier`.

    Raises:
        ModelError: A size is not positive, a dropout rate is not a probability, the goal is
            unknown, there are fewer than two classes for classification, or there is not one name
            per class.
    """

    examples = "pairs"
    goals = ("regression", "classification")
    _read_pairs: Callable[[Iterable[Any]], list[TreePair]]

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        *,
        embedding_dim: int,
        num_features: int,
        comparison: int,
        goal: str = "regression",
        dropout: float = 0.0,
        label_names: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(vocab, embedding_dim, num_features, **options)
        check_choice("goal", goal, self.goals, ModelError)
        self.goal = goal
        check_sizes(num_classes=num_classes, comparison=comparison)
        if num_classes < 2 and goal == "classification":
            raise ModelError(f"num_classes: expected at least 2 classes, got {num_classes}")
        levels = [str(score) for score in range(1, num_classes + 1)]
        names = levels if label_names is None else label_names
        self.label_names = class_names(num_classes, names)
        check_rates(dropout=dropout)
        self.dropout = Dropout(dropout)
        self.head = RelatednessHead(num_features, comparison, num_classes)
        if num_classes == 1:
            self.head.output = ScoreOutput(comparison)

    def pair_states(self, batch: PairBatch) -> torch.Tensor:
        """The vectors of all first sentences, followed by those of all second sentences.

        Args:
            batch: A batch of pairs.

        Returns:
            (2 * batch_size, num_features).
        """
        return self.node_states(batch.sentences)[batch.sentences.roots]

    def collate(self, pairs: Iterable[Any]) -> PairBatch:
        """Builds the batch of pairs; usable as ``collate_fn`` of a ``DataLoader``.

        Args:
            pairs: See :func:`~graphsent.models.batches.pairs.as_pairs`.

        Raises:
            ModelError: An input is not a pair of trees or sentences, a score is out of range, or a
                label is not a class of the model.
        """
        read = self._read_pairs(pairs)
        batch = self._batch_of_pairs(read)
        highest = len(self.label_names)
        if self.goal == "classification":
            check_classes(batch.gold, highest, "pair")
        else:
            low, high = (1, highest) if highest > 1 else (-LARGEST, LARGEST)
            for number, pair in enumerate(read, start=1):
                if pair.score is not None and not low <= pair.score <= high:
                    raise ModelError(
                        f"pair {number}: expected a score from {low} to {high}, got {pair.score}"
                    )
        return batch

    def forward(self, batch: PairBatch) -> torch.Tensor:
        """The logits of the scores or classes of every pair, (batch_size, num_classes)."""
        return self.head(*self.dropout(self.pair_states(batch)).chunk(2))

    def loss(self, outputs: torch.Tensor, batch: PairBatch, nodes: str = "all") -> torch.Tensor:
        """The training loss.

        It is :func:`~graphsent.layers.relatedness_loss` for scores from 1 to K,
        :func:`~graphsent.models.regression_loss` for scores of any range, and
        :func:`~graphsent.models.classification_loss` for classes.

        Args:
            outputs: (batch_size, num_classes).
            batch: The batch.
            nodes: No effect: every unit is a whole pair.
        """
        if self.goal == "classification":
            return classification_loss(outputs, batch, nodes, self.class_weights)
        output = self.head.output
        if isinstance(output, ScoreOutput):
            return regression_loss(outputs, batch, nodes, deviation=output.deviation)
        known = is_labelled(batch.gold)
        return relatedness_loss(outputs[known], batch.gold[known])

    def init_scores(self, examples: Iterable[Any]) -> None:
        """Sets mean and deviation of the output from training scores, if these have any range."""
        if isinstance(self.head.output, ScoreOutput):
            self.head.output.fit([pair.score for pair in examples if pair.score is not None])

    def predict(
        self, pairs: Iterable[Any], batch_size: int = 64
    ) -> np.ndarray | list[PairPrediction]:
        """Scores or classifies pairs of sentences; their own scores and labels are ignored.

        Args:
            pairs: See :func:`~graphsent.models.batches.pairs.as_pairs`.
            batch_size: Number of pairs per batch.

        Returns:
            The scores in the order given, (num_pairs,) float32; or the class of each pair.

        Raises:
            ModelError: An input is not a pair of trees or sentences.
        """
        read = [TreePair(*self.as_learned(pair[:2])) for pair in self._read_pairs(pairs)]
        sizes = [self._size(pair.first) + self._size(pair.second) for pair in read]
        with evaluating(self) as model:
            if self.goal == "regression":
                scores = map_batches(read, sizes, batch_size, model._scores)
                return np.array(scores, np.float32)
            rows = map_batches(read, sizes, batch_size, model._probabilities)
        return [
            PairPrediction(pair, probabilities, self.label_names)
            for pair, probabilities in zip(read, rows, strict=True)
        ]

    def _batch_of_pairs(self, pairs: Sequence[TreePair]) -> PairBatch:
        sentences = [pair.first for pair in pairs] + [pair.second for pair in pairs]
        batch = self._batch(self._shaped(sentences)).sentences()
        numbers = torch.arange(len(pairs), device="cpu")
        return PairBatch(batch, gold_of_pairs(pairs, self.goal), numbers)

    def _outputs(self, pairs: list[TreePair]) -> torch.Tensor:
        return self(self._batch_of_pairs(pairs).to(self._device)).float()

    def _scores(self, pairs: list[TreePair]) -> np.ndarray:
        return scores_of(self._outputs(pairs)).cpu().numpy()

    def _probabilities(self, pairs: list[TreePair]) -> np.ndarray:
        return torch.softmax(self._outputs(pairs), 1).cpu().numpy()


class TreeRelatednessModel(ReadsTrees, RelatednessModel):
    """Base class of relatedness models of trees; its arguments are those of RelatednessModel."""

    tree_kind = "dependency"
