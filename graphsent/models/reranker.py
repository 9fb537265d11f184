"""Reranking of the parses in n-best lists."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from graphsent._names import check_choice
from graphsent.errors import ModelError
from graphsent.models.arguments import check_sizes
from graphsent.models.base.inference import evaluating, map_batches
from graphsent.models.base.pair_prediction import RankedParses
from graphsent.models.base.reading import ReadsTrees
from graphsent.models.batches.parses import (
    RerankBatch,
    as_lists,
    counts_of,
    parse_batch,
    trees_of,
)
from graphsent.models.batches.shape import with_joined_chains
from graphsent.models.encoders.bitreelstm import BiTreeLSTMEncoder
from graphsent.trees import ParseList
from graphsent.vocabulary import Vocabulary

__all__ = ["ParseReranker", "expected_errors", "ranking_loss"]

_OBJECTIVES = ("margin", "risk")
_MARGIN = 0.1  # the paper gives none; that of the CVG parser (Socher et al. 2013)
_WEIGHTS = (0.0, *(2.0**power for power in range(-4, 9)))  # of the parser's score


class ParseReranker(ReadsTrees):
    r"""Reranker that scores parses node by node (Teng and Zhang 2017, on syntactic parsing).

    A lexicalized Tree-LSTM runs over each candidate, with unary chains collapsed and then
    binarized. A node A with children B and C has the score

    .. math::
        s(A \to B\, C) = \log \mathrm{softmax}(\mathrm{ReLU}(W_L n_B + W_R n_C + W_H r_A + b))_A

    with learned embeddings n of the children's labels and the vector :math:`r_A` of
    :class:`~graphsent.models.encoders.bitreelstm.BiTreeLSTMEncoder`, in the paper's experiment the
    bottom-up state :math:`h_A`. The score f of a tree is the sum over its nodes with children, plus
    :math:`\alpha` times the parser's own score. Training minimizes :func:`ranking_loss` with
    :math:`\alpha = 0` or, with ``objective="risk"``, :func:`expected_errors` with
    :math:`\alpha = 1`; :math:`\alpha` is then tuned on the dev split.

    Args:
        vocab: The vocabulary; unknown words share the vector of ``<unk>``.
        label_names: The known node labels, see :meth:`labels_of`; unknown labels share one
            embedding.
        embedding_dim: Size of the word vectors.
        hidden: Size of the hidden state h and the cell state c.
        label_dim: Size of the label embeddings.
        directions: Directions of the Tree-LSTM passes: ``"up"``, as in the paper, ``"down"`` or
            ``"both"``.
        objective: ``"margin"``, the loss of the paper, or ``"risk"``, the expected number of wrong
            brackets.
        margin: With ``objective="margin"``, the margin :math:`\kappa` per wrong bracket by which
            the gold tree must outscore a candidate.
        embedding_dropout: Dropout probability of the word vectors.
        **options: Options of the encoder, and ``sparse_embedding`` as in
            :class:`~graphsent.models.heads.classification.Classifier`.

    Raises:
        ModelError: A size is not positive, ``objective`` is unknown, or ``margin`` is negative or
            set with ``objective="risk"``.
    """

    name = "parse-reranker"
    examples = "lists"
    goals = ("ranking",)
    training_defaults: Mapping[str, Any] = {"optimizer": "adam", "lr": 0.001, "weight_decay": 1e-4}
    goal = "ranking"
    encoder_class = BiTreeLSTMEncoder
    base_weight: torch.Tensor

    def __init__(
        self,
        vocab: Vocabulary,
        label_names: tuple[str, ...],
        embedding_dim: int = 300,
        hidden: int = 150,
        label_dim: int = 50,
        *,
        directions: str = "up",
        objective: str = "margin",
        margin: float = _MARGIN,
        embedding_dropout: float = 0.5,
        **options: Any,
    ) -> None:
        check_sizes(hidden=hidden, label_dim=label_dim)
        of_encoder = self._encoder_options(options)
        super().__init__(
            vocab, embedding_dim, hidden, embedding_dropout=embedding_dropout, **options
        )
        check_choice("objective", objective, _OBJECTIVES, ModelError)
        if objective != "margin" and margin != _MARGIN:
            raise ModelError(f"margin needs objective='margin', got {objective!r}")
        if not 0 <= margin < math.inf:
            raise ModelError(f"margin: expected a non-negative number, got {margin}")
        self.label_names = tuple(label_names)
        self.objective, self.margin = objective, margin
        self._index = {label: place for place, label in enumerate(self.label_names, start=1)}
        num_labels = len(self.label_names) + 1
        self.encoder = BiTreeLSTMEncoder(
            embedding_dim, hidden, with_joined_chains, directions=directions, **of_encoder
        )
        self.num_features = self.encoder.num_features
        self.label_vectors = nn.Embedding(num_labels, label_dim)
        self.of_children = nn.Linear(2 * label_dim, num_labels)
        self.of_state = nn.Linear(self.num_features, num_labels, bias=False)
        self.register_buffer("base_weight", torch.zeros(()))

    @staticmethod
    def labels_of(lists: Iterable[ParseList]) -> tuple[str, ...]:
        """The node labels in all trees of n-best lists as the model reads them, sorted."""
        trees = (tree for each in lists for tree in trees_of(each))
        return tuple(sorted({label for tree in trees for label in with_joined_chains(tree).labels}))

    def collate(self, lists: Iterable[ParseList]) -> RerankBatch:
        """Builds the batch of n-best lists; usable as ``collate_fn`` of a ``DataLoader``.

        Raises:
            ModelError: An input is not an n-best list.
        """
        lists = as_lists(lists)
        trees = self._shaped(tree for each in lists for tree in trees_of(each))
        return parse_batch(
            lists,
            trees,
            self.vocab,
            self._index,
            both_ways=self.encoder.both_ways,
            context=self.context(trees),
        )

    def forward(self, batch: RerankBatch) -> torch.Tensor:
        """The score of every tree, (num_trees,).

        In training mode, the weight of the parser's score is that of the objective, and gold trees
        are scored too; in evaluation mode their score is -inf.
        """
        words = self.embedding.of_nodes(batch.graph)
        states = self.encoder(batch.graph, words, engine=self.engine)[batch.inner]
        children = self.label_vectors(batch.children).flatten(1)
        outputs = torch.relu(self.of_children(children) + self.of_state(states))
        of_nodes = torch.log_softmax(outputs, 1).gather(1, batch.labels[:, None])[:, 0]
        scores = of_nodes.new_zeros(len(batch.base)).index_add(0, batch.trees, of_nodes)
        weight = float(self.objective == "risk") if self.training else self.base_weight
        scores = scores + weight * batch.base.nan_to_num(neginf=0.0)
        return scores if self.training else torch.where(batch.base.isinf(), batch.base, scores)

    def loss(self, outputs: torch.Tensor, batch: RerankBatch, nodes: str = "all") -> torch.Tensor:
        """The loss of the model's objective; ``nodes`` has no effect."""
        if self.objective == "risk":
            return expected_errors(outputs, batch)
        return ranking_loss(outputs, batch, self.margin)

    def choose_on_dev(self, examples: Sequence[ParseList]) -> None:
        """Sets the weight of the parser's score to the one with the highest F1 of chosen trees.

        Args:
            examples: The dev split.
        """
        self.base_weight.zero_()
        ranked = self.predict(examples)
        known = [each for each in ranked if each.parses.gold is not None]
        counts = [np.array(counts_of(each.parses)[:-1]) for each in known]
        base = [np.array([c.score for c in each.parses.candidates]) for each in known]
        best = 0.0
        for weight in _WEIGHTS:
            rows = [
                row[(each.scores + weight * scores).argmax()]
                for each, row, scores in zip(known, counts, base, strict=True)
            ]
            matched, predicted, gold = np.sum(rows, axis=0) if rows else (0, 0, 0)
            f1 = 2 * matched / max(1, predicted + gold)
            if f1 > best:
                best = f1
                self.base_weight.fill_(weight)

    def predict(self, lists: Iterable[ParseList], batch_size: int = 16) -> list[RankedParses]:
        """Chooses a parse from each n-best list; gold trees are ignored.

        Args:
            lists: N-best lists, see :func:`~graphsent.trees.read_nbest`.
            batch_size: Number of lists per batch.

        Raises:
            ModelError: An input is not an n-best list.
        """
        lists = as_lists(lists)
        sizes = [sum(each.tree.num_nodes for each in every.candidates) for every in lists]
        with evaluating(self) as model:
            rows = map_batches(lists, sizes, batch_size, model._list_scores)
        return [RankedParses(each, scores) for each, scores in zip(lists, rows, strict=True)]

    def _list_scores(self, lists: list[ParseList]) -> list[np.ndarray]:
        batch = self.collate([each._replace(gold=None) for each in lists])
        scores = self(batch.to(self._device)).float().cpu().numpy()
        return [scores[begin:end] for begin, end in batch.candidates]


def ranking_loss(scores: torch.Tensor, batch: RerankBatch, margin: float) -> torch.Tensor:
    r"""The structured max-margin loss of n-best lists, averaged over the lists.

    .. math::
        r = \max\bigl(0,\; \max_{\hat y} (f(\hat y) + \Delta(y, \hat y)) - f(y)\bigr), \qquad
        \Delta(y, \hat y) = \kappa\, |\{\text{brackets of } \hat y \text{ that } y \text{ lacks}\}|

    Brackets are those of :func:`~graphsent.trees.bracket_counts`. Lists without a gold tree
    contribute 0.

    Args:
        scores: f of every tree, (num_trees,).
        batch: The n-best lists.
        margin: :math:`\kappa`.
    """
    wrong = batch.counts[:, 1] - batch.counts[:, 0]
    augmented = scores + margin * wrong
    losses = [
        torch.relu(augmented[begin:end].max() - scores[gold])
        for (begin, end), gold in zip(batch.candidates, batch.gold.tolist(), strict=True)
        if gold >= 0
    ]
    return torch.stack(losses).sum() / len(batch.roots) if losses else scores.sum() * 0.0


def expected_errors(scores: torch.Tensor, batch: RerankBatch) -> torch.Tensor:
    r"""The expected number of wrong brackets of n-best lists, averaged over the lists.

    .. math::
        r = \sum_{\hat y} \mathrm{softmax}(f)_{\hat y}\, E(y, \hat y)

    where :math:`E` is the number of brackets that only one of :math:`y` and :math:`\hat y` has: the
    risk of a log-linear model (`Smith and Eisner 2006 <https://aclanthology.org/P06-2101>`_). Gold
    trees are not candidates, and lists without a gold tree contribute 0.

    Args:
        scores: f of every tree, (num_trees,).
        batch: The n-best lists.
    """
    errors = batch.counts[:, 1] + batch.counts[:, 2] - 2 * batch.counts[:, 0]
    risks = [
        torch.softmax(scores[begin:end], 0) @ errors[begin:end].to(scores.dtype)
        for begin, end in batch.candidates
    ]
    return torch.stack(risks).mean() if risks else scores.sum() * 0.0
