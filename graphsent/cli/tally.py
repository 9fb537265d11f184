"""Counting what a command reads, and saying what is wrong with it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from graphsent.errors import FailedError
from graphsent.models import Model

__all__ = ["Tally", "say"]


class Tally:
    """Counts inputs and words, and reports bad and unknown ones.

    Args:
        command: Is named in what is said.
        model: Knows words.
        strict: Whether the first bad input is the end.
        listed: Whether unknown words are listed, not only counted.

    Attributes:
        inputs: How many there were.
        bad: How many of them have no result.
    """

    def __init__(self, command: str, model: Model, *, strict: bool, listed: bool) -> None:
        self._command = command
        self.inputs = 0
        self.uneven = ""  # what there is to say if a file has more inputs than the other
        self.bad = self._words = self._unknown = 0
        self._vocab = model.vocab
        self._strict = strict
        self._listed: Counter[str] | None = Counter() if listed else None

    def add_bad(self, errors: Sequence[str]) -> None:
        """Reports an input that is not predicted.

        Raises:
            FailedError: Bad input is not allowed.
        """
        if self._strict:
            raise FailedError(errors[0])
        self.inputs += 1
        self.bad += 1
        for error in errors:
            say(self._command, error)

    def add(self, words: Sequence[str]) -> None:
        """Counts an input that is predicted."""
        self.inputs += 1
        self._words += len(words)
        unknown = list(self._vocab.unknown(words))
        self._unknown += len(unknown)
        if self._listed is not None:
            self._listed.update(unknown)

    def close(self, *, quiet: bool = False) -> None:
        """Says what was counted.

        Args:
            quiet: Whether to leave unknown words out.

        Raises:
            FailedError: There were bad inputs, or not as many in two files.
        """
        if self._unknown and not quiet:
            hint = "" if self._listed is not None else " (--unknown lists them)"
            say(
                self._command,
                f"{self._unknown:,} of {self._words:,} words are unknown to the model{hint}",
            )
            for word, count in (self._listed or Counter()).most_common():
                print(f"{count}\t{word}", file=sys.stderr)
        bad = f"{self.bad:,} of {self.inputs:,} inputs are bad and have no result"
        problems = [bad] * bool(self.bad) + [self.uneven] * bool(self.uneven)
        if problems:
            raise FailedError("; ".join(problems))


def say(command: str, message: str) -> None:
    """Prints a line for people, on standard error."""
    print(f"graphsent {command}: {message}", file=sys.stderr)
