"""N-best lists: several parses of a sentence with their parser scores.

A file has one list per sentence, with an empty line after each::

    # sent_id = wsj_0180.1
    gold<TAB>(ROOT (S ...))
    cand<TAB>28.8139<TAB>0.8387<TAB>(ROOT (S ...))
    cand<TAB>...

A candidate line has the score, the labelled F1 against the gold tree, from 0 to 1, and the tree.
The comment, which comes first, the gold tree and the F1 are optional: ``cand<TAB>score<TAB>tree``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from graphsent._numbers import decimal
from graphsent.trees.errors import MalformedNBest, TreeError
from graphsent.trees.text_files import text_pieces
from graphsent.trees.tree import Tree

__all__ = ["Candidate", "ParseList", "iter_nbest", "parse_nbest", "read_nbest"]


_LARGEST_F1 = 1 + 1e-6  # 1 with a rounding error


class Candidate(NamedTuple):
    """One parse of a list.

    Attributes:
        tree: The parse.
        score: The parser's score; higher is better.
        f1: Labelled F1 from the file; None if absent.
    """

    tree: Tree
    score: float
    f1: float | None = None


class ParseList(NamedTuple):
    """The parses of one sentence.

    Attributes:
        candidates: The parses, in file order; at least one.
        gold: The gold tree, if known.
        name: Name of the sentence in the file, ``""`` if it has none.
    """

    candidates: tuple[Candidate, ...]
    gold: Tree | None = None
    name: str = ""

    @property
    def words(self) -> list[str]:
        """The words of the sentence."""
        return self.candidates[0].tree.words


def read_nbest(path: str | os.PathLike[str]) -> list[ParseList]:
    """Reads the n-best lists of a file; decompressed if named ``*.gz``.

    Raises:
        TreeError: A list or a tree in it is malformed.
        DataError: The file cannot be read.
    """
    return list(iter_nbest(path))


def iter_nbest(path: str | os.PathLike[str]) -> Iterator[ParseList]:
    """Yields the lists of :func:`read_nbest` one by one."""
    lines = (
        (number, line)
        for first, piece in text_pieces(path)
        for number, line in enumerate(piece.removesuffix("\n").split("\n"), start=first)
    )
    return parse_nbest(lines, os.fspath(path))


def parse_nbest(lines: Iterable[tuple[int, str]], source: str = "<string>") -> Iterator[ParseList]:
    """Parses the n-best lists of numbered lines.

    Args:
        lines: Pairs of line number and line.
        source: Named in errors.

    Raises:
        TreeError: A list or a tree in it is malformed.
    """
    entry = _Entry(source)
    number = 0
    for number, line in lines:
        if line.strip():
            entry.add(number, line.rstrip("\r\n"))
        elif entry.begun:
            yield entry.close(number)
            entry = _Entry(source)
    if entry.begun:
        yield entry.close(number)


class _Entry:
    """The lines of a sentence."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._name = ""
        self._gold: Tree | None = None
        self._candidates: list[Candidate] = []
        self.begun = False

    def add(self, number: int, line: str) -> None:
        self.begun = True
        kind, *fields = line.split("\t")
        if line.startswith("#"):
            key, _, value = line[1:].partition("=")
            if key.strip() == "sent_id":
                if self._name or self._gold is not None or self._candidates:
                    raise self._error(
                        number, "an empty line before the next list, got a sent_id within a list"
                    )
                self._name = value.strip()
        elif kind == "gold" and len(fields) == 1:
            if self._gold is not None:
                raise self._error(number, "an empty line before the next list, got two gold trees")
            self._gold = self._tree(fields[0], number)
        elif kind == "cand" and len(fields) in (2, 3):
            numbers = [self._number(field, number) for field in fields[:-1]]
            if not all(0 <= f1 <= _LARGEST_F1 for f1 in numbers[1:]):
                raise self._error(number, f"an F1 from 0 to 1, got {fields[1]}")
            self._candidates.append(Candidate(self._tree(fields[-1], number), *numbers))
        else:
            raise self._error(number, f"'gold' or 'cand' with its columns, got {line[:60]!r}")

    def close(self, number: int) -> ParseList:
        if not self._candidates:
            raise self._error(number, "a 'cand' line before the end of the list")
        found = ParseList(tuple(self._candidates), self._gold, self._name)
        trees = [each.tree for each in found.candidates]
        if self._gold is not None:
            trees.append(self._gold)
        if any(tree.words != found.words for tree in trees):
            raise self._error(number, "trees over the same words in the list that ends here")
        return found

    def _tree(self, text: str, number: int) -> Tree:
        try:
            return Tree.from_string(text)
        except TreeError as error:
            raise self._error(number, f"a bracketed tree: {error}") from None

    def _number(self, text: str, number: int) -> float:
        value = decimal(text.strip())
        if value is None:
            raise self._error(number, f"a number, got {text!r}")
        return value

    def _error(self, number: int, expected: str) -> MalformedNBest:
        return MalformedNBest(f"expected {expected}", self._source, number)
