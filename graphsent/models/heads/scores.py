"""Regression: the output layer of models that predict a number, and the scores it learns from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import nn

from graphsent._numbers import decimal
from graphsent.errors import ModelError
from graphsent.layers import expected_score

__all__ = ["ScoreOutput", "gold_scores", "output_layer", "score_of", "scores_of"]

_LEAST_DEVIATION = 1e-5  # of scores, relative to their mean; float32 has steps of 1e-7


class ScoreOutput(nn.Linear):
    r"""Linear layer with one output, on the scale of the training scores.

    .. math::
        \hat y = \mu + \sigma (w \cdot h + b)

    with the mean :math:`\mu` and standard deviation :math:`\sigma` of the training scores, which
    are saved with the parameters, so that weights and learning rates do not depend on the scale of
    the scores.

    Args:
        in_features: Size of the input vectors.
    """

    mean: torch.Tensor
    deviation: torch.Tensor

    def __init__(self, in_features: int) -> None:
        super().__init__(in_features, 1)
        self.register_buffer("mean", torch.zeros(()))
        self.register_buffer("deviation", torch.ones(()))

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """The scores, (num_units, 1), with the dtype of the parameters, also under autocast."""
        return self.mean + self.deviation * super().forward(states).to(self.mean)

    def fit(self, scores: Sequence[float] | torch.Tensor) -> None:
        """Sets mean and standard deviation (1 if all are equal) from the training scores.

        Raises:
            ModelError: There are no scores, or they differ by too little for single precision.
        """
        if not len(scores):
            raise ModelError("no training example has a number as its score")
        numbers = torch.as_tensor(scores, dtype=torch.float64)
        # Of equal numbers, the computed deviation may be another than 0.
        differ = numbers.max() > numbers.min()
        mean, deviation = numbers.mean(), numbers.std(correction=0)
        if differ and deviation < _LEAST_DEVIATION * mean.abs():
            raise ModelError(
                f"the training scores have a mean of {float(mean):.10g} and a standard deviation "
                f"of {float(deviation):.4g}, too little to tell them apart in single precision: "
                "subtract a number near the mean from all scores"
            )
        self.mean.copy_(mean)
        self.deviation.copy_(deviation if differ else torch.ones(()))


def output_layer(num_features: int, num_classes: int) -> nn.Linear:
    """The output layer: logits for several classes, or the score for one "class"."""
    if num_classes == 1:
        return ScoreOutput(num_features)
    return nn.Linear(num_features, num_classes)


def scores_of(outputs: torch.Tensor) -> torch.Tensor:
    """The scores from the outputs of a regression model, (num_units,).

    Args:
        outputs: (num_units, 1), the scores themselves; or (num_units, K), logits of the scores
            1, ..., K, see :func:`~graphsent.layers.expected_score`.
    """
    return outputs[:, 0] if outputs.shape[1] == 1 else expected_score(outputs)


def gold_scores(trees: Iterable[Any]) -> torch.Tensor:
    """The labels of all nodes of trees (or sentences) as numbers.

    Returns:
        (num_nodes,) float32, NaN where a label is not a finite number.
    """
    numbers = [score_of(label) for tree in trees for label in tree.labels]
    return torch.tensor(numbers, dtype=torch.float32, device="cpu")


def score_of(label: str) -> float:
    """The number that a label spells; NaN if it is none, or beyond float32."""
    number = decimal(label)
    return math.nan if number is None else number
