"""Readers and writers of dependency trees in CoNLL-U.

The format: https://universaldependencies.org/format.html. The label of the phrase headed by a word
is the entry ``Label`` of the word's MISC column, percent-encoded except for printable ASCII
characters other than ``%`` and ``|``.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple, NoReturn
from urllib.parse import quote, unquote

import conllu
import numpy as np

from graphsent.trees.dependency import DependencyTree, find_fault
from graphsent.trees.errors import (
    BadNumber,
    EmptySentence,
    TreeError,
    UnwritableTree,
    WrongColumns,
)
from graphsent.trees.text_files import text_pieces, write_text

_NUM_COLUMNS = 10
_HEAD = 6  # index of the column
# The library strips lines, so neither the first nor the last column may be blank.
_WORD_LINE = re.compile(rf"\S[^\t]*(?:\t[^\t]+){{{_NUM_COLUMNS - 2}}}\t[^\t]*[^\t\s][^\t]*")
_DIVIDER = "  "  # unlike the format, the library also splits columns here
_RANGE_OR_EMPTY_NODE = re.compile(r"[0-9]+[-.][0-9]+")
_MAX_DIGITS = 9
_LABEL = "Label="
_SAFE_IN_LABELS = "".join(set(map(chr, range(ord("!"), ord("~") + 1))) - set("%|"))
_UNWRITABLE = re.compile(r"[\t\n\r]| {2}")


class _BadFieldError(Exception):
    """A field parser met an invalid value; the line is found later."""

    def __init__(self, column: int, message: str) -> None:
        super().__init__(column, message)
        self.column = column
        self.message = message


class _Sentence(NamedTuple):
    """The lines of one sentence; ``first_line`` is the number of the first, from 1."""

    source: str
    first_line: int
    lines: list[str]

    def fail(self, error: type[TreeError], message: str, line: int, column: int) -> NoReturn:
        """Raises an error at a field; ``line`` and ``column`` are indices from 0."""
        before = self.lines[line].split("\t")[:column]
        place = sum(len(field) + 1 for field in before) + 1
        raise error(message, self.source, self.first_line + line, place)


def read_conllu(path: str | os.PathLike[str], *, encoding: str = "utf-8") -> list[DependencyTree]:
    """Reads a CoNLL-U file; decompressed if named ``*.gz``. See :func:`parse_conllu`.

    Raises:
        TreeError: The file is malformed; the message says where and how.
        DataError: The file cannot be read.
    """
    return list(iter_conllu(path, encoding=encoding))


def iter_conllu(
    path: str | os.PathLike[str], *, encoding: str = "utf-8"
) -> Iterator[DependencyTree]:
    """Yields the trees of :func:`read_conllu` one by one, in little memory.

    An error is raised when reading reaches it, after the trees before it.
    """
    pieces = text_pieces(path, encoding)
    lines = (line for _, text in pieces for line in text.removesuffix("\n").split("\n"))
    return map(_parse_sentence, _sentences(lines, str(path), 1))


def parse_conllu(text: str, source: str = "<string>", first_line: int = 1) -> list[DependencyTree]:
    """Parses the dependency trees of a text in CoNLL-U.

    All columns are kept, and comments (both ``# name = value``, of which the last counts if a name
    occurs twice, and bare ``# name``). Word ranges (``3-4``) and empty nodes (``5.1``) are not
    words of the tree: their lines are kept as they are.

    Args:
        text: The sentences, each followed by an empty line.
        source: Name of the text in messages.
        first_line: Number of the text's first line in messages.

    Raises:
        TreeError: A line does not have ten columns, ids are not consecutive from 1, or heads do
            not form a tree; each error has a subclass in :mod:`graphsent.trees.errors`.
    """
    sentences = _sentences(text.split("\n"), source, first_line)
    return [_parse_sentence(sentence) for sentence in sentences]


def _sentences(numbered: Iterable[str], source: str, first_line: int) -> Iterator[_Sentence]:
    lines: list[str] = []
    number = 0
    for number, line in enumerate(numbered, start=first_line):
        if line and not line.isspace():
            lines.append(line.removesuffix("\r"))
        elif lines:
            yield _Sentence(source, number - len(lines), lines)
            lines = []
    if lines:
        yield _Sentence(source, number + 1 - len(lines), lines)


def _parse_sentence(sentence: _Sentence) -> DependencyTree:
    lines = _check_columns(sentence)
    try:
        parsed = _parse_lines("\n".join(sentence.lines))
    except _BadFieldError:
        _fail_at_bad_field(sentence)
    words: list[conllu.Token] = []
    word_lines: list[int] = []
    other_lines: list[tuple[int, str]] = []
    for line, token in zip(lines, parsed, strict=True):
        if token["id"] is None:  # a range or an empty node
            other_lines.append((len(words), sentence.lines[line]))
            continue
        words.append(token)
        word_lines.append(line)
        if token["id"] != len(words):
            message = f"word id {token['id']}: expected {len(words)}"
            sentence.fail(BadNumber, message, line, 0)
    heads = np.array([word["head"] - 1 for word in words], np.int64)
    annotations = [_label_and_rest(word["misc"]) for word in words]
    try:
        return DependencyTree(
            [word["form"] for word in words],
            heads,
            labels=[label for label, _ in annotations],
            relations=[word["deprel"] for word in words],
            upos=[word["upos"] for word in words],
            xpos=[word["xpos"] for word in words],
            lemmas=[word["lemma"] for word in words],
            feats=[word["feats"] for word in words],
            deps=[word["deps"] for word in words],
            misc=[rest for _, rest in annotations],
            metadata={name: value or "" for name, value in parsed.metadata.items() if name},
            other_lines=other_lines,
        )
    except TreeError:
        _fail_at_head(sentence, heads, word_lines)


def _check_columns(sentence: _Sentence) -> list[int]:
    """Indices of the word lines, whose columns are checked."""
    indices = [index for index, line in enumerate(sentence.lines) if not line.startswith("#")]
    if not indices:
        message = "comments without words: expected a sentence below them"
        sentence.fail(EmptySentence, message, 0, 0)
    for index in indices:
        line = sentence.lines[index]
        if not _WORD_LINE.fullmatch(line) or _DIVIDER in line:
            num_columns = line.count("\t") + 1
            found = f"{num_columns} columns"
            if num_columns == _NUM_COLUMNS:
                found = "an empty column or one with two consecutive spaces"
            message = f"{found}: expected {_NUM_COLUMNS}, separated by single tabs, '_' if unknown"
            sentence.fail(WrongColumns, message, index, 0)
    return indices


def _parse_id(columns: list[str], index: int) -> int | None:
    value = columns[index]
    if _is_number(value):
        return int(value)
    if _RANGE_OR_EMPTY_NODE.fullmatch(value):
        return None
    raise _BadFieldError(index, f"word id {value!r}: expected an integer, a range or an empty node")


def _parse_head(columns: list[str], index: int) -> int | None:
    value = columns[index]
    if _is_number(value):
        return int(value)
    if not _is_number(columns[0]):
        return None
    raise _BadFieldError(index, f"head {value!r}: expected an integer from 0")


def _is_number(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS


def _parse_as_it_is(columns: list[str], index: int) -> str:
    return columns[index]


def _parse_lines(text: str) -> conllu.TokenList:
    field_parsers = dict.fromkeys(("xpos", "feats", "deps", "misc"), _parse_as_it_is)
    return conllu.parse_token_and_metadata(
        text,
        field_parsers={"id": _parse_id, "head": _parse_head, **field_parsers},
        metadata_parsers={"__fallback__": lambda name, value: (name, value)},
    )


def _label_and_rest(misc: str) -> tuple[str, str]:
    """The first label among the entries of a MISC column, and the entries that are no labels."""
    if _LABEL not in misc:
        return "", misc
    entries = misc.split("|")
    labels = [entry for entry in entries if entry.startswith(_LABEL)]
    rest = "|".join(entry for entry in entries if not entry.startswith(_LABEL))
    return unquote(labels[0].removeprefix(_LABEL)) if labels else "", rest.rstrip()


def _fail_at_bad_field(sentence: _Sentence) -> NoReturn:
    for index, line in enumerate(sentence.lines):
        try:
            _parse_lines(line)
        except _BadFieldError as error:
            sentence.fail(BadNumber, error.message, index, error.column)
    raise AssertionError("no field of the sentence is bad")


def _fail_at_head(sentence: _Sentence, heads: np.ndarray, word_lines: list[int]) -> NoReturn:
    fault = find_fault(heads)
    assert fault is not None, "the heads form a tree"
    line = word_lines[fault.word] if word_lines else len(sentence.lines) - 1
    sentence.fail(fault.error, fault.message, line, _HEAD if word_lines else 0)


def write_conllu(
    path: str | os.PathLike[str], trees: Iterable[DependencyTree], *, encoding: str = "utf-8"
) -> None:
    """Writes a CoNLL-U file atomically; gzipped if named ``*.gz``.

    Reading the file gives the same trees.

    Raises:
        UnwritableTree: A word or another column has tabs, newlines or two consecutive spaces,
            ``misc`` has an entry ``Label=`` or ends in whitespace, a comment or another line cannot
            be written, or the encoding lacks a character.
    """
    write_text(path, (to_conllu(tree) + "\n" for tree in trees), encoding)


def to_conllu(tree: DependencyTree) -> str:
    r"""The lines of one dependency tree in CoNLL-U, each with a newline.

    Raises:
        UnwritableTree: As in :func:`write_conllu`, encodings aside.

    Example:
        >>> to_conllu(DependencyTree(["good"], [-1], labels=["3"], relations=["root"]))
        '1\tgood\t_\t_\t_\t_\t0\troot\t_\tLabel=3\n'
    """
    lines = [_comment(name, value) for name, value in tree.metadata.items()]
    others = defaultdict[int, list[str]](list)  # by the number of words above
    for above, line in tree.other_lines:
        others[above].append(_other_line(line))
    rows = zip(
        *(tree.words, tree.lemmas, tree.upos, tree.xpos, tree.feats),
        *((tree.heads + 1).tolist(), tree.relations, tree.deps, tree.misc, tree.labels),
        strict=True,
    )
    lines += others[0]
    for number, (*columns, misc, label) in enumerate(rows, start=1):
        columns = [str(number), *map(str, columns), _misc(number, misc, label)]
        for text in columns:
            if _UNWRITABLE.search(text):
                raise UnwritableTree(
                    f"word {number} has column {text!r}: expected one without tabs, newlines "
                    "and two consecutive spaces"
                )
        lines.append("\t".join(column or "_" for column in columns))
        lines += others[number]
    return "".join(line + "\n" for line in lines)


def _misc(number: int, rest: str, label: str) -> str:
    """The MISC column of a word: its label after other entries."""
    if rest != rest.rstrip() or _label_and_rest(rest) != ("", rest):
        raise UnwritableTree(
            f"word {number} has misc {rest!r}: expected no whitespace at its end, and no Label="
        )
    try:
        entry = _LABEL + quote(label, safe=_SAFE_IN_LABELS) if label else ""
    except UnicodeEncodeError:  # half of a surrogate pair
        message = f"word {number} has label {label!r}: expected one that UTF-8 can encode"
        raise UnwritableTree(message) from None
    return "|".join(filter(None, (rest, entry)))


def _other_line(line: str) -> str:
    number = line.partition("\t")[0]
    has_columns = _WORD_LINE.fullmatch(line) and not _UNWRITABLE.search(line.replace("\t", "_"))
    if not has_columns or not _RANGE_OR_EMPTY_NODE.fullmatch(number):
        raise UnwritableTree(
            f"other line {line!r}: expected that of a word range or an empty node, with "
            f"{_NUM_COLUMNS} columns"
        )
    return line


def _comment(name: str, value: str) -> str:
    is_sound = name and name == name.strip() and value == value.strip() and "=" not in name
    if not is_sound or "\n" in name + value:
        raise UnwritableTree(
            f"metadata {name!r}: {value!r}: expected a name without '=' and a value, both on one "
            "line and without surrounding whitespace"
        )
    return f"# {name} = {value}" if value else f"# {name}"
