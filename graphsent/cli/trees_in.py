"""Trees and sentences from a file or standard input, labelled or not."""

from __future__ import annotations

import sys

from graphsent.errors import DataError
from graphsent.sentences import Sentence
from graphsent.trees import (
    DependencyTree,
    Tree,
    parse_conllu,
    parse_trees,
    read_conllu,
    read_trees,
)
from graphsent.trees.text_files import read_text

__all__ = ["parse_sentences", "sentences_from", "trees_from"]

_STDIN = "standard input"
_ANY_TREES = {"empty_nodes": "token", "require_labels": False}
_CONLLU = (".conllu", ".conllu.gz")


def trees_from(path: str) -> list[Tree] | list[DependencyTree]:
    """The trees of a file, of standard input for ``-``.

    They are dependency trees in CoNLL-U if the file is named ``*.conllu`` or ``*.conllu.gz``, or if
    standard input starts with a comment or a number, and bracketed trees otherwise.

    Raises:
        TreeError: A tree is malformed; file, line and column are named.
        DataError: The file cannot be read, or is no text in UTF-8.
    """
    if path != "-":
        return read_conllu(path) if path.endswith(_CONLLU) else read_trees(path, **_ANY_TREES)
    text = _standard_input()
    if text.lstrip()[:1] in {"#", *"0123456789"}:
        return parse_conllu(text, _STDIN)
    return parse_trees(text, _STDIN, **_ANY_TREES)


def sentences_from(path: str) -> list[Sentence] | list[Tree] | list[DependencyTree]:
    """The sentences of a file, of standard input for ``-``.

    They are dependency trees in CoNLL-U if the file is named ``*.conllu`` or ``*.conllu.gz``, or if
    standard input has tabs in its first line that is no comment; bracketed trees if the text starts
    with a bracket; and otherwise a sentence a line, whose words are divided by blanks, an empty
    line being a sentence without words.

    Raises:
        TreeError: A tree is malformed; file, line and column are named.
        DataError: The file cannot be read, or is no text in UTF-8.
    """
    if path != "-":
        return (
            read_conllu(path) if path.endswith(_CONLLU) else parse_sentences(read_text(path), path)
        )
    text = _standard_input()
    content = (line for line in text.split("\n") if line.strip() and not line.startswith("#"))
    if "\t" in next(content, ""):
        return parse_conllu(text, _STDIN)
    return parse_sentences(text, _STDIN)


def parse_sentences(text: str, source: str) -> list[Sentence] | list[Tree]:
    """The bracketed trees of a text that starts with a bracket; otherwise a sentence a line."""
    if text.lstrip().startswith("("):
        return parse_trees(text, source, **_ANY_TREES)
    lines = text.split("\n")
    if not lines[-1].strip():
        lines.pop()
    return [Sentence(line.split()) for line in lines]


def _standard_input() -> str:
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{_STDIN}:{line}: expected text in UTF-8: {error.reason}") from None
