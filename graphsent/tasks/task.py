"""Base class of tasks: labels, corpora and metrics."""

from __future__ import annotations

import functools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from graphsent._names import unknown
from graphsent.errors import DataError
from graphsent.tasks.corpus import (
    SPLITS,
    TO_PARSE,
    TREE_KINDS,
    WORDS,
    Corpus,
    CorpusSource,
    check_shape,
    find_corpus,
)
from graphsent.tasks.data_dir import resolve_data_dir
from graphsent.tasks.held_out import FileReader
from graphsent.tasks.own_source import OwnSource
from graphsent.tasks.parses import resolve_parses_dir
from graphsent.tasks.sources import SOURCES
from graphsent.tasks.spool import Spooled

if TYPE_CHECKING:
    from torchmetrics import Metric, MetricCollection

__all__ = ["Place", "Task", "TaskData", "TaskStream"]


class Place(NamedTuple):
    """The file of an example, and the number of its first line, from 1."""

    path: Path
    line: int


_SELECTION = {"classification": "accuracy", "regression": "pearson"}


@dataclass(frozen=True)
class TaskData:
    """The examples of a task.

    Attributes:
        splits: Split -> its examples in file order: trees or sentences, whose labels are decimal
            class indices ("" for an unlabelled node), or scored pairs of trees.
        source: The corpus they come from.
        places: Split -> file and line of each example, if the task knows them.
        held_out: Which training examples were held out, as JSON for :attr:`Task.held_out`; None if
            the task does not need a run to save that.
    """

    splits: Mapping[str, Sequence[Any]]
    source: CorpusSource | OwnSource
    places: Mapping[str, Sequence[Place]] = field(default_factory=dict)
    held_out: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class TaskStream:
    """The examples of a task as iterators.

    Attributes:
        splits: Split -> function that returns a new iterator over its examples.
        source: The corpus they come from, without counts.
    """

    splits: Mapping[str, Callable[[], Iterator[Any]]]
    source: CorpusSource | OwnSource


class Task(ABC):
    """Something to learn: classes or scores, corpora and metrics.

    A task is a small class with the attributes below and :meth:`read`; see
    :mod:`graphsent.tasks.sst` for an example. Add it to :mod:`graphsent.tasks.registry`, or refer
    to it as ``module:function``, see :func:`~graphsent.tasks.get_task`.

    Attributes:
        name: As in ``get_task(name)``.
        goal: ``"classification"``: labels are decimal class indices; ``"regression"``: they are
            numbers of any range, or scores of pairs; ``"ranking"``: choose the best candidate of
            each list. Models declare the goals they support, see :class:`~graphsent.models.Model`.
        label_names: Names of the classes by index. For regression empty or, for a model that
            predicts a distribution over the scores 1 to K, the names of the scores.
        ordered_classes: Whether the classes go from low to high, as those of sentiment do; drawings
            of predictions choose their colours accordingly.
        finds_labels: Whether the classes are found in the training data. ``label_names`` is then
            left out: :meth:`load` sets it with :meth:`find_labels`, and loading a trained model
            sets it to the labels of the model.
        options: The arguments with which ``get_task(name, **options)`` makes this task again.
        corpora: Suitable corpora, the preferred one first.
        examples: ``"trees"`` (or sentences, without trees), ``"pairs"`` of trees, or n-best
            ``"lists"``. Models declare what they learn from, see :class:`~graphsent.models.Model`.
        selection_metric: Key of :meth:`metrics` by which the best model is chosen on dev, unless a
            run selects another; higher is better. By default ``"accuracy"`` or ``"pearson"``.
        tokenizer: Splits raw text into words as in the corpora, one of
            :data:`graphsent.tokenizers.TOKENIZERS`; models of words save it, for raw text in
            prediction.
        split_seed: Seed of the dev split that is held out of a corpus without one, see
            :func:`~graphsent.tasks.held_out.held_out`.
        available: The existing splits; a task may lack a test split.
        num_folds: Number of cross-validation folds of its corpora, of which the option ``fold``
            chooses the test split; 0 if they have splits.
        held_out: :attr:`TaskData.held_out` of the run that is continued, so that the same examples
            are held out again; None to choose them.
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
        """The indices of the classes that compete in evaluation, all unless a task overrides it."""
        return tuple(range(len(self.label_names)))

    if TYPE_CHECKING:
        selection_metric: str  # a task may set it
    else:

        @property
        def selection_metric(self) -> str:
            """The default of the goal, unless a task has its own."""
            return _SELECTION[self.goal]

    @abstractmethod
    def read(self, path: Path, parses: Sequence[Path] = ()) -> list[Any]:
        """The examples of one file.

        Args:
            path: The file.
            parses: Files with the trees of its sentences, in the same order: one file per sentence
                of an example. Without them, examples are what the file itself holds.

        Raises:
            DataError: A file is not in the task's format, or the files do not match.
        """

    def iter_examples(self, path: Path, parses: Sequence[Path] = ()) -> Iterator[Any]:
        """The examples of :meth:`read` one by one.

        A task whose corpora may be larger than memory overrides it with a generator.
        """
        return iter(self.read(path, parses))

    def find_labels(self, path: Path) -> tuple[str, ...]:
        """Finds the names of the classes in a file of training examples, for ``finds_labels``.

        Raises:
            DataError: The file is not in the task's format.
        """
        raise NotImplementedError(f"{type(self).__name__} sets finds_labels but not find_labels")

    def metrics(self) -> Metric | MetricCollection:
        """New metrics, updated by ``update(outputs, batch)``.

        By default ``accuracy`` over sentences or pairs; for regression ``pearson``, ``spearman``
        and ``mse``.
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
            data_dir: See :func:`~graphsent.tasks.resolve_data_dir`.
            splits: Which of ``train``, ``dev`` and ``test``.
            tree_kind: ``"constituency"``, ``"dependency"``, or ``"words"`` for what the corpus
                itself holds: plain sentences or the trees of a treebank. Models declare what they
                read, see :class:`~graphsent.models.Model`.
            parses_dir: See :func:`~graphsent.tasks.resolve_parses_dir`; needed only for
                trees that the corpus itself lacks.
            trees: Replace the parser's trees by trees of this shape, one of
                :data:`graphsent.trees.SHAPES`, see :func:`~graphsent.trees.reshape`; parses are
                then needed only for their words, if the corpus cannot be read without them.

        Raises:
            DataError: The directory, the corpus, the trees or the split does not exist, or a file
                is malformed or has no examples.
        """
        source = self._find(data_dir, splits, tree_kind, parses_dir, trees)

        @functools.cache  # reads a file shared by train and dev once
        def reader(path: Path, parses: tuple[Path, ...]) -> FileReader:
            found = self.read(path, parses)
            return FileReader(lambda: found, source.corpus.held_out, self.split_seed)

        examples = {}
        for split in splits:
            examples[split] = list(self._read_split(split, source, reader))
            if not examples[split]:
                missing = "no examples"
                if split == "dev" and source.corpus.held_out:
                    missing = "too few examples to hold out a dev split"
                raise DataError(f"{source.files[split]}: {missing} for task {self.name}")
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
        """Finds the task's corpus; its examples are read lazily, one by one.

        Arguments and errors are those of :meth:`load`; errors in a file are raised when reading
        reaches them.
        """
        source = self._find(data_dir, splits, tree_kind, parses_dir, trees)

        @functools.cache  # chooses the dev split of a file once
        def reader(path: Path, parses: tuple[Path, ...]) -> FileReader:
            share = source.corpus.held_out
            read = functools.partial(self.iter_examples, path, parses)
            return FileReader(Spooled(read) if share else read, share, self.split_seed)

        return TaskStream(
            {split: functools.partial(self._read_split, split, source, reader) for split in splits},
            source,
        )

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
            check_shape(trees, tree_kind)
            source = replace(source, shape=(trees, tree_kind))
            tree_kind = WORDS if WORDS in source.corpus.kinds else tree_kind
        source = source.with_parses(
            tree_kind, lambda: resolve_parses_dir(parses_dir, directory, TO_PARSE)
        )
        for split in splits:
            if split not in source.files:
                raise DataError(f"{self.name}: {unknown('split', split, source.files)}")
        if self.finds_labels and not self.label_names:
            self.label_names = self.find_labels(source.files["train"])
        return source

    def _read_split(
        self, split: str, source: CorpusSource, reader: Callable[..., FileReader]
    ) -> Iterator[Any]:
        """The examples of a split, read by the reader of its file and parses."""
        read = reader(source.files[split], source.parses.get(split, ()))
        return map(source.shaped, self._of_split(read, source.corpus, split))

    def _of_split(self, read: FileReader, corpus: Corpus, split: str) -> Iterable[Any]:
        """The examples of a file that belong to a split."""
        if not corpus.held_out or split == "test":
            return read()
        is_dev = read.is_dev  # before examples are read, which are then replayed
        return compress(read(), is_dev if split == "dev" else ~is_dev)

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"get_task({self.name!r}{options})"
