"""Trees and sentences of whole files, for commands that need all of them at once."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from graphsent.cli.sources import (
    STDIN,
    is_conllu,
    label_before_tree,
    name_of,
    without_label,
)
from graphsent.cli.tables_in import lines_of_table
from graphsent.errors import DataError
from graphsent.sentences import Sentence
from graphsent.tasks.own.lines import UTF8
from graphsent.tasks.own.reader import format_by_name
from graphsent.trees import DependencyTree, Tree, parse_conllu, parse_trees, read_conllu
from graphsent.trees.errors import TreeError
from graphsent.trees.recognition import may_be_tree
from graphsent.trees.records import Line, Record, line_records, read_brackets
from graphsent.trees.text_files import read_text, undecodable

__all__ = ["parse_sentences", "sentences_from", "trees_from"]

Tokenize = Callable[[str], list[str]]

_ANY_TREES: dict[str, Any] = {"empty_nodes": "token", "require_labels": False}


def trees_from(path: str) -> Sequence[Tree | DependencyTree]:
    """The trees of a file, or of standard input for ``-``.

    They are dependency trees in CoNLL-U if the file is named ``*.conllu`` or ``*.conllu.gz``, or if
    standard input starts with a comment or a number, and bracketed trees otherwise. The label in
    lines of ``label<TAB>(tree)`` or in comments ``# label = ...`` becomes that of the root.

    Raises:
        TreeError: A tree is malformed; file, line and column are named.
        DataError: The file cannot be read, or is not valid UTF-8.
    """
    if format_by_name(Path(path)) == "conllu":
        return list(map(_with_root_label, read_conllu(path)))
    text, source = (_standard_input() if path == "-" else read_text(path)), name_of(path)
    lines = text.split("\n")
    first = next(filter(str.strip, lines), "")
    if label_before_tree(first) is not None:
        return _labelled_trees(lines, source)
    if path == "-" and is_conllu(lines, trees=True):
        return list(map(_with_root_label, parse_conllu(text, source)))
    return parse_trees(text, source, **_ANY_TREES)


def _with_root_label(tree: DependencyTree) -> DependencyTree:
    """The tree with the label of its comment, if there is one, at the root."""
    label = tree.metadata.get("label", "").strip()
    if not label:
        return tree
    labels = list(tree.labels)
    labels[tree.root] = label
    return tree.replace(labels=labels)


def _labelled_trees(lines: Sequence[str], source: str) -> list[Tree]:
    """The trees of lines with labels, which become those of the roots."""
    records = [Record(number, line, None) for number, line in enumerate(lines, 1) if "(" in line]
    bare = [record._replace(text=without_label(record.text)) for record in records]
    trees: list[Tree] = []
    for record, contents in zip(records, read_brackets(bare, source), strict=True):
        label = label_before_tree(record.text)
        for tree in contents:
            if isinstance(tree, TreeError):
                raise tree
            labels = tree.labels if label is None else (label.strip(), *tree.labels[1:])
            trees.append(tree.replace(labels=labels))
    return trees


def sentences_from(
    path: str, tokenize: Tokenize | None, class_names: Collection[str] = ()
) -> Sequence[Sentence] | Sequence[Tree | DependencyTree]:
    """The sentences of a file, or of standard input for ``-``.

    They are dependency trees in CoNLL-U if the file is named ``*.conllu`` or ``*.conllu.gz``, or if
    the first line of standard input that is not a comment is a number and several more columns;
    the texts of a table if the file is named like one; otherwise as in :func:`parse_sentences`.

    Args:
        path: The file.
        tokenize: Splits raw text into words; None if only trees are expected.
        class_names: Names of the model's classes, which may be labels of trees.

    Raises:
        TreeError: A tree is malformed; file, line and column are named.
        DataError: The file cannot be read, or is not valid UTF-8.
    """
    if path != "-":
        if format_by_name(Path(path)) == "conllu":
            return read_conllu(path)
        rows = lines_of_table(path, UTF8)
        text = read_text(path) if rows is None else _joined(rows)
        return parse_sentences(text, path, tokenize, class_names)
    text = _standard_input()
    if is_conllu(text.split("\n"), trees=False):
        return parse_conllu(text, STDIN)
    return parse_sentences(text, STDIN, tokenize, class_names)


def _joined(rows: Iterable[Line]) -> str:
    """The texts of a table, a line each."""
    texts = []
    for line in rows:
        if line.error is not None:
            raise DataError(str(line.error))
        texts.append(f"{line.text}\n")
    return "".join(texts)


def parse_sentences(
    text: str, source: str, tokenize: Tokenize | None, class_names: Collection[str] = ()
) -> Sequence[Sentence] | Sequence[Tree]:
    """The bracketed trees of a text that begins with one, else one sentence per line.

    An empty line is a sentence without words. Arguments are those of :func:`sentences_from`.
    """
    lines = text.split("\n")
    if text.lstrip().startswith("(") and (
        tokenize is None or may_be_tree(_first_record(lines, class_names), class_names)
    ):
        return parse_trees(text, source, **_ANY_TREES)
    if not lines[-1].strip():
        lines.pop()
    return [Sentence((tokenize or str.split)(line)) for line in lines]


def _first_record(lines: Sequence[str], class_names: Collection[str]) -> str:
    """The first record that is not empty; all lines are known."""
    numbered = [Line(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    records = line_records([numbered], sentences=True, class_names=class_names)
    return next(itertools.chain.from_iterable(records)).text


def _standard_input() -> str:
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise undecodable(error, STDIN, "utf-8", 1) from None
