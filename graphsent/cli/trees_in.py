"""Trees and sentences, labelled or not, streamed from a file, standard input or texts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from graphsent.cli.sources import Source, is_conllu, name_of, source_lines, without_label
from graphsent.cli.tables_in import table_format, texts_in_table
from graphsent.errors import GraphsentError
from graphsent.sentences import Sentence
from graphsent.tasks.own.lines import UTF8
from graphsent.tasks.own.reader import format_by_name
from graphsent.trees import DependencyTree, Tree
from graphsent.trees.errors import EmptySentence, ExtraCloseBracket, TreeError, UnclosedTree
from graphsent.trees.recognition import begins_as_tree, may_be_tree
from graphsent.trees.records import (
    Line,
    Record,
    conllu_records,
    line_records,
    read_brackets,
    read_conllu_records,
)

__all__ = ["Given", "Reading", "given_in", "sides_in"]

Content = Tree | DependencyTree | Sentence | GraphsentError
ReadTexts = Callable[[list[str]], Sequence[Content]]

_AT_ONCE = 256  # records read at once: parsing them takes seconds
_MOST_COMMENTS = 1000  # lines before the first sentence in possible CoNLL-U


class Given(NamedTuple):
    """The input at a line: a tree or sentence, or the error in it."""

    line: int
    content: Content


class Reading(NamedTuple):
    """How the inputs of a command are read.

    Attributes:
        read_texts: Returns a sentence, tree or error per line of a list of raw text; None if only
            trees are expected.
        class_names: Names of the model's classes, which may be labels of trees.
        expected: ``"text"``: every line is raw text; ``"trees"``: every line is a tree; ``"auto"``:
            a line is a tree if it is exactly one, an error if it begins as a tree whose brackets do
            not match, and raw text otherwise; see :mod:`graphsent.trees.recognition`.
        columns: Columns of a table, see :func:`~graphsent.cli.tables_in.texts_in_table`.
        encoding: Encoding of files and standard input.
    """

    read_texts: ReadTexts | None
    class_names: Collection[str] = ()
    expected: str = "auto"
    columns: Sequence[str] = ()
    encoding: str = UTF8


def given_in(path: Source, reading: Reading, *, one_each: bool = False) -> Iterator[list[Given]]:
    """Streams the trees or sentences of a file, or of standard input for ``-``.

    The formats are those of :mod:`graphsent.cli.whole_files`, and tables; but errors
    are yielded in place of bad inputs, trees and sentences may be mixed, and a tree continues only
    on lines that are indented, or begin with a bracket and close more brackets than they open. An
    empty line is an error, unless it separates multi-line trees or sentences of CoNLL-U.

    Args:
        path: The file, or texts, one per line.
        reading: How its lines are read.
        one_each: Whether several trees on a line are an error, as always in a table: in files of
            pairs, those of later lines would be paired with others.

    Raises:
        DataError: The file cannot be opened or read to its end.
    """
    yield from _given(source_lines(path, reading.encoding), path, reading, one_each=one_each)


def sides_in(path: str, reading: Reading) -> list[Iterator[list[Given]]]:
    """Streams the first and the second sentences of a table of pairs, as :func:`given_in`.

    The table is read once; what one stream is ahead of the other is kept in memory.
    """
    lines = itertools.tee(source_lines(path, reading.encoding))
    return [_given(pieces, path, reading, side) for side, pieces in enumerate(lines)]


def _given(
    pieces: Iterator[list[Line]],
    path: Source,
    reading: Reading,
    side: int | None = None,
    *,
    one_each: bool = False,
) -> Iterator[list[Given]]:
    """The trees or sentences in lines; with ``side``, in this column of a table of pairs."""
    source, expected = name_of(path), reading.expected
    if expected == "trees":
        reading = reading._replace(read_texts=None)
    only_trees = reading.read_texts is None
    form, is_conllu = None, False
    if isinstance(path, str):
        is_certain = bool(reading.columns) or side is not None
        form, pieces = table_format(path, pieces, is_certain=is_certain)
        is_conllu = format_by_name(Path(path)) == "conllu" and expected != "text"
    if path == "-" and form is None and expected != "text":
        is_conllu, pieces = _recognized(pieces, trees=only_trees)
    if is_conllu:
        for records in conllu_records(pieces):
            yield _read(records, source, read_conllu_records)
        return
    if form is not None:
        pieces = texts_in_table(pieces, form, source, reading.columns, side)
    if form is not None or expected == "text":
        found: Iterator[list[Record]] = ([Record(*line) for line in piece] for piece in pieces)
    else:
        names = reading.class_names
        found = line_records(pieces, sentences=not only_trees, class_names=names)
    read = partial(_read_lines, reading)
    if form is not None or one_each:
        read = partial(_read_one_each, read)
    for records in found:
        for begin in range(0, len(records), _AT_ONCE):
            yield _read(records[begin : begin + _AT_ONCE], source, read)


def _read(
    records: Iterable[Record], source: str, read: Callable[[list[Record], str], list[list[Any]]]
) -> list[Given]:
    """The contents of records; ``read`` returns those of each that is valid, non-empty text."""
    records = [_with_error_if_empty(record, source) for record in records]
    found = iter(read([record for record in records if record.error is None], source))
    return [
        Given(record.line, content)
        for record in records
        for content in ([record.error] if record.error is not None else next(found))
    ]


def _read_lines(reading: Reading, records: Sequence[Record], source: str) -> list[list[Any]]:
    """The contents of lines: bracketed trees, raw text, or both."""
    bare = [record._replace(text=without_label(record.text)) for record in records]
    if reading.read_texts is None:
        return read_brackets(bare, source)
    names = reading.class_names
    likely = [
        index
        for index, each in enumerate(bare)
        if reading.expected != "text" and ("\n" in each.text or may_be_tree(each.text, names))
    ]
    found = zip(likely, read_brackets([bare[index] for index in likely], source), strict=True)
    trees = {
        index: contents for index, contents in found if _is_tree(contents, bare[index].text, names)
    }
    rest = [record.text for index, record in enumerate(records) if index not in trees]
    texts = iter(reading.read_texts(rest) if rest else ())
    return [trees[index] if index in trees else [next(texts)] for index in range(len(records))]


def _is_tree(contents: Sequence[Any], text: str, class_names: Collection[str]) -> bool:
    """Whether a text is one tree, or begins as a tree whose brackets do not match."""
    if "\n" in text or (len(contents) == 1 and isinstance(contents[0], Tree)):
        return True
    is_unmatched = any(isinstance(each, UnclosedTree | ExtraCloseBracket) for each in contents)
    return is_unmatched and begins_as_tree(text, class_names)


def _read_one_each(
    read: Callable[[list[Record], str], list[list[Any]]], records: list[Record], source: str
) -> list[list[Any]]:
    """The contents of records, one result per record."""
    found = read(records, source)
    for record, contents in zip(records, found, strict=True):
        if len(contents) != 1:
            message = f"expected one tree, got {len(contents)}"
            contents[:] = [TreeError(message, source, record.line)]
    return found


def _with_error_if_empty(record: Record, source: str) -> Record:
    if record.error is not None or record.text.strip():
        return record
    message = "an empty line: expected a sentence"
    return record._replace(error=EmptySentence(message, source, record.line))


def _recognized(pieces: Iterator[list[Line]], *, trees: bool) -> tuple[bool, Iterator[list[Line]]]:
    """Whether a text is CoNLL-U, decided from its first lines; and all of its lines."""
    seen: list[list[Line]] = []
    found = None
    for piece in pieces:
        seen.append(piece)
        found = is_conllu((line.text for line in piece), trees=trees)
        if found is not None or sum(map(len, seen)) > _MOST_COMMENTS:
            break
    return bool(found), itertools.chain(seen, pieces)
