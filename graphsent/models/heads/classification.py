"""What models have in common that classify every node of a tree."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from graphsent.errors import ModelError
from graphsent.graphs import LABEL, root_nodes
from graphsent.layers import Dropout
from graphsent.models.arguments import check_classes, check_rates, check_sizes, class_names
from graphsent.models.base.inference import evaluating, map_batches
from graphsent.models.base.losses import regression_loss
from graphsent.models.base.model import Model
from graphsent.models.base.prediction import Prediction
from graphsent.models.batches.forms import as_trees
from graphsent.models.batches.shape import nodes_of_same_span
from graphsent.models.batches.trees import TreeBatch, is_labelled, tree_graph
from graphsent.models.embeddings.table import WordEmbedding
from graphsent.models.heads.scores import ScoreOutput, output_layer, score_labels
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

__all__ = ["TreeClassifier"]


class TreeClassifier(Model):
    r"""Base of models that turn each node of a tree into a vector, and that into a class.

    .. math::
        \hat p_t = \mathrm{softmax}(W^{(s)} h_t + b^{(s)})

    where :math:`h_t`, under dropout, is the row of node :math:`t` in :meth:`node_states`.

    With one class it is a model of regression: labels are numbers, the output is a number
    (:class:`~graphsent.models.heads.scores.ScoreOutput`), and training minimizes
    :func:`~graphsent.models.base.losses.regression_loss`.

    Args:
        vocab: The words the model knows; others share the vector of ``<unk>``.
        num_classes: Number of classes; 1 for regression.
        embedding_dim: Length of a word vector.
        num_features: Length of a node's vector.
        dropout: Probability with which an element of a node's vector is dropped before the output.
        embedding_dropout: The same for word vectors.
        sparse_embedding: Whether the gradient of the word table holds only the rows in use.
        label_names: Names of the classes; by default their numbers.

    Raises:
        ModelError: A size is not positive, a rate of dropout is none, or there is not one name for
            each class.
    """

    goals = ("classification", "regression")
    label_names: tuple[str, ...]
    both_ways: bool = False  # whether there is a pass from parents to children too

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        *,
        embedding_dim: int,
        num_features: int,
        dropout: float,
        embedding_dropout: float,
        sparse_embedding: bool,
        label_names: Sequence[str] | None,
    ) -> None:
        super().__init__(vocab)
        self.label_names = class_names(num_classes, label_names)
        check_sizes(embedding_dim=embedding_dim, num_features=num_features)
        check_rates(dropout=dropout, embedding_dropout=embedding_dropout)
        self.embedding = WordEmbedding(
            len(vocab), embedding_dim, dropout=embedding_dropout, sparse=sparse_embedding
        )
        self.dropout = Dropout(dropout)
        self.output = output_layer(num_features, num_classes)

    @property
    def goal(self) -> str:
        """``"classification"``, or ``"regression"`` with one class."""
        return "regression" if isinstance(self.output, ScoreOutput) else "classification"

    @abstractmethod
    def node_states(self, batch: TreeBatch) -> torch.Tensor:
        """The vector of each node, (num_nodes, num_features)."""

    def shape_tree(self, tree: Tree | DependencyTree) -> Tree | DependencyTree:
        """The tree as the model reads it: over the same words, with a node for each old span.

        Raises:
            ModelError: The model cannot read the tree.
        """
        return tree

    def init_embeddings(self, matrix: torch.Tensor | np.ndarray) -> None:
        """Starts from given word vectors.

        Args:
            matrix: (len(vocab), embedding_dim), row i for word i of the vocabulary.

        Raises:
            ModelError: The matrix has another shape.
        """
        self.embedding.init_vectors(matrix)

    def init_scores(self, examples: Iterable[Any]) -> None:
        """Takes over mean and deviation of the scores of training examples, for regression."""
        if isinstance(self.output, ScoreOutput):
            labels = score_labels(examples)
            self.output.fit(labels[is_labelled(labels)])

    def collate(self, trees: Iterable[Any]) -> TreeBatch:
        """The batch of some trees; fit for a ``DataLoader``.

        Labels that are decimal numbers are classes, or for regression any finite numbers scores;
        all others count as unlabelled.

        Args:
            trees: See :func:`~graphsent.models.batches.forms.as_trees`.

        Raises:
            ModelError: Something is no tree, or no tree for this model; or a label is no class.
        """
        shaped = [self.shape_tree(tree) for tree in self._read(trees)]
        batch = self._batch(shaped)
        if self.goal == "regression":
            return batch._replace(labels=score_labels(shaped))
        check_classes(batch.labels, len(self.label_names), "node")
        return batch

    def _read(self, inputs: Iterable[Any]) -> list[Any]:
        return as_trees(inputs, self.parse if self.reads_text else None)

    def _batch(self, trees: Sequence[Tree] | Sequence[DependencyTree]) -> TreeBatch:
        graph = tree_graph(trees, self.vocab, both_ways=self.both_ways, context=self.context(trees))
        return TreeBatch(graph, graph.ndata[LABEL], root_nodes(graph))

    def forward(self, batch: TreeBatch) -> torch.Tensor:
        """The logits of every node, (num_nodes, num_classes); or its score."""
        return self.output(self.dropout(self.node_states(batch)))

    def loss(self, outputs: torch.Tensor, batch: TreeBatch, nodes: str = "all") -> torch.Tensor:
        """What training minimizes, by the model's goal; arguments as in :meth:`Model.loss`."""
        if isinstance(self.output, ScoreOutput):
            return regression_loss(outputs, batch, nodes, deviation=self.output.deviation)
        return super().loss(outputs, batch, nodes)

    def predict(self, trees: Iterable[Any], batch_size: int = 64) -> list[Prediction] | np.ndarray:
        """Classifies every node of some trees, or scores the trees; labels are ignored.

        Args:
            trees: See :func:`~graphsent.models.batches.forms.as_trees`.
            batch_size: How many trees are computed at once.

        Returns:
            A prediction for each tree, in the order given, about the nodes of that very tree, or of
            the one that :meth:`as_learned` makes of it. A model of regression gives the score of
            each tree, (num_trees,) float32.

        Raises:
            ModelError: Something is no tree, or no tree for this model.
        """
        trees = self.as_learned(self._read(trees))
        with evaluating(self) as model:
            if self.goal == "regression":
                scores = map_batches(trees, _sizes(trees), batch_size, model._root_scores)
                return np.array(scores, np.float32)
            rows = map_batches(trees, _sizes(trees), batch_size, model._probabilities)
        return [
            Prediction(tree, probabilities, self.label_names)
            for tree, probabilities in zip(trees, rows, strict=True)
        ]

    def encode(self, trees: Iterable[Any], batch_size: int = 64) -> np.ndarray:
        """The vector of the root of each tree, (num_trees, num_features) float32.

        Arguments, order and errors as in :meth:`predict`.
        """
        trees = self.as_learned(self._read(trees))
        with evaluating(self) as model:
            rows = map_batches(trees, _sizes(trees), batch_size, model._root_states)
        return np.stack(rows) if rows else np.zeros((0, self.output.in_features), np.float32)

    def edge_weights(self, trees: Iterable[Any], batch_size: int = 64) -> list[np.ndarray]:
        """What the model weighs the edges of some trees by, for pictures.

        Args:
            trees: See :func:`~graphsent.models.batches.forms.as_trees`.
            batch_size: How many trees are computed at once.

        Returns:
            For each tree a number for each edge of ``model.shape_tree(tree)``, that is for each
            node but the root, in node order. What it means is said by each model.

        Raises:
            ModelError: The model has no such weights, or something is no tree for it.
        """
        raise ModelError(f"the model {self.name!r} has no weights of edges")

    def _probabilities(self, trees: list[Any]) -> list[np.ndarray]:
        shaped = [self.shape_tree(tree) for tree in trees]
        batch = self._batch(shaped).to(self.output.weight.device)
        probabilities = torch.softmax(self(batch).float(), dim=1).cpu().numpy()
        parts = np.split(probabilities, np.cumsum(_sizes(shaped))[:-1])
        return [
            part if tree is read else part[nodes_of_same_span(tree, read)]
            for tree, read, part in zip(trees, shaped, parts, strict=True)
        ]

    def _root_scores(self, trees: list[Any]) -> np.ndarray:
        batch = self._batch([self.shape_tree(tree) for tree in trees])
        batch = batch.to(self.output.weight.device)
        return self(batch)[batch.roots, 0].float().cpu().numpy()

    def _root_states(self, trees: list[Any]) -> np.ndarray:
        batch = self._batch([self.shape_tree(tree) for tree in trees])
        batch = batch.to(self.output.weight.device)
        return self.node_states(batch)[batch.roots].float().cpu().numpy()


def _sizes(trees: Sequence[Tree] | Sequence[DependencyTree]) -> list[int]:
    return [tree.num_nodes for tree in trees]
