"""The task ``own``: a user's own data."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from graphsent._names import unknown
from graphsent._numbers import decimal
from graphsent.errors import DataError
from graphsent.pairs import TreePair
from graphsent.tasks.corpus import SPLITS, TREE_KINDS, WORDS, check_shape, shaped
from graphsent.tasks.own.examples import BadLine, OwnExample, OwnRow
from graphsent.tasks.own.labelling import kind_of, labelled
from graphsent.tasks.own.labels import check_labels, check_several, in_order
from graphsent.tasks.own.options import OwnOptions
from graphsent.tasks.own.rows import read_rows
from graphsent.tasks.own.split_rows import GoodRow, SplitRows
from graphsent.tasks.own_source import OwnSource
from graphsent.tasks.scores import check_scores
from graphsent.tasks.task import Place, Task, TaskData, TaskStream

if TYPE_CHECKING:
    from torchmetrics import Metric, MetricCollection

__all__ = ["OwnTask"]


class Checked(NamedTuple):
    """Data as far as they can be read.

    Attributes:
        examples: Split -> its examples, as the files have them.
        bad_lines: A message about each bad line, with its file and number.
        problems: Why a model cannot be trained on these data, or the best epoch not be selected;
            beyond a lack of labels, only known without bad lines.
    """

    examples: Mapping[str, Sequence[Any]]
    bad_lines: list[str]
    problems: list[str]


class OwnTask(Task):
    """Classification or regression of a user's files; see :func:`~graphsent.tasks.own.own`.

    Args:
        options: The files and how to read them. Labels that they do not give are found in train.
    """

    name = "own"
    corpora = ()

    def __init__(self, options: OwnOptions) -> None:
        self._own = options
        self._has_pairs: bool | None = None  # until there is an example
        self.goal = "regression" if options.regression else "classification"

    @property
    def options(self) -> Mapping[str, Any]:  # type: ignore[override]
        """The arguments of :func:`~graphsent.tasks.own.own`, with the labels once found."""
        return self._own.to_dict()

    @property
    def label_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The labels of train, in order; empty for regression.

        Raises:
            DataError: A line of train is bad, or there is nothing to learn.
        """
        self._find_labels(self.good_rows)
        return tuple(self._own.labels or ())

    @property
    def ordered_classes(self) -> bool:  # type: ignore[override]
        """Whether all labels are numbers; the order of other labels is unknown."""
        return all(decimal(label) is not None for label in self.label_names)

    @functools.cached_property
    def examples(self) -> str:  # type: ignore[override]
        """``"pairs"`` if there are two columns of text, ``"trees"`` otherwise.

        Raises:
            DataError: No line of train is good, or there is none.
        """
        problem = ""
        for _, row in self.rows("train"):
            if isinstance(row, OwnExample):
                return "pairs" if len(row.contents) == 2 else "trees"
            problem = problem or row.message
        raise DataError(problem or self._no_examples("train"))

    @property
    def num_folds(self) -> int:  # type: ignore[override]
        """Number of folds, of which one may be the test split; 0 if test has a file."""
        return 0 if self._own.test else self._own.num_folds

    @property
    def available(self) -> tuple[str, ...]:  # type: ignore[override]
        """The existing splits."""
        return self._own.available

    def paths(self) -> list[Path]:
        """Every file of the data."""
        return self._source("", {}).paths()

    def rows(self, split: str) -> Iterator[OwnRow]:
        """The examples in the files of a split, and bad lines; see :func:`read_rows`.

        A split that is held out of train has no files; train includes the held-out examples.
        """
        return read_rows(self._own, split, self.tokenizer)

    def good_rows(self, split: str) -> Iterator[GoodRow]:
        """The examples in the files of a split.

        Raises:
            DataError: A line is bad.
        """
        for path, row in self.rows(split):
            if isinstance(row, BadLine):
                raise DataError(row.message)
            yield path, row

    def checked(self) -> Checked:
        """Reads everything as far as possible, and collects all that :meth:`load` would refuse.

        Raises:
            DataError: A file cannot be read, or lacks a column.
        """
        bad_lines: list[str] = []
        problems: list[str] = []
        good: dict[str, list[GoodRow]] = {split: [] for split in SPLITS}
        for split in SPLITS:
            for path, row in self.rows(split):
                if isinstance(row, BadLine):
                    bad_lines.append(row.message)
                else:
                    good[split].append((path, row))
        try:
            self._find_labels(good.__getitem__)
        except DataError as error:
            problems.append(str(error))
            self._own = replace(self._own, labels=in_order(row.label for _, row in good["train"]))
        examples: dict[str, list[Any]] = {}
        split_rows = SplitRows(self._own, good.__getitem__, self.held_out)
        for split in self.available:
            examples[split] = []
            for path, row in split_rows.of(split):
                try:
                    examples[split].append(self.example(row, path, kind_of(row.contents[0])))
                except DataError as error:
                    bad_lines.append(str(error))
        if not (bad_lines or problems):
            problems.extend(self._problems(examples))
        # Two splits may share a file.
        return Checked(examples, list(dict.fromkeys(bad_lines)), problems)

    def _problems(self, examples: Mapping[str, Sequence[Any]]) -> Iterator[str]:
        """Why a model cannot be trained on these examples, or the best epoch not be selected."""
        for split, found in examples.items():
            try:
                if not found:
                    raise DataError(self._no_examples(split))
                if self._own.regression and split != "test":
                    check_scores(split, found, self.selection_metric)
                elif split == "dev":
                    check_several(found, self.label_names)
            except DataError as error:
                yield str(error)

    def read(self, path: Path, parses: Sequence[Path] = ()) -> list[Any]:
        """The examples of another file with the same columns and labels; see :meth:`Task.read`."""
        trees = list(map(str, parses))
        other = OwnTask(replace(self._own, train=str(path), train_trees=trees))
        other.tokenizer = self.tokenizer
        rows = other.good_rows("train")
        return [self.example(row, path, kind_of(row.contents[0])) for path, row in rows]

    def load(
        self,
        data_dir: str | os.PathLike[str] | None = None,
        splits: Sequence[str] = SPLITS,
        *,
        tree_kind: str = TREE_KINDS[0],
        parses_dir: str | os.PathLike[str] | None = None,
        trees: str | None = None,
    ) -> TaskData:
        """Reads the user's files; as :meth:`Task.load`, but directories are ignored."""
        good_rows = functools.cache(lambda split: list(self.good_rows(split)))
        self._find_labels(good_rows)
        split_rows = SplitRows(self._own, good_rows, self.held_out)
        examples, places, labels = {}, {}, {}
        for split in splits:
            rows = list(split_rows.of(split))
            if not rows:
                raise DataError(self._no_examples(split))
            examples[split] = [self.example(row, path, tree_kind, trees) for path, row in rows]
            places[split] = [Place(path, row.line) for path, row in rows]
            labels[split] = Counter(row.label for _, row in rows)
        source = self._source(tree_kind, labels)
        return TaskData(examples, source, places, split_rows.held_out())

    def stream(
        self,
        data_dir: str | os.PathLike[str] | None = None,
        splits: Sequence[str] = SPLITS,
        *,
        tree_kind: str = TREE_KINDS[0],
        parses_dir: str | os.PathLike[str] | None = None,
        trees: str | None = None,
    ) -> TaskStream:
        """As :meth:`load`, but lazily; labels are found in a separate pass.

        Nothing is held out of train: that would require reading all of it.
        """
        self._own = replace(self._own, split=0)
        split_rows = SplitRows(self._own, self.good_rows, self.held_out)

        def examples(split: str) -> Iterator[Any]:
            before = ""
            for path, row in split_rows.of(split):
                example = self.example(row, path, tree_kind, trees)
                kind = kind_of(example)
                if before and kind != before:  # shards hold one kind, though models may read any
                    raise DataError(
                        f"{path}:{row.line}: expected {_described(before)} as before, got "
                        f"{_described(kind)}: with --stream, the examples of a split must be of "
                        "one kind"
                    )
                before = kind
                yield example

        streams = {split: functools.partial(examples, split) for split in splits}
        return TaskStream(streams, self._source(tree_kind, {}))

    def metrics(self) -> Metric | MetricCollection:
        """``accuracy`` and ``macro_f1`` of sentences or pairs; the usual ones for regression."""
        if self._own.regression:
            return super().metrics()
        from graphsent.tasks.metrics import sentence_metrics

        return sentence_metrics(range(len(self.label_names)))

    def example(self, row: OwnExample, path: Path, tree_kind: str, trees: str | None = None) -> Any:
        """An example as a model reads it: a sentence, a tree or a pair.

        Labels are decimal class indices, or numbers for regression.

        Args:
            row: The example as in the file.
            path: The file, for errors.
            tree_kind: What the model reads.
            trees: Shape of trees to build over the words, see :meth:`Task.load`.

        Raises:
            DataError: The label is not in train or not a number; or the row lacks such trees, or
                is a pair and earlier ones are not.
        """
        label = self._code(row.label)
        if not label:
            problem = unknown("label", row.label, self.label_names)
            if self._own.regression:
                problem = f"expected a number as the label, got {row.label[:40]!r}"
            raise DataError(f"{path}:{row.line}: {problem}")
        if trees is not None:
            check_shape(trees, tree_kind)
        kind = tree_kind if trees is None else WORDS
        is_pair = len(row.contents) == 2
        if self._has_pairs not in (None, is_pair):
            names = ("a sentence", "a pair of sentences")
            expected, found = names[not is_pair], names[is_pair]
            raise DataError(
                f"{path}:{row.line}: expected {expected} as in the other splits, got {found}"
            )
        self._has_pairs = is_pair
        contents = [
            labelled(each, label, self._code, kind, path, is_pair=is_pair) for each in row.contents
        ]
        example: Any = contents[0]
        if is_pair:
            score, name = (float(label), "") if self._own.regression else (None, label)
            example = TreePair(contents[0], contents[1], score, name)
        return example if trees is None else shaped(example, trees, tree_kind)

    def _code(self, label: str) -> str:
        """The class index or score of a label; "" if it has none."""
        if self._own.regression:
            return "" if decimal(label) is None else label
        return self._indices.get(label, "")

    @functools.cached_property
    def _indices(self) -> dict[str, str]:
        return {label: str(index) for index, label in enumerate(self.label_names)}

    def _find_labels(self, good_rows: Callable[[str], Iterable[GoodRow]]) -> None:
        """Finds the labels in train, unless they are known or are scores."""
        if self._own.labels is None and not self._own.regression:
            counts = Counter(row.label for _, row in good_rows("train"))
            check_labels(counts, _names(self._own, "train"))
            self._own = replace(self._own, labels=in_order(counts))

    def _source(self, tree_kind: str, labels: Mapping[str, Counter[str]]) -> OwnSource:
        files = {split: [file.path for file in self._own.files(split)] for split in SPLITS}
        trees = {split: self._own.trees(split) for split in SPLITS}
        ordered = {
            split: {label: found[label] for label in in_order(found)}
            for split, found in labels.items()
        }
        counts = {split: sum(found.values()) for split, found in labels.items()}
        shares, are_scores = self._own.held_out(), self._own.regression
        return OwnSource(files, trees, tree_kind, shares, counts, ordered, are_scores)

    def _no_examples(self, split: str) -> str:
        if self._own.files(split):
            return f"{_names(self._own, split)}: no examples: expected labelled sentences"
        files, share = _names(self._own, "train"), self._own.held_out()[split]
        of_labels = "" if self._own.regression else " of each label"  # which have equal shares
        return (
            f"{files}: too few distinct examples{of_labels} to hold out {share:g} of them as "
            f"{split}: add --{split} FILE, or hold out more (--split)"
            + (", or do without (--split 0)" if split == "test" and self._own.dev else "")
        )


def _described(kind: str) -> str:
    """An example as a model of words reads it."""
    if kind == WORDS:
        return "a sentence without labelled phrases"
    return f"a {kind} tree with labelled phrases"


def _names(options: OwnOptions, split: str) -> str:
    return " and ".join(str(file.path) for file in options.files(split))
