"""Models that classify or score sentences and phrases by their vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from graphsent.graphs.symbols import label_indices
from graphsent.layers import Dropout
from graphsent.models.arguments import check_classes, check_rates, class_names
from graphsent.models.base.inference import evaluating, map_batches
from graphsent.models.base.losses import regression_loss
from graphsent.models.base.model import Model
from graphsent.models.base.prediction import Prediction
from graphsent.models.base.reading import ReadsTrees, ReadsWords
from graphsent.models.batches.shape import nodes_of_same_span
from graphsent.models.batches.trees import tree_batches
from graphsent.models.batches.units import examples_of
from graphsent.models.batches.words import SequenceBatch
from graphsent.models.encoders.filters import Filter, FilterEncoder
from graphsent.models.heads.scores import ScoreOutput, gold_scores, output_layer, score_of
from graphsent.sentences import Phrase
from graphsent.vocabulary import Vocabulary

__all__ = [
    "Classifier",
    "ConvolutionClassifier",
    "SentenceClassifier",
    "TreeClassifier",
    "limit_row_norms",
]


class Classifier(Model):
    r"""Base class of models that classify each node of a tree, or each sentence, by its vector.

    .. math::
        \hat p_t = \mathrm{softmax}(W^{(s)} h_t + b^{(s)})

    where :math:`h_t`, under dropout, is the row of unit :math:`t` in ``node_states(batch)``.

    With one class it is a regression model: labels are numbers, the output is a number
    (:class:`~graphsent.models.heads.scores.ScoreOutput`), and training minimizes
    :func:`~graphsent.models.regression_loss`.

    Args:
        vocab: The vocabulary; unknown words share the vector of ``<unk>``.
        num_classes: Number of classes; 1 for regression.
        embedding_dim: Size of the word vectors.
        num_features: Size of a unit's vector.
        dropout: Dropout probability of the features before the output layer.
        label_names: Names of the classes; by default their numbers.
        ordered_classes: Whether the classes are ordered from low to high; sets the colours of
            pictures.
        **options: ``embedding_dropout``, the dropout probability of the word vectors, and
            ``sparse_embedding``, whether the gradient of the word table is sparse.

    Raises:
        ModelError: A size is not positive, a dropout rate is not a probability, or there is not
            one name per class.
    """

    goals = ("classification", "regression")
    ordered_classes: bool

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        *,
        embedding_dim: int,
        num_features: int,
        dropout: float = 0.0,
        label_names: Sequence[str] | None = None,
        ordered_classes: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(vocab, embedding_dim, num_features, **options)
        self.label_names = class_names(num_classes, label_names)
        self.ordered_classes = ordered_classes
        check_rates(dropout=dropout)
        self.dropout = Dropout(dropout)
        self.output = output_layer(num_features, num_classes)

    @property
    def goal(self) -> str:
        """``"classification"``, or ``"regression"`` with one class."""
        return "regression" if isinstance(self.output, ScoreOutput) else "classification"

    def init_scores(self, examples: Iterable[Any]) -> None:
        """Sets mean and deviation of a regression output from the scores of training examples."""
        if isinstance(self.output, ScoreOutput):
            scores = (score_of(label) for each in examples for label in each.labels)
            self.output.fit([score for score in scores if math.isfinite(score)])

    def collate(self, trees: Iterable[Any]) -> Any:
        """Builds the batch of trees or sentences; usable as ``collate_fn`` of a ``DataLoader``.

        Decimal labels are classes; for regression, finite numbers are scores. All other labels mean
        unlabelled.

        Args:
            trees: See :func:`~graphsent.models.batches.forms.as_trees`, or
                :func:`~graphsent.models.batches.forms.as_sentences` for a model that needs no
                trees.

        Raises:
            ModelError: An input is not a tree or sentence, or not a tree that this model can read;
                or a label is not a class of the model.
        """
        shaped = self._shaped(self._read(trees))
        return self._labelled(self._batch(shaped), shaped)

    def _labelled(self, batch: Any, shaped: Iterable[Any]) -> Any:
        """The batch of trees, with the labels for the model's goal."""
        if self.goal == "regression":
            return batch._replace(gold=gold_scores(shaped))
        check_classes(batch.gold, len(self.label_names), "node")
        return batch

    def forward(self, batch: Any) -> torch.Tensor:
        """The logits of every unit, (num_units, num_classes), or its score, (num_units, 1)."""
        return self.output(self.dropout(self.node_states(batch)))

    def loss(self, outputs: torch.Tensor, batch: Any, nodes: str = "all") -> torch.Tensor:
        """The training loss for the model's goal; arguments as in :meth:`Model.loss`."""
        if isinstance(self.output, ScoreOutput):
            return regression_loss(outputs, batch, nodes, deviation=self.output.deviation)
        return super().loss(outputs, batch, nodes)

    def predict(self, trees: Iterable[Any], batch_size: int = 64) -> list[Prediction] | np.ndarray:
        """Classifies every node of trees, or scores the trees; their labels are ignored.

        Args:
            trees: As in :meth:`collate`.
            batch_size: Number of trees per batch.

        Returns:
            One prediction per tree, in the order given, for the nodes of that tree, or of the tree
            that :meth:`as_learned` converts it to. A regression model returns the score of each
            tree, (num_trees,) float32.

        Raises:
            ModelError: An input is not a tree or sentence, or not a tree that this model can read.
        """
        trees = self.as_learned(self._read(trees))
        sizes = [*map(self._size, trees)]
        with evaluating(self) as model:
            if self.goal == "regression":
                scores = map_batches(trees, sizes, batch_size, model._scores)
                return np.array(scores, np.float32)
            rows = map_batches(trees, sizes, batch_size, model._probabilities)
        return [
            Prediction(tree, probabilities, self.label_names, self.ordered_classes)
            for tree, probabilities in zip(trees, rows, strict=True)
        ]

    def _probabilities(self, trees: list[Any]) -> list[np.ndarray]:
        """The class probabilities of each given tree's nodes, each (num_nodes, num_classes)."""
        shaped = self._shaped(trees)
        outputs = self(self._batch(shaped).to(self._device))
        probabilities = torch.softmax(outputs.float(), dim=1).cpu().numpy()
        parts = np.split(probabilities, np.cumsum([tree.num_nodes for tree in shaped])[:-1])
        return [
            part if tree is read else part[nodes_of_same_span(tree, read)]
            for tree, read, part in zip(trees, shaped, parts, strict=True)
        ]

    def _scores(self, trees: list[Any]) -> np.ndarray:
        batch = self._sentences(trees)
        return self(batch)[batch.roots, 0].float().cpu().numpy()


class TreeClassifier(ReadsTrees, Classifier):
    """Base class of classifiers of the nodes of trees; its arguments are those of Classifier."""

    def batches_of(self, examples: Sequence[Any]) -> Callable[[Sequence[int]], Any]:
        """See the base class; batches are taken from arrays of all examples where possible."""
        own = (self.collate, Classifier.collate), (self._batch, ReadsTrees._batch)
        is_own = all(getattr(each, "__func__", None) is ours for each, ours in own)
        if not is_own or self._contextual is not None:
            return super().batches_of(examples)
        shaped = self._shaped(self._read(examples))
        encoder = self.encoder
        batch = tree_batches(shaped, self.vocab, encoder.direction, both_ways=encoder.both_ways)
        return lambda numbers: self._labelled(batch(numbers), (shaped[i] for i in numbers))

    def edge_weights(self, trees: Iterable[Any], batch_size: int = 64) -> list[np.ndarray]:
        """The weights that the model gives to the edges of trees, for pictures.

        Args:
            trees: See :func:`~graphsent.models.batches.forms.as_trees`.
            batch_size: Number of trees per batch.

        Returns:
            Per tree, one number per edge of ``model.shape_tree(tree)``, or of that of the tree that
            :meth:`as_learned` converts it to; that is, per node except the root, in node order.
            Their meaning depends on the encoder.

        Raises:
            ModelError: The model has no edge weights, or an input is not a tree it can read.
        """
        trees = self.as_learned(self._read(trees))
        with evaluating(self) as model:
            return map_batches(trees, [*map(self._size, trees)], batch_size, model._edge_weights)

    def _edge_weights(self, trees: list[Any]) -> list[np.ndarray]:
        graph = self._batch(self._shaped(trees)).graph
        words = self.embedding.of_nodes(graph)
        weights = self.encoder.edge_weights(graph, words, engine=self.engine)
        ends = np.cumsum(graph.batch_num_edges().cpu().numpy())
        return np.split(weights.float().cpu().numpy(), ends[:-1])


class SentenceClassifier(ReadsWords, Classifier):
    """Base class of models that classify sentences and phrases by their words.

    They read sentences without trees. Of a tree they read the words and the spans of its labelled
    phrases, each of which is a separate example.

    Args:
        *args: Arguments of :class:`Classifier`.
        phrases: Whether labelled phrases are training examples too, or only whole sentences.
        **options: Options of :class:`Classifier`.
    """

    def __init__(self, *args: Any, phrases: bool = True, **options: Any) -> None:
        super().__init__(*args, **options)
        self.phrases = phrases

    def collate(self, trees: Iterable[Any]) -> SequenceBatch:
        """The batch of sentences, with their labelled phrases unless ``phrases`` is False.

        Arguments and errors as in :meth:`Classifier.collate`.
        """
        return examples_of(super().collate(trees), phrases=self.phrases)


class ConvolutionClassifier(SentenceClassifier):
    """Base class of convolutional models over the words of sentences.

    Results do not depend on padding or on the other sentences of a batch. Arguments are those of
    :class:`SentenceClassifier`.
    """

    # Kalchbrenner et al. 2014 and Kim 2014 also train on the phrases of neutral sentences.
    task_option_defaults: Mapping[str, Mapping[str, Any]] = {"sst2": {"neutral_roots": "phrases"}}

    encoder: FilterEncoder

    def first_filters(self) -> list[Filter]:
        """The first-layer filters, see :func:`~graphsent.models.filter_ngrams`."""
        return self.encoder.first_filters()

    def training_examples(self, examples: Sequence[Any]) -> Sequence[Any]:
        """The labelled phrases of trees as separate examples, or the labelled sentences.

        Phrases are drawn individually in random order, like sentences (Kalchbrenner et al. 2014,
        Kim 2014). Equal words with the same label, such as *the*, are one example, just as they are
        one entry in the phrase dictionary of the Stanford Sentiment Treebank. With contextual
        features, a phrase has those of its words in the first sentence that contains it.

        Args:
            examples: Trees and sentences.
        """
        known = self._known_labels(examples)
        if not self.phrases:  # unlabelled sentences would only make batches smaller
            return [each for each in examples if each.labels[each.root] in known]
        if all(tree.num_nodes == 1 for tree in examples):
            return examples
        found: dict[tuple[tuple[str, ...], str], Phrase] = {}
        for tree in examples:
            words = tuple(map(self.vocab.normal, tree.words))
            for label, (begin, end) in zip(tree.labels, tree.spans.tolist(), strict=True):
                if label in known and (words[begin:end], label) not in found:
                    found[words[begin:end], label] = Phrase(words, begin, end, label)
        return list(found.values())

    def _known_labels(self, examples: Sequence[Any]) -> set[str]:
        """The labels in examples that are classes, or scores; others are of parsers."""
        labels = sorted({label for each in examples for label in each.labels})
        if self.goal == "regression":
            return {label for label in labels if math.isfinite(score_of(label))}
        indices = label_indices(labels, None, len(labels))
        return {label for label, index in zip(labels, indices.tolist(), strict=True) if index >= 0}


def limit_row_norms(weight: torch.Tensor, limit: float) -> None:
    """Rescales rows with a norm above ``limit`` to that norm, in place; 0 disables it.

    Applied to the output weights, one row per class, after each training step, it is the max-norm
    constraint of Hinton et al. 2012 (*Improving neural networks by preventing co-adaptation of
    feature detectors*).
    """
    if limit:
        with torch.no_grad():
            norms = torch.linalg.vector_norm(weight, dim=1, keepdim=True)
            weight.mul_(limit / norms.clamp(min=limit))
