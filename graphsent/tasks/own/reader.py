"""Reads examples one by one from a user's file, in any of several formats."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from graphsent._names import check_choice
from graphsent._unpacking import format_suffix
from graphsent.errors import DataError
from graphsent.sentences import Sentence
from graphsent.tasks.own.columns import Columns
from graphsent.tasks.own.examples import BadLine, OwnExample
from graphsent.tasks.own.lines import UTF8, lines_in
from graphsent.tasks.own.tables import READERS, finder, read_sentences
from graphsent.tasks.own.treebanks import bracketed_trees, dependency_trees, examples_of_rows

__all__ = [
    "INPUTS",
    "SUFFIXES",
    "OwnFile",
    "format_by_name",
    "has_labels",
    "read_examples",
    "read_trees",
]

INPUTS = ("auto", "text", "trees")
_NO_LABEL = "-"
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".conllu": "conllu",
}


@dataclass(frozen=True)
class OwnFile:
    """A user's file and how to read it.

    The suffix gives the format: ``.csv``; ``.jsonl``, ``.ndjson`` or ``.json`` for one object per
    line; ``.conllu``; each also with ``.gz``. Any other file holds bracketed trees if its first
    non-empty line begins with a bracket, and tab-separated values otherwise.

    Attributes:
        path: The file.
        text_columns: Names of the text columns, see
            :func:`~graphsent.tasks.own.columns.find_columns`.
        label_column: Name of the label column.
        label: The label of all examples of a file that holds no labels, only one sentence or tree
            per line.
        input: Whether texts are bracketed ``"trees"`` or raw ``"text"``; ``"auto"`` goes by the
            first one.
        encoding: Encoding of the file.
    """

    path: Path
    text_columns: tuple[str, ...] = ()
    label_column: str | None = None
    label: str | None = None
    input: str = "auto"
    encoding: str = UTF8

    def format(self) -> str:
        """``"tsv"``, ``"csv"``, ``"jsonl"``, ``"conllu"``, ``"trees"``, or ``"sentences"``.

        Raises:
            DataError: The file cannot be read, or is a table although ``label`` is given.
        """
        found = format_by_name(self.path)
        if self.label is not None and found != "conllu":
            if found:
                raise DataError(
                    f"{self.path}: expected one sentence or tree per line for the label "
                    f"{self.label!r}, got a table: pass it with --train and its columns"
                )
            return "sentences"
        if found in ("", "tsv"):
            lines = itertools.chain.from_iterable(lines_in(self.path, self.encoding))
            first = next((line.text.strip() for line in lines if line.text.strip()), "")
            if first.startswith("(") and not found and not _has_label(first):
                return "trees"
        return found or "tsv"


def format_by_name(path: Path) -> str:
    """The format that the suffix of a file gives, ignoring ``.gz``; ``""`` if it gives none."""
    return SUFFIXES.get(format_suffix(path), "")


def has_labels(table: OwnFile) -> bool:
    """Whether a table has a column of labels, judged by its first row.

    Raises:
        DataError: The file cannot be read.
    """
    beginning = next(lines_in(table.path, table.encoding), [])
    if table.format() == "tsv" and not any("\t" in line.text for line in beginning):
        return False  # one column
    try:
        next(read_examples(table), None)
    except DataError:
        return False
    return True


def read_examples(file: OwnFile) -> Iterator[OwnExample | BadLine]:
    """The examples of a file in order, with bad lines in their places.

    Raises:
        DataError: The file cannot be read, or lacks a column.
    """
    check_choice("input", file.input, INPUTS, DataError)
    pieces, source = lines_in(file.path, file.encoding), str(file.path)
    found = file.format()
    if found == "conllu":
        yield from dependency_trees(pieces, source, file.label)
    elif found == "trees":
        yield from bracketed_trees(pieces, source, labelled=True)
    else:
        lines = itertools.chain.from_iterable(pieces)
        if found == "sentences":
            rows = read_sentences(lines, source)
        else:
            with_label = file.label is None
            find = finder(file.text_columns, file.label_column, with_label)
            rows = READERS[found](lines, source, find)
        yield from examples_of_rows(rows, source, file.label, file.input)


def read_trees(file: OwnFile) -> Iterator[OwnExample | BadLine]:
    """The trees of a file that accompanies a file of sentences, without their labels.

    They are in CoNLL-U, bracketed, or one per line after a label and a tab. A label without a tree
    stands for an empty line and is skipped.
    """
    pieces, source = lines_in(file.path, file.encoding), str(file.path)
    found = file.format()
    if found == "conllu":
        examples = dependency_trees(pieces, source, _NO_LABEL)
    elif found == "trees":
        examples = bracketed_trees(pieces, source, labelled=False)
    else:
        lines = itertools.chain.from_iterable(pieces)
        kept = (line for line in lines if line.error is not None or not line.text.endswith("\t"))
        columns = Columns(("label", "tree"), 0, (1,), False)
        rows = READERS["tsv"](kept, source, lambda *_, **__: columns)
        examples = examples_of_rows(rows, source, None, "trees")
    for example in examples:
        if isinstance(example, BadLine):
            yield example
        else:
            tree = example.contents[0]
            assert not isinstance(tree, str | Sentence)
            yield example._replace(contents=(tree.replace(labels=("",) * tree.num_nodes),))


def _has_label(line: str) -> bool:
    """Whether a line is a label (which may hold brackets), a tab, and something in brackets."""
    before, tab, _ = line.partition("\t")
    return bool(tab) and before.count("(") == before.count(")")
