"""A task for your own data: labelled sentences, pairs or trees in files of several formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphsent.tasks.own.options import OwnOptions
from graphsent.tasks.own.task import OwnTask
from graphsent.tasks.task import Task

__all__ = ["OwnTask", "own"]


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
    """Classification or regression of the sentences, or sentence pairs, in your own files.

    The suffix of a file gives its format: ``.csv`` with a header; ``.jsonl``, ``.ndjson`` or
    ``.json`` with one JSON object per line; ``.conllu`` with comments ``# label = ...``. Any other
    file holds bracketed trees if it begins with a bracket, with the label of the sentence at the
    root, and otherwise ``label<TAB>sentence``, or tab-separated values with a header. All may be
    gzipped.

    Args:
        train: Training file; or one file per label, with one sentence (or tree) per line.
        dev: File for choosing the best epoch; by default held out of train.
        test: File for the final evaluation; by default held out of train.
        text_column: Name of the text column, or names of the two text columns of pairs; numbers
            from 1 for a table without a header. By default, common names are looked for.
        label_column: Name or number of the label column; by default, common names are looked for.
        regression: Whether labels are numbers to predict instead of classes.
        split: Share of train to hold out for each of dev and test without a file; by default 0.1,
            0 for none.
        split_seed: Seed of the held-out splits; 0 by default.
        train_trees: File with the trees of the training sentences, in the same order, bracketed or
            in CoNLL-U; two files for pairs.
        dev_trees: As --train-trees, for dev.
        test_trees: As --train-trees, for test.
        input: Whether texts are raw ``text`` or bracketed ``trees``; ``auto`` goes by the first.
        encoding: Encoding of the files; utf-8 by default.
        labels: The labels; by default those of train.
        fold: The cross-validation fold of train that is the test split, from 0; by default none.
        num_folds: Number of cross-validation folds of train; 10 by default.

    Raises:
        DataError: A value has the wrong type or is out of range, or there is no training file.
    """
    return OwnTask(OwnOptions(**locals()))
