"""AP-DCNN: convolution with attention pooling guided by a Tree-LSTM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphsent._names import check_choice
from graphsent.errors import ModelError
from graphsent.models.arguments import check_limits, check_rates, check_sizes
from graphsent.models.base.inference import evaluating, map_batches
from graphsent.models.batches.context import context_of
from graphsent.models.batches.guided import GuidedBatch, guided_batch
from graphsent.models.batches.units import examples_of
from graphsent.models.encoders.apdcnn import APDCNNEncoder
from graphsent.models.encoders.filters import Filter
from graphsent.models.heads.classification import TreeClassifier, limit_row_norms
from graphsent.trees import Tree
from graphsent.vocabulary import Vocabulary

__all__ = ["APDCNN"]

_FUSIONS = ("joint", "late")


class APDCNN(TreeClassifier):
    r"""Parallel DCNNs whose outputs are pooled by attention, guided by a binary Tree-LSTM.

    *Tree-LSTM Guided Attention Pooling of DCNN for Semantic Sentence Modeling* (Chen et al.):

    .. math::
        \alpha_t = \mathrm{softmax}_t\bigl(\cos(c_t, \tilde s)\bigr), \qquad
        s = \sum_t \alpha_t c_t, \qquad
        \hat p = \mathrm{softmax}(W_s [s; \tilde s] + b)

    where :math:`\tilde s` is the state of a constituency Tree-LSTM (Tai et al. 2015) at the node
    and :math:`c_t` are the positions of the last convolution over the words below it
    (:class:`~graphsent.models.encoders.guided_stack.GuidedStack`). Several tuples of widths give
    several stacks, whose vectors s are concatenated. Dropout is applied to :math:`[s; \tilde s]`.
    Each node is classified as if its words and its subtree were the whole sentence.

    The paper's equation 12 trains :math:`W_s` on s and applies it to both vectors. Here both are
    used in training too by default; see ``keep_tree`` and ``fusion`` for other readings.

    Args:
        vocab: The vocabulary; unknown words share the vector of ``<unk>``.
        num_classes: Number of classes.
        embedding_dim: Size of the word vectors.
        hidden: Size of the convolution outputs :math:`c_t` and of the Tree-LSTM state.
        fusion: How convolution and Tree-LSTM are combined: ``"joint"``, one output layer over both
            with one loss; or ``"late"``, a loss per part, with the logits added at test time.
        keep_tree: Probability that the Tree-LSTM state is used in a training step, per unit. 0 is
            the paper's equation taken literally: the state is used at test time only, with weights
            that were never trained.
        max_norm: Upper bound on the norm of each class's output weights, enforced after each step;
            0 disables it.
        phrases: Whether labelled phrases are training examples too, or only whole sentences.
        dropout: Dropout probability of the features before the output layer.
        **options: Options of :class:`~graphsent.models.encoders.apdcnn.APDCNNEncoder` and of
            :class:`~graphsent.models.heads.classification.TreeClassifier`.

    Raises:
        ModelError: A choice is unknown, or choices are incompatible.
    """

    name = "apdcnn"
    encoder: APDCNNEncoder
    encoder_class = APDCNNEncoder
    training_defaults: Mapping[str, Any] = {
        "batch_size": 50,
        "optimizer": "adadelta",
        "lr": 1.0,
        "embedding_optimizer": "sgd",
        "embedding_lr": 0.1,
        "weight_decay": 1e-4,
    }

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        embedding_dim: int = 300,
        hidden: int = 100,
        *,
        fusion: str = "joint",
        keep_tree: float = 1.0,
        max_norm: float = 3.0,
        phrases: bool = True,
        dropout: float = 0.5,
        **options: Any,
    ) -> None:
        check_sizes(embedding_dim=embedding_dim)
        encoder = APDCNNEncoder(embedding_dim, hidden, **self._encoder_options(options))
        _check_choices(encoder.branches, fusion, keep_tree)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=encoder.num_features,
            dropout=dropout,
            **options,
        )
        if fusion == "late" and self.goal == "regression":
            raise ModelError("fusion='late' adds logits: expected at least 2 classes, got 1")
        check_limits(max_norm=max_norm)
        self.phrases = phrases
        self.fusion = fusion
        self.keep_tree = keep_tree
        self.max_norm = max_norm
        self.encoder = encoder

    def collate(self, trees: Iterable[Any]) -> GuidedBatch:
        """The batch of trees, with their labelled phrases unless ``phrases`` is False.

        Arguments and errors as in :meth:`Classifier.collate`.
        """
        return examples_of(super().collate(trees), phrases=self.phrases)

    def _batch(self, trees: Sequence[Tree]) -> GuidedBatch:
        return guided_batch(trees, self.vocab, self.context(trees))

    def node_states(self, batch: GuidedBatch) -> Tensor:
        """The concatenated vectors of each unit, (num_units, num_features)."""
        rows, words = self._rows(batch)
        return self.encoder(batch, rows, words, engine=self.engine)

    def forward(self, batch: GuidedBatch) -> Tensor:
        """The logits of every unit, (num_units, num_classes).

        With late fusion in training mode, those of each part, (2, num_units, num_classes).
        """
        states = self.dropout(self.node_states(batch))
        if self.training and self.encoder.branches == "both":
            convolved, tree = states.tensor_split([self.encoder.num_convolved], 1)
            if self.fusion == "late":
                return self._logits_of_parts(convolved, tree)
            if self.keep_tree < 1:
                kept = torch.rand(len(tree), 1, device=tree.device) < self.keep_tree
                states = torch.cat((convolved, tree * kept), 1)
        return self.output(states)

    def loss(self, outputs: Tensor, batch: GuidedBatch, nodes: str = "all") -> Tensor:
        """As :meth:`Classifier.loss`; with late fusion the sum of both parts' losses."""
        if outputs.dim() == 2:
            return super().loss(outputs, batch, nodes)
        convolved, tree = outputs
        return super().loss(convolved, batch, nodes) + super().loss(tree, batch, nodes)

    def after_step(self) -> None:
        """Limits the norm of the output weights."""
        limit_row_norms(self.output.weight, self.max_norm)

    def word_vectors(self, tokens: Tensor) -> Tensor:
        """The input vectors of words, (num_words, embedding_dim), by vocabulary indices."""
        return self.embedding(tokens)

    def first_filters(self) -> list[Filter]:
        """The first-layer filters of all stacks; empty with ``branches="tree"``."""
        return [
            each._replace(name=f"stack {number}, {each.name}")
            for number, stack in enumerate(self.encoder.stacks, start=1)
            for each in stack.first_filters()
        ]

    def position_weights(
        self, trees: Iterable[Any], batch_size: int = 64
    ) -> list[list[np.ndarray]]:
        """The attention weights of whole sentences.

        Args:
            trees: See :func:`~graphsent.models.batches.forms.as_trees`.
            batch_size: Number of trees per batch.

        Returns:
            Per tree and stack, the weights of the positions of the last layer, which sum to one.
            With ``pool="none"`` position t covers the ``1 + sum(width - 1)`` words up to t; with
            ``"kmax"`` it holds the t-th selected value of each channel, which may come from
            anywhere.

        Raises:
            ModelError: The model has only one branch, or an input is not a tree.
        """
        if self.encoder.branches != "both":
            raise ModelError(
                f"there is no attention: the model has branches={self.encoder.branches!r}"
            )
        trees = self.as_learned(self._read(trees))
        with evaluating(self) as model:
            return map_batches(trees, [*map(self._size, trees)], batch_size, model._weights)

    def _weights(self, trees: list[Any]) -> list[list[np.ndarray]]:
        batch = self._sentences(trees)
        rows, words = self._rows(batch)
        of_stacks = self.encoder.position_weights(batch, rows, words, engine=self.engine)
        return [list(of_tree) for of_tree in zip(*of_stacks, strict=True)]

    def _rows(self, batch: GuidedBatch) -> tuple[Tensor, Tensor | None]:
        """The word vectors, and the row of each word; None if they are in order."""
        tokens, words = self.embedding.distinct(batch.tokens)
        return self.embedding(tokens, context_of(batch.graph)), words

    def _logits_of_parts(self, convolved: Tensor, tree: Tensor) -> Tensor:
        """The logits of each part of the weights, with half the bias each, so that they add up."""
        weights = self.output.weight.tensor_split([self.encoder.num_convolved], 1)
        parts = zip((convolved, tree), weights, strict=True)
        return torch.stack([each @ weight.T + self.output.bias / 2 for each, weight in parts])


def _check_choices(branches: str, fusion: str, keep_tree: float) -> None:
    check_choice("fusion", fusion, _FUSIONS, ModelError)
    check_rates(keep_tree=keep_tree)
    if branches != "both" and (fusion != "joint" or keep_tree != 1):
        raise ModelError(f"fusion and keep_tree need branches='both', got {branches!r}")
    if fusion == "late" and keep_tree != 1:
        raise ModelError(f"keep_tree: expected 1 with fusion='late', got {keep_tree}")
