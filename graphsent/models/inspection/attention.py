"""The attention weights of AP-DCNN."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphsent.errors import ModelError
from graphsent.models.apdcnn import APDCNN
from graphsent.models.batches.forms import as_trees
from graphsent.models.inspection.table import Table

__all__ = ["SentenceAttention", "attention_table", "sentence_attention"]


class SentenceAttention(NamedTuple):
    """The attention weights over a sentence.

    Attributes:
        words: The words of the sentence.
        weights: Per stack, the weights of the positions, (positions,), which sum to one.
        spans: Per stack, the half-open range of words that each position covers, (positions, 2)
            int64; None if pooling between layers mixes values of different words in one position.
    """

    words: tuple[str, ...]
    weights: tuple[np.ndarray, ...]
    spans: tuple[np.ndarray | None, ...]


def sentence_attention(model: Any, trees: Iterable[Any]) -> list[SentenceAttention]:
    r"""The attention weights of AP-DCNN over the positions of its last convolutions.

    Chen et al., equation 10: :math:`\alpha_t = \mathrm{softmax}_t(\cos(c_t, \tilde s))`, with the
    Tree-LSTM's state at the root as guide. Without pooling between layers (``pool="none"``, or one
    layer) position t covers word t and the ``sum(width - 1)`` words before it. With pooling, as in
    the paper, position t holds the t-th selected value of each channel, which may come from
    anywhere.

    Args:
        model: An ``APDCNN`` with both branches.
        trees: See :func:`~graphsent.models.batches.forms.as_trees`.

    Returns:
        The weights over each sentence, in the order given.

    Raises:
        ModelError: The model has no attention over positions, or an input is not a tree.
    """
    if not isinstance(model, APDCNN):
        name = getattr(model, "name", type(model).__name__)
        raise ModelError(f"the model {name!r} has no attention over positions: expected 'apdcnn'")
    trees = as_trees(trees, model.parse_if_able, model.label_names)
    result = []
    for tree, weights in zip(trees, model.position_weights(trees), strict=True):
        spans = [
            _spans(stack.widths, len(tree.words))
            if len(stack.widths) == 1 or model.config["pool"] == "none"
            else None
            for stack in model.encoder.stacks
        ]
        result.append(SentenceAttention(tuple(tree.words), tuple(weights), tuple(spans)))
    return result


def attention_table(attention: SentenceAttention) -> Table:
    """A table with one row per position: stack and position from 1, weight, and words covered."""
    rows = []
    for stack, (weights, spans) in enumerate(
        zip(attention.weights, attention.spans, strict=True), start=1
    ):
        for position, weight in enumerate(weights.tolist()):
            begin, end = (0, 0) if spans is None else spans[position]
            words = " ".join(attention.words[begin:end])
            rows.append((stack, position + 1, weight, words))
    return Table(("stack", "position", "weight", "words"), rows)


def _spans(widths: Sequence[int], num_words: int) -> np.ndarray:
    reach = sum(width - 1 for width in widths)
    position = np.arange(num_words + reach)
    return np.stack((np.maximum(position - reach, 0), np.minimum(position + 1, num_words)), 1)
