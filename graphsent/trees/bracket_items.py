"""Splits bracketed text into brackets and atoms."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from graphsent.trees.errors import TreeError

ATOM, OPEN, CLOSE, BLANK = range(4)

# Exactly the whitespace of bytes.split(); other Unicode whitespace stays in atoms.
_ASCII_BLANKS = b" \t\n\r\v\f"
_KIND_OF_BYTE = np.full(256, ATOM, np.int8)
_KIND_OF_BYTE[list(_ASCII_BLANKS)] = BLANK
_KIND_OF_BYTE[ord("(")] = OPEN
_KIND_OF_BYTE[ord(")")] = CLOSE
_BRACKETS_TO_BLANKS = bytes.maketrans(b"()", b"  ")


class Items:
    """The brackets and atoms of a text.

    Args:
        text: The text.
        source: Its name in messages.
        first_line: Number of its first line in its file.

    Attributes:
        data: The text in UTF-8.
        kinds: ``OPEN``, ``CLOSE`` or ``ATOM`` per item, int8.
        offsets: Byte at which each item starts, int64.
        level: Number of brackets open before each item, int64.
        final_level: Number of brackets open at the end of the text.
    """

    def __init__(self, text: str, source: str, first_line: int) -> None:
        data = text.encode("utf-8", "surrogatepass")
        kinds = _KIND_OF_BYTE[np.frombuffer(data, np.uint8)]
        is_atom = kinds == ATOM
        inside_atom = np.zeros(len(kinds), bool)
        inside_atom[1:] = is_atom[1:] & is_atom[:-1]
        self.data = data
        self._source, self._first_line = source, first_line
        self.offsets = np.flatnonzero((kinds != BLANK) & ~inside_atom)
        self.kinds = kinds[self.offsets]
        step = (self.kinds == OPEN).astype(np.int64) - (self.kinds == CLOSE)
        level_after = np.cumsum(step)
        self.level = level_after - step
        self.final_level = int(level_after[-1]) if level_after.size else 0

    @cached_property
    def atoms(self) -> list[str]:
        """The text of each atom, in order."""
        atoms = self.data.translate(_BRACKETS_TO_BLANKS).split()
        # No atom holds a newline, and decoding once is much faster than once per atom.
        return b"\n".join(atoms).decode("utf-8", "surrogatepass").split("\n") if atoms else []

    def before(self, distance: int) -> np.ndarray:
        """Kind of the item ``distance`` before each, (num_items,) int8; ``CLOSE`` at the start."""
        kinds = np.full(len(self.kinds), CLOSE, np.int8)
        kinds[distance:] = self.kinds[:-distance]
        return kinds

    def text(self, item: int) -> str:
        """The text of one item."""
        if self.kinds[item] != ATOM:
            return "(" if self.kinds[item] == OPEN else ")"
        return self.atoms[int(np.count_nonzero(self.kinds[:item] == ATOM))]

    def line_of(self, offset: int) -> int:
        """The line of a byte in the file, from 1."""
        return self.data.count(b"\n", 0, offset) + self._first_line

    def error(self, error: type[TreeError], message: str, offset: int) -> TreeError:
        """An error at a byte; its column counts characters."""
        line_start = self.data.rfind(b"\n", 0, offset) + 1
        before = self.data[line_start:offset].decode("utf-8", "surrogatepass")
        return error(message, self._source, self.line_of(offset), len(before) + 1)
