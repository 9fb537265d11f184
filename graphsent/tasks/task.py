"""What a task is: labels, corpora and metrics."""

from __future__ import annotations

import functools
import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from graphsent.errors import DataError
from graphsent.tasks.corpus import SPLITS, TREE_KINDS, WORDS, Corpus, CorpusSource, find_corpus
from graphsent.tasks.data_dir import resolve_data_dir
from graphsent.tasks.held_out import held_out
from graphsent.tasks.parses import resolve_parses_dir
from graphsent.tasks.sources import SOURCES
from graphsent.tasks.spool import Spooled
from graphsent.trees import unescape

if TYPE_CHECKING:
    from torchmetrics import Metric, MetricCollection

    from graphsent.tasks.own.source import OwnSource

__all__ = ["Place", "Task", "TaskData", "TaskStream"]


class Place(NamedTuple):
    """The file of an example, and the line where it begins, counted from 1."""

    path: Path
    line: int


_SELECTION = {"classification": "accuracy", "regression": "pearson"}


@dataclass(frozen=True)
class TaskData:
    """The examples of a task.

    Attributes:
        splits: Split -> its examples, in the order of the file: trees or sentences, whose labels
            are decimal class indices, "" where a node has none; or pairs of trees with a score.
        source: The corpus they come from.
        places: Split -> where each example is, of tasks that know.
        held_out: What was held out of the training data, of tasks where a run keeps that: JSON, for
            :attr:`Task.held_out`.
    """

    splits: Mapping[str, Sequence[Any]]
    source: CorpusSource | OwnSource
    places: Mapping[str, Sequence[Place]] = field(default_factory=dict)
    held_out: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class TaskStream:
    """The examples of a task as iterators.

    Attributes:
        splits: Split -> gives its examples one by one, from the first, as often as it is called.
        source: The corpus that they come from, without counts.
    """

    splits: Mapping[str, Callable[[], Iterator[Any]]]
    source: CorpusSource | OwnSource


class Task(ABC):
    """Something to learn: classes or scores, corpora and metrics.

    A task is a small class with the attributes below and :meth:`read`; see
    :mod:`graphsent.tasks.sst`. One entry in :mod:`graphsent.tasks.registry` makes it available, or
    its name as ``module:function``, see :func:`~graphsent.tasks.get_task`.

    Attributes:
        name: As in ``get_task(name)``.
        goal: ``"classification"``, labels are decimal class indices; or ``"regression"``, they are
            numbers of any range, or of pairs scores; or ``"ranking"``, the best of each of some
            lists is to be chosen. Models say what they can learn, see
            :class:`~graphsent.models.Model`.
        label_names: Names of the classes by index. For regression none; or, for a model that
            predicts a distribution over the scores 1 to K, those of the scores.
        ordered_classes: Whether the classes go from low to high, as those of sentiment do: pictures
            of predictions have colours to match.
        finds_labels: Whether the classes are those of the training data: then ``label_names`` is
            left out, :meth:`load` fills it in with :meth:`find_labels`, and for a trained model it
            is set to those of the model.
        options: The arguments with which ``get_task(name, **options)`` gives this task again.
        corpora: Suitable corpora, the preferred one first.
        examples: What they are, ``"trees"`` (or sentences, where there are none) or
            ``"pairs"`` of trees; models say what they learn from, see
            :class:`~graphsent.models.Model`.
        selection_metric: Key of :meth:`metrics` that chooses the best model on dev; more is better.
            By default ``"accuracy"`` or ``"pearson"``.
        tokenizer: Divides raw text into words as the corpora have them, one of
            :data:`graphsent.tokenizers.TOKENIZERS`; models of words keep it for what users give
            them.
        split_seed: Chooses the dev split of a corpus that has none, see
            :func:`~graphsent.tasks.held_out.held_out`.
        available: The existing splits; a task may lack a test split.
        num_folds: How many folds its corpora are divided into, of which the option ``fold`` chooses
            the test split; 0 if they have splits.
        held_out: What :attr:`TaskData.held_out` was when a run began, so that it is held out again;
            None to choose.
    """

    name: str
    goal: str = "classification"
    label_names: tuple[str, ...] = ()
    ordered_classes: bool = False
    finds_labels: bool = False
    options: Mapping[str, Any] = MappingProxyType({})
    corpora: tuple[Corpus, ...]
    examples: str = "trees"
    tokenizer: str = "treebank"
    split_seed: int = 0
    available: tuple[str, ...] = SPLITS
    num_folds: int = 0
    held_out: Mapping[str, Any] | None = None

    @property
    def judged(self) -> tuple[int, ...]:
        """The classes that compete in evaluation, by index; all, unless a task overrides it."""
        return tuple(range(len(self.label_names)))

    if TYPE_CHECKING:
        selection_metric: str  # which a task may set
    else:

        @property
        def selection_metric(self) -> str:
            """That of the goal, unless a task has its own."""
            return _SELECTION[self.goal]

    @abstractmethod
    def read(self, path: Path, parses: Sequence[Path] = ()) -> list[Any]:
        """The examples of one file.

        Args:
            path: The file.
            parses: Files with the trees of its sentences, in the same order: one for each sentence
                of an example. Without them examples are what the file itself holds.

        Raises:
            DataError: A file is not in the task's format, or the files do not fit together.
        """

    def iter_examples(self, path: Path, parses: Sequence[Path] = ()) -> Iterator[Any]:
        """The examples of :meth:`read` one by one.

        A task whose corpora may be larger than memory overrides it with a generator.
        """
        return iter(self.read(path, parses))

    def find_labels(self, path: Path) -> tuple[str, ...]:
        """The names of the classes in a file of training examples, for ``finds_labels``.

        Raises:
            DataError: The file is not in the task's format.
        """
        raise NotImplementedError(f"{type(self).__name__} has finds_labels, but no find_labels")

    def metrics(self) -> Metric | MetricCollection:
        """New metrics, to be fed with ``update(outputs, batch)``.

        By default ``accuracy`` of sentences or pairs; for regression ``pearson``, ``spearman`` and
        ``mse``.
        """
        if self.goal == "regression":
            from graphsent.tasks.score_metrics import ScoreMetrics

            return ScoreMetrics()
        from torchmetrics import MetricCollection

        from graphsent.tasks.metrics import RootAccuracy

        return MetricCollection({"accuracy": RootAccuracy(range(len(self.label_names)))})

    def load(
        self,
        data_dir: str | os.PathLike[str] | None = None,
        splits: Sequence[str] = SPLITS,
        *,
        tree_kind: str = TREE_KINDS[0],
        parses_dir: str | os.PathLike[str] | None = None,
        trees: str | None = None,
    ) -> TaskData:
        """Finds and reads the task's corpus.

        Args:
            data_dir: See :func:`~graphsent.tasks.data_dir.resolve_data_dir`.
            splits: Which of ``train``, ``dev`` and ``test``.
            tree_kind: ``"constituency"``, ``"dependency"`` or ``"words"``: what the corpus itself
                has, plain sentences or the trees of a treebank. Models say what they were made for,
                see :class:`~graphsent.models.Model`.
            parses_dir: See :func:`~graphsent.tasks.parses.resolve_parses_dir`; needed only for
                trees that the corpus itself does not have.
            trees: A shape that trees of the kind are to have in place of the parser's, one of
                :data:`graphsent.trees.SHAPES`, see :func:`~graphsent.trees.reshape`; parses are
                then needed only for their words, where the corpus cannot be read without.

        Raises:
            DataError: The directory or the corpus is not there, a file is malformed or has no
                examples, there are no such trees, or there is no such split.
        """
        source = self._find(data_dir, splits, tree_kind, parses_dir, trees)
        examples = {}
        read = functools.cache(self.read)  # once, where train and dev are in one file
        for split in splits:
            find = functools.partial(read, source.files[split], source.parses.get(split, ()))
            examples[split] = list(map(source.shaped, self._of_split(find, source.corpus, split)))
            if not examples[split]:
                raise DataError(f"{source.files[split]}: no examples for the task {self.name}")
        counts = {split: len(trees) for split, trees in examples.items()}
        source = replace(source, counts=counts)
        return TaskData(examples, replace(source, remarks=self.remarks(source)))

    def remarks(self, source: CorpusSource) -> tuple[str, ...]:
        """Caveats about results with a corpus, for the log and ``results.json``.

        Args:
            source: The corpus, with the counts of the splits that were read.
        """
        return ()

    def stream(
        self,
        data_dir: str | os.PathLike[str] | None = None,
        splits: Sequence[str] = SPLITS,
        *,
        tree_kind: str = TREE_KINDS[0],
        parses_dir: str | os.PathLike[str] | None = None,
        trees: str | None = None,
    ) -> TaskStream:
        """Finds the task's corpus; its examples come one by one when they are asked for.

        Arguments and errors as in :meth:`load`; errors in a file are raised when the reading
        gets there.
        """
        source = self._find(data_dir, splits, tree_kind, parses_dir, trees)

        @functools.cache  # train and dev of one file are chosen once
        def reader(path: Path, parses: tuple[Path, ...]) -> Callable[[], Iterator[Any]]:
            read = functools.partial(self.iter_examples, path, parses)
            return Spooled(read) if source.corpus.held_out else read

        def examples(split: str) -> Iterator[Any]:
            read = reader(source.files[split], source.parses.get(split, ()))
            return map(source.shaped, self._of_split(read, source.corpus, split))

        return TaskStream({split: functools.partial(examples, split) for split in splits}, source)

    def _find(
        self,
        data_dir: str | os.PathLike[str] | None,
        splits: Sequence[str],
        tree_kind: str,
        parses_dir: str | os.PathLike[str] | None,
        trees: str | None,
    ) -> CorpusSource:
        directory = resolve_data_dir(data_dir)
        known = self.name in SOURCES
        advice = f"; to get it: graphsent download {self.name} --data-dir DIR" if known else ""
        source = find_corpus(self.corpora, directory, advice)
        if trees is not None:
            source = source.with_shape(trees, tree_kind)
            tree_kind = WORDS if WORDS in source.corpus.kinds else tree_kind
        source = source.with_parses(tree_kind, lambda: resolve_parses_dir(parses_dir, directory))
        for split in splits:
            if split not in source.files:
                valid = ", ".join(source.files)
                raise DataError(f"unknown split {split!r} of {self.name}: expected one of {valid}")
        if self.finds_labels and not self.label_names:
            self.label_names = self.find_labels(source.files["train"])
        return source

    def _of_split(
        self, read: Callable[[], Iterable[Any]], corpus: Corpus, split: str
    ) -> Iterable[Any]:
        """Those examples of a file that belong to a split.

        Args:
            read: Gives all examples of the file; it is called again where they have to be chosen.
            corpus: The corpus.
            split: The split.
        """
        if not corpus.held_out or split == "test":
            return read()
        is_dev = _is_held_out(read, corpus.held_out, self.split_seed)
        return compress(read(), is_dev if split == "dev" else ~is_dev)

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"get_task({self.name!r}{options})"


def _is_held_out(read: Callable[[], Iterable[Any]], share: float, seed: int) -> np.ndarray:
    """Which of some examples are held out, (num_examples,) bool."""
    if read not in _held_out:
        texts = (" ".join(map(unescape, each.words)) for each in read())
        _held_out[read] = held_out(texts, share, seed)
    return _held_out[read]


# By what gives the examples, as long as that is there: it may hold a file open.
_held_out: weakref.WeakKeyDictionary[Callable, np.ndarray] = weakref.WeakKeyDictionary()
