"""Trees and sentences, labelled or not, from a file or standard input."""

from __future__ import annotations

import io
import itertools
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from graphsent._unpacking import open_gzip
from graphsent.cli.tables_in import table_format, texts_in_table
from graphsent.errors import DataError, GraphsentError
from graphsent.sentences import Sentence
from graphsent.tasks.own.lines import UTF8, decoded_lines
from graphsent.trees import (
    DependencyTree,
    Tree,
    parse_conllu,
    parse_trees,
    read_conllu,
)
from graphsent.trees.errors import EmptySentence, ExtraCloseBracket, TreeError, UnclosedTree
from graphsent.trees.recognition import begins_as_tree, may_be_tree
from graphsent.trees.records import (
    Line,
    Readable,
    Record,
    conllu_records,
    line_records,
    read_brackets,
    read_conllu_records,
)
from graphsent.trees.text_files import read_text

__all__ = [
    "INPUTS",
    "Given",
    "Reading",
    "Source",
    "given_in",
    "name_of",
    "opened",
    "parse_sentences",
    "sentences_from",
    "sides_in",
    "trees_from",
]

Tokenize = Callable[[str], list[str]]
Content = Tree | DependencyTree | Sentence | GraphsentError
ReadTexts = Callable[[list[str]], Sequence[Content]]

Source = str | tuple[str, ...]
"""A file, ``-`` for standard input, or texts."""

INPUTS = ("auto", "text", "trees")

_STDIN = "standard input"
_ANY_TREES: dict[str, Any] = {"empty_nodes": "token", "require_labels": False}
_CONLLU = (".conllu", ".conllu.gz")
_AT_ONCE = 256  # records read at once: parsing them takes seconds
_FEW_TABS = 2  # of a number as a label and two sentences; CoNLL-U has nine
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


def name_of(path: Source) -> str:
    """The name of an input in messages."""
    if not isinstance(path, str):
        return "argument"
    return _STDIN if path == "-" else path


def given_in(path: Source, reading: Reading) -> Iterator[list[Given]]:
    """Streams the trees or sentences of a file, or of standard input for ``-``.

    The formats are those of :func:`trees_from` and :func:`sentences_from`, and tables; but errors
    are yielded in place of bad inputs, trees and sentences may be mixed, and a tree continues only
    on lines that are indented, or begin with a bracket and close more brackets than they open. An
    empty line is an error, unless it separates multi-line trees or sentences of CoNLL-U.

    Args:
        path: The file, or texts, one per line.
        reading: How its lines are read.

    Raises:
        DataError: The file cannot be opened or read to its end.
    """
    yield from _given(_lines(path, reading.encoding), path, reading)


def sides_in(path: str, reading: Reading) -> list[Iterator[list[Given]]]:
    """Streams the first and the second sentences of a table of pairs, as :func:`given_in`.

    The table is read once; what one stream is ahead of the other is kept in memory.
    """
    lines = itertools.tee(_lines(path, reading.encoding))
    return [_given(pieces, path, reading, side) for side, pieces in enumerate(lines)]


def _lines(path: Source, encoding: str) -> Iterator[list[Line]]:
    with opened(path) as stream:
        yield from decoded_lines(stream, name_of(path), encoding if isinstance(path, str) else UTF8)


def _given(
    pieces: Iterator[list[Line]], path: Source, reading: Reading, side: int | None = None
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
        is_conllu = path.endswith(_CONLLU) and expected != "text"
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
        found = line_records(pieces, sentences=not only_trees)
    read = _reader_of_lines(reading)
    if form is not None:
        read = partial(_read_one_each, read)
    for records in found:
        for begin in range(0, len(records), _AT_ONCE):
            yield _read(records[begin : begin + _AT_ONCE], source, read)


def trees_from(path: str) -> Sequence[Tree | DependencyTree]:
    """The trees of a file, or of standard input for ``-``.

    They are dependency trees in CoNLL-U if the file is named ``*.conllu`` or ``*.conllu.gz``, or if
    standard input starts with a comment or a number, and bracketed trees otherwise. In lines of
    ``label<TAB>(tree)``, the label becomes that of the root.

    Raises:
        TreeError: A tree is malformed; file, line and column are named.
        DataError: The file cannot be read, or is not valid UTF-8.
    """
    if path != "-" and path.endswith(_CONLLU):
        return read_conllu(path)
    text, source = (_standard_input() if path == "-" else read_text(path)), name_of(path)
    lines = text.split("\n")
    first = next(filter(str.strip, lines), "")
    if _label_before_tree(first) is not None:
        return _labelled_trees(lines, source)
    if path == "-" and _is_conllu(lines, trees=True):
        return parse_conllu(text, source)
    return parse_trees(text, source, **_ANY_TREES)


def _labelled_trees(lines: Sequence[str], source: str) -> list[Tree]:
    """The trees of lines with labels, which become those of the roots."""
    records = [Record(number, line, None) for number, line in enumerate(lines, 1) if "(" in line]
    bare = [record._replace(text=_without_label(record.text)) for record in records]
    trees: list[Tree] = []
    for record, contents in zip(records, read_brackets(bare, source), strict=True):
        label = _label_before_tree(record.text)
        for tree in contents:
            if isinstance(tree, TreeError):
                raise tree
            labels = tree.labels if label is None else (label.strip(), *tree.labels[1:])
            trees.append(Tree(labels, tree.tokens, tree.parents))
    return trees


def sentences_from(
    path: str, tokenize: Tokenize | None, class_names: Collection[str] = ()
) -> Sequence[Sentence] | Sequence[Tree | DependencyTree]:
    """The sentences of a file, or of standard input for ``-``.

    They are dependency trees in CoNLL-U if the file is named ``*.conllu`` or ``*.conllu.gz``, or if
    the first line of standard input that is not a comment is a number and several more columns;
    otherwise as in :func:`parse_sentences`.

    Args:
        path: The file.
        tokenize: Splits raw text into words; None if only trees are expected.
        class_names: Names of the model's classes, which may be labels of trees.

    Raises:
        TreeError: A tree is malformed; file, line and column are named.
        DataError: The file cannot be read, or is not valid UTF-8.
    """
    if path != "-":
        if path.endswith(_CONLLU):
            return read_conllu(path)
        return parse_sentences(read_text(path), path, tokenize, class_names)
    text = _standard_input()
    if _is_conllu(text.split("\n"), trees=False):
        return parse_conllu(text, _STDIN)
    return parse_sentences(text, _STDIN, tokenize, class_names)


def parse_sentences(
    text: str, source: str, tokenize: Tokenize | None, class_names: Collection[str] = ()
) -> Sequence[Sentence] | Sequence[Tree]:
    """The bracketed trees of a text that begins with one, else one sentence per line.

    An empty line is a sentence without words. Arguments are those of :func:`sentences_from`.
    """
    lines = text.split("\n")
    if text.lstrip().startswith("(") and (
        tokenize is None or may_be_tree(_first_record(lines), class_names)
    ):
        return parse_trees(text, source, **_ANY_TREES)
    if not lines[-1].strip():
        lines.pop()
    return [Sentence((tokenize or str.split)(line)) for line in lines]


def _first_record(lines: Sequence[str]) -> str:
    """The first record that is not empty; all lines are known."""
    numbered = [Line(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    records = itertools.chain.from_iterable(line_records([numbered], sentences=True))
    return next(records).text


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


def _reader_of_lines(
    reading: Reading,
) -> Callable[[Sequence[Record], str], list[list[Any]]]:
    """A reader of bracketed trees, raw text, or both."""

    def read(records: Sequence[Record], source: str) -> list[list[Any]]:
        bare = [record._replace(text=_without_label(record.text)) for record in records]
        if reading.read_texts is None:
            return read_brackets(bare, source)
        found: list[list[Any] | None] = [None] * len(records)
        likely = [reading.expected != "text" and _may_be_tree(each.text) for each in bare]
        trees = iter(read_brackets(list(itertools.compress(bare, likely)), source))
        for index in itertools.compress(range(len(records)), likely):
            contents, text = next(trees), bare[index].text
            is_tree = len(contents) == 1 and isinstance(contents[0], Tree)
            if is_tree or "\n" in text or _is_broken(contents, text):
                found[index] = contents
        rest = [index for index, contents in enumerate(found) if contents is None]
        texts = reading.read_texts([records[index].text for index in rest]) if rest else []
        for index, content in zip(rest, texts, strict=True):
            found[index] = [content]
        return found  # type: ignore[return-value]

    def _may_be_tree(text: str) -> bool:
        return "\n" in text or may_be_tree(text, reading.class_names)

    def _is_broken(contents: Sequence[Any], text: str) -> bool:
        is_unmatched = any(isinstance(each, UnclosedTree | ExtraCloseBracket) for each in contents)
        return is_unmatched and begins_as_tree(text, reading.class_names)

    return read


def _without_label(line: str) -> str:
    """The line, with spaces in place of a label before a tab and a bracket.

    Columns in messages stay right.
    """
    label = _label_before_tree(line)
    return line if label is None else " " * len(label) + line[len(label) :]


def _label_before_tree(line: str) -> str | None:
    """The label of ``label<TAB>(tree)``, as written by ``graphsent parse``, else None."""
    label, *rest = line.split("\t")
    if label.lstrip().startswith("(") or label.count("(") != label.count(")"):
        return None
    return label if len(rest) == 1 and rest[0].lstrip().startswith("(") else None


def _read_one_each(
    read: Callable[[list[Record], str], list[list[Any]]], records: list[Record], source: str
) -> list[list[Any]]:
    """The contents of table rows, one result per row."""
    found = read(records, source)
    for record, contents in zip(records, found, strict=True):
        if len(contents) != 1:
            message = f"expected one tree per row, got {len(contents)}"
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
        found = _is_conllu((line.text for line in piece), trees=trees)
        if found is not None or sum(map(len, seen)) > _MOST_COMMENTS:
            break
    return bool(found), itertools.chain(seen, pieces)


def _is_conllu(lines: Iterable[str], *, trees: bool) -> bool | None:
    """Whether lines are CoNLL-U; None if they do not decide it."""
    for line in lines:
        if not line.strip() or (line.startswith("#") and not trees):
            continue
        begin = line.lstrip()[0]
        if trees:
            return begin in "#0123456789" and _label_before_tree(line) is None
        return begin.isdigit() and line.count("\t") > _FEW_TABS
    return None


@contextmanager
def opened(path: Source) -> Iterator[Readable]:
    """The bytes of a file, unzipped if named ``*.gz``, of standard input for ``-``, or of texts.

    Raises:
        DataError: The file cannot be opened; or, while it is read, it unpacks beyond the limit of
            :func:`~graphsent._unpacking.open_gzip`.
    """
    if path == "-":
        stream: Any = sys.stdin.buffer
        yield stream
        return
    if not isinstance(path, str):
        lines = (" ".join(text.split()) + "\n" for text in path)
        yield io.BytesIO("".join(lines).encode("utf-8", "surrogateescape"))
        return
    open_file = open_gzip if path.endswith(".gz") else partial(Path.open, mode="rb")
    try:
        stream = open_file(Path(path))
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    with stream:
        yield stream


def _standard_input() -> str:
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{_STDIN}:{line}: expected UTF-8 text: {error.reason}") from None
