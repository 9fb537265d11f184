"""Convolution whose pooling a Tree-LSTM guides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphsent._names import unknown
from graphsent.errors import ModelError
from graphsent.models.arguments import check_rates
from graphsent.models.base.inference import evaluating, map_batches
from graphsent.models.batches.guided import GuidedBatch, guided_batch
from graphsent.models.batches.trees import chosen_units, context_of
from graphsent.models.encoders.apdcnn import APDCNNEncoder
from graphsent.models.encoders.filters import Filter
from graphsent.models.heads.classification import TreeClassifier, limit_row_norms
from graphsent.trees import Tree
from graphsent.vocabulary import Vocabulary

__all__ = ["APDCNN"]

_FUSIONS = ("joint", "late")


class APDCNN(TreeClassifier):
    r"""DCNNs side by side, pooled by attention under a binary Tree-LSTM.

    *Tree-LSTM Guided Attention Pooling of DCNN for Semantic Sentence Modeling* (Chen et al.):

    .. math::
        \alpha_t = \mathrm{softmax}_t\bigl(\cos(c_t, \tilde s)\bigr), \qquad
        s = \sum_t \alpha_t c_t, \qquad
        \hat p = \mathrm{softmax}(W_s [s; \tilde s] + b)

    where :math:`\tilde s` is the state of a constituency Tree-LSTM (Tai et al. 2015) at the node
    and :math:`c_t` are the positions of the last convolution over the words below it
    (:class:`~graphsent.models.encoders.guided_stack.GuidedStack`). With several tuples of widths
    there are as many stacks, each with an s of its own, side by side. Dropout is on
    :math:`[s; \tilde s]`. Each node is classified as if its words and its subtree were the
    whole sentence.

    The paper's equation 12 trains :math:`W_s` on s and applies it to both. By default here both
    vectors are there in training too; see ``keep_tree`` and ``fusion`` for other readings.

    Args:
        vocab: The words the model knows.
        num_classes: Number of classes.
        embedding_dim: Length of a word vector.
        hidden: Length of :math:`c_t` and of :math:`\tilde s`.
        fusion: ``"joint"``, one loss; or ``"late"``, one loss for each of the two parts of
            :math:`W_s`, whose outputs are added at test.
        keep_tree: Probability with which :math:`\tilde s` enters :math:`W_s` in training; 0 is the
            paper's equation to the letter, with which those columns learn nothing.
        max_norm: Bound of the norm of each class's output weights, kept after each step; 0 for
            none.
        phrases: Whether labelled phrases are examples; if not, only sentences are.
        dropout: Dropout on :math:`[s; \tilde s]`.
        **options: Those of :class:`~graphsent.models.encoders.apdcnn.APDCNNEncoder` and of
            :class:`~graphsent.models.heads.classification.TreeClassifier`.

    Raises:
        ModelError: A choice does not exist, or choices exclude each other.
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
            raise ModelError("fusion='late' adds up logits: it is for two classes or more")
        self.phrases = phrases
        self.fusion = fusion
        self.keep_tree = keep_tree
        self.max_norm = max_norm
        self.encoder = encoder

    def collate(self, trees: Iterable[Any]) -> GuidedBatch:
        """The sentences of some trees, and their labelled phrases unless ``phrases`` is False.

        Arguments and errors as in :meth:`Classifier.collate`.
        """
        batch = super().collate(trees)
        return batch.of_units(chosen_units(batch.labels, batch.roots, phrases=self.phrases))

    def _batch(self, trees: Sequence[Tree]) -> GuidedBatch:
        return guided_batch(trees, self.vocab, self.context(trees))

    def node_states(self, batch: GuidedBatch) -> Tensor:
        """The vectors of each unit side by side, (num_units, num_features)."""
        rows, words = self._rows(batch)
        return self.encoder(batch, rows, words, engine=self.engine)

    def forward(self, batch: GuidedBatch) -> Tensor:
        """The logits of every unit, (num_units, num_classes).

        In training with late fusion, those of each part, (2, num_units, num_classes).
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
        """As in :meth:`Classifier.loss`; with late fusion the sum of two."""
        if outputs.dim() == 2:
            return super().loss(outputs, batch, nodes)
        convolved, tree = outputs
        return super().loss(convolved, batch, nodes) + super().loss(tree, batch, nodes)

    def after_step(self) -> None:
        """Bounds the norm of the output weights."""
        limit_row_norms(self.output.weight, self.max_norm)

    def word_vectors(self, tokens: Tensor) -> Tensor:
        """What stands for words, (num_words, embedding_dim), by vocabulary indices."""
        return self.embedding(tokens)

    def first_filters(self) -> list[Filter]:
        """The filters over word vectors of all stacks; none with ``branches="tree"``."""
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
            batch_size: How many trees are computed at once.

        Returns:
            For each tree, for each stack, the weights of the positions of its last layer, which sum
            to one. With ``pool="none"`` position t covers the words up to t, as many as
            ``1 + sum(width - 1)``; with ``"kmax"`` it holds, for each channel, the t-th of the kept
            values, wherever these come from.

        Raises:
            ModelError: The model has one branch alone, or something is no tree.
        """
        if self.encoder.branches != "both":
            raise ModelError(
                f"there is no attention: the model has branches={self.encoder.branches!r}"
            )
        trees = self._read(trees)
        with evaluating(self) as model:
            return map_batches(trees, [*map(self._size, trees)], batch_size, model._weights)

    def _weights(self, trees: list[Any]) -> list[list[np.ndarray]]:
        batch = self._batch(self._shaped(trees)).sentences().to(self._device)
        rows, words = self._rows(batch)
        of_stacks = self.encoder.position_weights(batch, rows, words, engine=self.engine)
        return [list(of_tree) for of_tree in zip(*of_stacks, strict=True)]

    def _rows(self, batch: GuidedBatch) -> tuple[Tensor, Tensor | None]:
        """The vectors of words, and which is that of each word; None: they are in order."""
        tokens, words = self.embedding.distinct(batch.tokens)
        return self.embedding(tokens, context_of(batch.graph)), words

    def _logits_of_parts(self, convolved: Tensor, tree: Tensor) -> Tensor:
        """What each part of the weights gives, with half of the bias, so that both add up."""
        weights = self.output.weight.tensor_split([self.encoder.num_convolved], 1)
        parts = zip((convolved, tree), weights, strict=True)
        return torch.stack([each @ weight.T + self.output.bias / 2 for each, weight in parts])


def _check_choices(branches: str, fusion: str, keep_tree: float) -> None:
    if fusion not in _FUSIONS:
        raise ModelError(unknown("fusion", fusion, _FUSIONS))
    check_rates(keep_tree=keep_tree)
    if branches != "both" and (fusion != "joint" or keep_tree != 1):
        raise ModelError(f"fusion and keep_tree are choices of branches='both', not {branches!r}")
    if fusion == "late" and keep_tree != 1:
        raise ModelError("fusion='late' has a loss for the tree: keep_tree must be 1")
