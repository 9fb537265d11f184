"""Joins sentences with their trees from separate files."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from graphsent.errors import DataError
from graphsent.tasks.own.examples import BadLine, OwnExample, OwnRow
from graphsent.tasks.own.reader import OwnFile, read_trees
from graphsent.tasks.parses import letters, text_of

__all__ = ["with_trees"]

_SHOWN = 60  # characters of a sentence in a message


def with_trees(
    examples: Iterable[OwnRow], trees: Sequence[Path], encoding: str
) -> Iterator[OwnRow]:
    """Replaces the sentences of examples by their trees.

    Args:
        examples: Each with its file.
        trees: One file with the trees in the order of the examples, or two for pairs.
        encoding: Encoding of these files.

    Yields:
        Each example with its trees; or a bad line, for instance a tree of another sentence.

    Raises:
        DataError: The number of trees differs from that of the examples, or the number of files
            from that of the sentences in an example.
    """
    found = [read_trees(OwnFile(path, encoding=encoding)) for path in trees]
    number = 0
    for number, (path, example) in enumerate(examples, start=1):
        parses = [next(each, None) for each in found]
        if None in parses:
            there = f"has only {number - 1:,} trees"
            raise DataError(
                f"{trees[parses.index(None)]} {there}, but {path} has more sentences: expected one "
                "tree per sentence"
            )
        yield path, _joined(example, parses, path, trees)  # type: ignore[arg-type]
    for path, rest in zip(trees, found, strict=True):
        if next(rest, None) is not None:
            raise DataError(
                f"{path} has more trees than the {number:,} sentences: expected one tree per "
                "sentence"
            )


def _joined(
    example: OwnExample | BadLine,
    parses: Sequence[OwnExample | BadLine],
    path: Path,
    trees: Sequence[Path],
) -> OwnExample | BadLine:
    bad = next((each for each in (example, *parses) if isinstance(each, BadLine)), None)
    if bad is not None:
        return bad
    assert isinstance(example, OwnExample)
    if len(parses) != len(example.contents):
        raise DataError(
            f"{path}: expected one file of trees for each of {len(example.contents)} text columns, "
            f"got {len(parses)}"
        )
    for content, parse, source in zip(example.contents, parses, trees, strict=True):
        text, found = text_of(content), text_of(parse.contents[0])  # type: ignore[union-attr]
        if letters(text) != letters(found):
            return BadLine(
                example.line,
                f"{source}:{parse.line}: the tree is of {found[:_SHOWN]!r}, but the sentence in "
                f"{path}:{example.line} is {text[:_SHOWN]!r}: {_difference(text, found)}",
            )
    contents = itertools.chain.from_iterable(parse.contents for parse in parses)  # type: ignore
    return example._replace(contents=tuple(contents))


def _difference(text: str, found: str) -> str:
    """Where the letters of a sentence and of its tree begin to differ."""
    first, second = letters(text), letters(found)
    pairs = enumerate(zip(first, second, strict=False))
    place = next((i for i, (one, other) in pairs if one != other), min(len(first), len(second)))
    shown = (repr(each[max(0, place - 5) : place + 10]) for each in (second, first))
    return "the first letters that differ are in " + " and ".join(shown)
