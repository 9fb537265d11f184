"""Reads the examples of a user's splits, joined with their trees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from graphsent.sentences import Sentence
from graphsent.tasks.own.examples import BadLine, Content, OwnExample, OwnRow
from graphsent.tasks.own.options import OwnOptions
from graphsent.tasks.own.parsed import with_trees
from graphsent.tasks.own.reader import read_examples
from graphsent.tokenizers import TOKENIZERS

__all__ = ["read_rows"]


def read_rows(options: OwnOptions, split: str, tokenizer: str) -> Iterator[OwnRow]:
    """The examples of the files of a split, one by one, each with its file.

    Raw sentences are split into words, or replaced by their trees if these are in separate files.
    Bad lines are yielded in their places.

    Args:
        options: The files and how to read them.
        split: One of ``train``, ``dev`` and ``test``.
        tokenizer: One of :data:`graphsent.tokenizers.TOKENIZERS`.

    Raises:
        DataError: A file cannot be read or lacks a column, or there are not as many trees as
            sentences.
    """
    rows: Iterator[OwnRow] = (
        (file.path, example) for file in options.files(split) for example in read_examples(file)
    )
    trees = options.trees(split)
    if trees:
        rows = with_trees(rows, trees, options.encoding)
    for path, example in rows:
        yield path, _in_words(path, example, tokenizer)


def _in_words(path: Path, example: OwnExample | BadLine, tokenizer: str) -> OwnExample | BadLine:
    if isinstance(example, BadLine):
        return example
    contents: list[Content] = []
    for content in example.contents:
        if isinstance(content, str):
            words = TOKENIZERS[tokenizer](content)
            if not words:
                message = f"{path}:{example.line}: the text {content[:40]!r} has no words"
                return BadLine(example.line, message)
            content = Sentence(words)
        contents.append(content)
    return example._replace(contents=tuple(contents))
