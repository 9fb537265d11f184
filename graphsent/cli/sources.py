"""Sources of input: files, standard input or texts, and how to recognize what they hold."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphsent.tasks.own.lines import UTF8, decoded_lines, with_line_ends
from graphsent.trees.records import Line, Readable
from graphsent.trees.text_files import open_file

__all__ = [
    "STDIN",
    "Source",
    "is_conllu",
    "label_before_tree",
    "name_of",
    "on_one_line",
    "opened",
    "source_lines",
    "without_label",
]

Source = str | tuple[str, ...]
"""A file, ``-`` for standard input, or texts."""

STDIN = "standard input"
_UNBLANK = re.compile(r"\S+", re.ASCII)  # no-break spaces may be inside the words of a tree
_FEW_TABS = 2  # of a number as a label and two sentences; CoNLL-U has nine


def name_of(path: Source) -> str:
    """The name of an input in messages."""
    if not isinstance(path, str):
        return "argument"
    return STDIN if path == "-" else path


def on_one_line(text: str) -> str:
    """A text with single spaces in place of line ends and other ASCII whitespace."""
    return " ".join(_UNBLANK.findall(text))


@contextmanager
def opened(path: Source) -> Iterator[Readable]:
    """The bytes of a file, unzipped if named ``*.gz``, of standard input for ``-``, or of texts.

    Raises:
        DataError: The file cannot be opened; or, while it is read, it unpacks beyond the limit of
            :func:`~graphsent._unpacking.open_unpacked`.
    """
    if path == "-":
        stream: Any = sys.stdin.buffer
        yield stream
        return
    if not isinstance(path, str):
        lines = (on_one_line(text) + "\n" for text in path)
        yield io.BytesIO("".join(lines).encode("utf-8", "surrogateescape"))
        return
    with open_file(Path(path)) as stream:
        yield stream


def source_lines(path: Source, encoding: str) -> Iterator[list[Line]]:
    """The lines of a source as they arrive, those of files and standard input in an encoding.

    Raises:
        DataError: As for :func:`opened`, :func:`~graphsent.tasks.own.lines.decoded_lines` and, for
            files, :func:`~graphsent.tasks.own.lines.with_line_ends`.
    """
    with opened(path) as stream:
        name = name_of(path)
        pieces = decoded_lines(stream, name, encoding if isinstance(path, str) else UTF8)
        # Of a pipe, a second piece may arrive much later than the first.
        is_file = path != "-" and isinstance(path, str) and Path(path).is_file()
        yield from with_line_ends(pieces, name) if is_file else pieces


def is_conllu(lines: Iterable[str], *, trees: bool) -> bool | None:
    """Whether lines are CoNLL-U; None if they do not decide it."""
    for line in lines:
        if not line.strip() or (line.startswith("#") and not trees):
            continue
        begin = line.lstrip()[0]
        if trees:
            return begin in "#0123456789" and label_before_tree(line) is None
        return begin.isdigit() and line.count("\t") > _FEW_TABS
    return None


def without_label(line: str) -> str:
    """The line, with spaces in place of a label before a tab and a bracket.

    Columns in messages stay right.
    """
    label = label_before_tree(line)
    return line if label is None else " " * len(label) + line[len(label) :]


def label_before_tree(line: str) -> str | None:
    """The label of ``label<TAB>(tree)``, as written by ``graphsent parse``, else None."""
    label, _, tree = line.partition("\t")
    if label.lstrip().startswith("(") or not tree.lstrip().startswith("(") or "\t" in tree:
        return None
    # A label may be :), and a tree may lack a bracket; a line within a tree mostly has both.
    is_label = any(part.count("(") == part.count(")") for part in (label, tree))
    return label if is_label else None
