"""A user's own data as a task: labelled sentences, pairs or trees in files of several formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphsent.tasks.own.options import OwnOptions
from graphsent.tasks.own.reader import iter_examples
from graphsent.tasks.own.task import OwnTask
from graphsent.tasks.task import Task

__all__ = ["OwnTask", "iter_examples", "own"]


def own(
    train: str | Mapping[str, str] | None = None,
    dev: str | Mapping[str, str] | None = None,
    test: str | Mapping[str, str] | None = None,
    text_column: str | Sequence[str] = (),
    label_column: str | None = None,
    regression: bool = False,
    split: float = 0.1,
    split_seed: int = 0,
    train_trees: str | Sequence[str] = (),
    dev_trees: str | Sequence[str] = (),
    test_trees: str | Sequence[str] = (),
    input: str = "auto",
    encoding: str = "utf-8",
    labels: Sequence[str] | None = None,
    fold: int | None = None,
    num_folds: int = 10,
) -> Task:
    """Classes or scores of the sentences, or pairs of sentences, in your own files.

    The suffix of a file gives its format: ``.csv`` with a header; ``.jsonl``, ``.ndjson`` or
    ``.json`` with a JSON object on each line; ``.conllu`` with comments ``# label = ...``. Any
    other file holds bracketed trees if it begins with a bracket, with the label of the sentence at
    the root, and otherwise ``label<TAB>sentence``, or tab-separated values with a header. All may
    be gzipped.

    Args:
        train: File to train on; or files by label, each with one sentence (or tree) per line.
        dev: File for the choice of the best epoch; by default held out of train.
        test: File for the final evaluation; by default held out of train.
        text_column: Name of the column of sentences, or names of the two of pairs; numbers from 1
            for a table without a header. By default usual names are looked for.
        label_column: Name or number of the column of labels; by default usual names.
        regression: Whether labels are numbers to be predicted, and not classes.
        split: Share of train that is held out for each of dev and test without a file; 0 for none.
        split_seed: Chooses among the splits.
        train_trees: File with the trees of the sentences of train in their order, bracketed or in
            CoNLL-U; two files for pairs.
        dev_trees: The same for dev.
        test_trees: The same for test.
        input: Whether texts are raw ``text`` or bracketed ``trees``; ``auto`` decides by the first.
        encoding: Encoding of the files.
        labels: The labels; by default those of train.
        fold: The fold of train that is the test split, from 0; by default there are no folds.
        num_folds: How many folds train is divided into.

    Raises:
        DataError: A value is of the wrong type or out of range, or there is no file to train on.
    """
    return OwnTask(OwnOptions(**locals()))
