"""Reads trees in users' files: bracketed, in CoNLL-U, or in a column of a table."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from graphsent.tasks.own.examples import BadLine, Content, OwnExample
from graphsent.tasks.own.tables import Row
from graphsent.trees import Tree, TreeError
from graphsent.trees.records import (
    Line,
    Record,
    conllu_records,
    line_records,
    read_brackets,
    read_conllu_records,
)

__all__ = ["bracketed_trees", "dependency_trees", "examples_of_rows"]

_AT_ONCE = 512  # cells of a table that are parsed together


def bracketed_trees(
    pieces: Iterable[list[Line]], source: str, *, labelled: bool
) -> Iterator[OwnExample | BadLine]:
    """Bracketed trees, one per record; the label of an example is that of its root.

    Args:
        pieces: Lines of a file, in chunks.
        source: Name of the file in messages.
        labelled: Whether the root must have a label.
    """
    for records in line_records(pieces, sentences=False):
        sound = [record for record in records if record.error is None and record.text.strip()]
        found = iter(read_brackets(sound, source))
        for record in records:
            if record.error is not None:
                yield BadLine(record.line, str(record.error))
            elif record.text.strip():
                tree = _one_tree(next(found), record, source)
                if isinstance(tree, BadLine):
                    yield tree
                elif tree.labels[0] or not labelled:
                    yield OwnExample(record.line, tree.labels[0], (tree,))
                else:
                    yield BadLine(record.line, f"{source}:{record.line}: the root has no label")


def dependency_trees(
    pieces: Iterable[list[Line]], source: str, label: str | None
) -> Iterator[OwnExample | BadLine]:
    """Sentences in CoNLL-U.

    Args:
        pieces: Lines of a file, in chunks.
        source: Name of the file in messages.
        label: The label of all sentences; None to read it from the comment ``# label = ...`` or,
            failing that, from the root (``Label=`` in its MISC column).
    """
    for records in conllu_records(pieces):
        for record in records:
            if record.error is not None:
                yield BadLine(record.line, str(record.error))
                continue
            (tree,) = read_conllu_records([record], source)[0]
            if isinstance(tree, TreeError):
                yield BadLine(tree.line or record.line, str(tree))
                continue
            own = label or tree.metadata.get("label", "").strip()
            own = own or tree.labels[tree.root]
            if own:
                yield OwnExample(record.line, own, (tree,))
            else:
                message = "the sentence has no label: expected a comment '# label = ...'"
                yield BadLine(record.line, f"{source}:{record.line}: {message}")


def examples_of_rows(
    rows: Iterator[Row | BadLine], source: str, label: str | None, input: str
) -> Iterator[OwnExample | BadLine]:
    """The examples of rows whose texts are raw text or bracketed trees.

    Args:
        rows: Rows of a table.
        source: Name of the file in messages.
        label: The label of rows without one.
        input: Whether texts are ``"trees"`` or raw ``"text"``; ``"auto"`` goes by the first one.
    """
    are_trees = None if input == "auto" else input == "trees"
    while chunk := list(itertools.islice(rows, _AT_ONCE)):
        if are_trees is None:
            first = next((row for row in chunk if isinstance(row, Row)), None)
            are_trees = first and _reads_as_tree(first.texts[0], source)
        records = [
            Record(row.line, text, None)
            for row in (chunk if are_trees else ())
            if isinstance(row, Row)
            for text in row.texts
        ]
        trees = iter(zip(read_brackets(records, source), records, strict=True))
        for row in chunk:
            if isinstance(row, BadLine):
                yield row
                continue
            contents: list[Content | BadLine] = list(row.texts)
            if are_trees:
                contents = [_without_labels(_one_tree(*next(trees), source)) for _ in row.texts]
            bad = next((each for each in contents if isinstance(each, BadLine)), None)
            own = row.label or label or ""
            yield bad or OwnExample(row.line, own, tuple(contents))  # type: ignore[arg-type]


def _one_tree(found: Sequence[Tree | TreeError], record: Record, source: str) -> Tree | BadLine:
    if len(found) == 1 and isinstance(found[0], Tree):
        return found[0]
    if found and isinstance(found[0], TreeError):
        line = found[0].line or record.line
        return BadLine(line, f"{source}:{line}: {found[0].message}")
    count = f"{len(found)} trees" if found else f"{record.text[:40]!r}"
    return BadLine(record.line, f"{source}:{record.line}: expected one bracketed tree, got {count}")


def _without_labels(tree: Tree | BadLine) -> Tree | BadLine:
    return tree if isinstance(tree, BadLine) else tree.replace(labels=("",) * tree.num_nodes)


def _reads_as_tree(text: str, source: str) -> bool:
    """Whether a text is one tree of several nodes, not a sentence in brackets."""
    if not text.startswith("("):
        return False
    found = read_brackets([Record(1, text, None)], source)[0]
    return len(found) == 1 and isinstance(found[0], Tree) and found[0].num_nodes > 1
