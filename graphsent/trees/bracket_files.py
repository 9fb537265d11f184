"""Readers of bracketed trees."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import numpy as np

from graphsent.trees.brackets import ParsedText, parse
from graphsent.trees.errors import (
    TextOutsideTree,
    UnclosedTree,
    WrongTreeCount,
)
from graphsent.trees.text_files import text_pieces
from graphsent.trees.tree import Tree


def read_trees(
    path: str | os.PathLike[str],
    *,
    encoding: str = "utf-8",
    empty_nodes: str = "error",
    require_labels: bool = True,
) -> list[Tree]:
    """Reads a file of bracketed trees, such as the SST, the Penn Treebank or QuestionBank.

    A tree may span several lines, and a line may hold several trees. A file named ``*.gz`` is
    decompressed.

    Args:
        path: The file.
        encoding: Its encoding; a byte-order mark is skipped.
        empty_nodes: See :func:`parse_trees`.
        require_labels: See :func:`parse_trees`.

    Raises:
        TreeError: The file is malformed; the message says where and how.
        DataError: The file cannot be read.
    """
    return list(
        iter_trees(path, encoding=encoding, empty_nodes=empty_nodes, require_labels=require_labels)
    )


def iter_trees(
    path: str | os.PathLike[str],
    *,
    encoding: str = "utf-8",
    empty_nodes: str = "error",
    require_labels: bool = True,
) -> Iterator[Tree]:
    """Yields the trees of :func:`read_trees` one by one, in little memory.

    An error is raised when reading reaches it, after the trees before it.
    """
    for line, text in _whole_trees(text_pieces(path, encoding)):
        yield from trees_of(parse(text, str(path), empty_nodes, require_labels, line))


def parse_trees(
    text: str,
    source: str = "<string>",
    *,
    empty_nodes: str = "error",
    require_labels: bool = True,
) -> list[Tree]:
    r"""Parses the bracketed trees of a text.

    A node is ``(label token)`` or ``(label child child ...)``; spaces between siblings are
    optional. Only brackets and ASCII whitespace are separators, so that a no-break space (U+00A0)
    stays inside its token. Escapes such as ``-LRB-`` and ``\/`` are kept (see ``unescape``). An
    outer bracket without a label around a single node, as in ``( (S ...))``, is removed.

    Args:
        text: The trees.
        source: Name of the text in messages.
        empty_nodes: How to treat nodes with neither token nor children: ``()`` and ``(name)``.
            ``"error"`` raises; ``"drop"`` drops them, and parents that are thereby left empty;
            ``"token"`` makes the name the token of a node without a label, and drops ``()``.
        require_labels: Whether inner nodes must have labels. Otherwise, missing ones, as in
            ``((A a) (B b))``, are ``""``; with ``empty_nodes="token"``, this reads whatever
            ``str(tree)`` writes.

    Raises:
        TreeError: The text is malformed; each kind of error has a subclass in
            :mod:`graphsent.trees.errors`.

    Example:
        >>> [tree.words for tree in parse_trees("( (NP (DT the)(NN book))) (NN film)")]
        [['the', 'book'], ['film']]
    """
    return trees_of(parse(text, source, empty_nodes, require_labels))


def trees_of(parsed: ParsedText) -> list[Tree]:
    """The trees of a parsed text."""
    return [Tree._trusted(*fields) for fields in parsed.trees]


def read_labelled_trees(
    path: str | os.PathLike[str], *, encoding: str = "utf-8", empty_nodes: str = "error"
) -> list[tuple[str, Tree | None]]:
    """Reads a file with one ``label<TAB>tree`` per line.

    Args:
        path: The file; decompressed if named ``*.gz``.
        encoding: Its encoding.
        empty_nodes: See :func:`parse_trees`.

    Returns:
        Label and tree of each line; the tree is None if nothing follows the tab.

    Raises:
        TreeError: A line has no tab, more than one tree, or a malformed one.
        DataError: The file cannot be read.
    """
    return list(iter_labelled_trees(path, encoding=encoding, empty_nodes=empty_nodes))


def iter_labelled_trees(
    path: str | os.PathLike[str], *, encoding: str = "utf-8", empty_nodes: str = "error"
) -> Iterator[tuple[str, Tree | None]]:
    """Yields the results of :func:`read_labelled_trees` one by one, in little memory."""
    for first_line, text in text_pieces(path, encoding):
        yield from _labelled_trees(text, str(path), empty_nodes, first_line)


def _labelled_trees(
    text: str, source: str, empty_nodes: str, first_line: int
) -> Iterator[tuple[str, Tree | None]]:
    lines = text.removesuffix("\n").split("\n")
    labels = []
    for number, line in enumerate(lines, start=first_line):
        label, tab, _ = line.partition("\t")
        if not tab:
            found = repr(line[:30])
            message = f"no tab in {found}: expected 'label<TAB>tree'"
            raise TextOutsideTree(message, source, number, 1)
        labels.append(label)
    # Spaces in place of the labels keep the columns in messages right.
    trees_alone = "\n".join(
        " " * len(label) + line[len(label) :] for label, line in zip(labels, lines, strict=True)
    )
    parsed = parse(trees_alone, source, empty_nodes, True, first_line)
    trees: list[Tree | None] = [None] * len(lines)
    for tree, line_index in zip(trees_of(parsed), _one_tree_a_line(parsed), strict=True):
        trees[line_index] = tree
    yield from zip(labels, trees, strict=True)


def _whole_trees(pieces: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Cuts a text into new pieces, at line ends outside of trees."""
    pending: list[str] = []
    first_line, level = 1, 0
    for _, text in pieces:
        characters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        change = (characters == ord("(")).astype(np.int8) - (characters == ord(")"))
        levels = level + np.cumsum(change, dtype=np.int64)
        # If more brackets are closed than opened, the text is malformed: pass it on at once.
        ends = np.flatnonzero((characters == ord("\n")) & (levels <= 0))
        level = int(levels[-1])
        if ends.size:
            end = int(ends[-1]) + 1
            whole = "".join((*pending, text[:end]))
            yield first_line, whole
            first_line += whole.count("\n")
            level -= int(levels[end - 1])
            pending, text = [], text[end:]
        pending.append(text)
    if any(pending):
        yield first_line, "".join(pending)


def _one_tree_a_line(parsed: ParsedText) -> list[int]:
    """The index of the line of each tree."""
    items = parsed.items
    line_ends = np.flatnonzero(np.frombuffer(items.data, np.uint8) == ord("\n"))
    first_line = np.searchsorted(line_ends, parsed.first)
    last_line = np.searchsorted(line_ends, parsed.last)
    for tree in np.flatnonzero(first_line != last_line):
        message = "the tree does not end in its line: expected 'label<TAB>tree'"
        raise items.error(UnclosedTree, message, int(parsed.first[tree]))
    for tree in np.flatnonzero(first_line[1:] == first_line[:-1]) + 1:
        message = "a second tree in the line: expected 'label<TAB>tree'"
        raise items.error(WrongTreeCount, message, int(parsed.first[tree]))
    return first_line.tolist()
