"""Counting inputs and unknown words, and reporting bad and unexpected inputs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from graphsent.errors import FailedError
from graphsent.models import Model
from graphsent.parsing.names import shape_of
from graphsent.tasks.corpus import WORDS
from graphsent.tasks.own.labelling import kind_of

__all__ = ["Tally", "say"]


class Tally:
    """Counts inputs and words, and reports bad or unexpected inputs and unknown words.

    Args:
        command: Name of the command, for messages.
        model: The model, which decides which words are unknown.
        strict: Whether to stop at the first bad input.
        listed: Whether to list unknown words besides counting them.

    Attributes:
        inputs: Number of inputs.
        bad: Number of inputs without a result.
    """

    def __init__(self, command: str, model: Model, *, strict: bool, listed: bool) -> None:
        self._command = command
        self._kind = _kind_in_training(model)
        self.inputs = 0
        self.uneven = ""  # message if one file has more inputs than the other
        self.bad = self._words = self._unknown = 0
        self._unknown_words = model.unknown_words
        self._strict = strict
        self._listed: Counter[str] | None = Counter() if listed else None

    def add_bad(self, errors: Sequence[str]) -> None:
        """Reports and counts a bad input.

        Raises:
            FailedError: With ``strict``.
        """
        if self._strict:
            raise FailedError(errors[0])
        self.inputs += 1
        self.bad += 1
        for error in errors:
            say(self._command, error)

    def add(self, words: Sequence[str]) -> None:
        """Counts a valid input and its words."""
        self.inputs += 1
        self._words += len(words)
        unknown = list(self._unknown_words(words))
        self._unknown += len(unknown)
        if self._listed is not None:
            self._listed.update(unknown)

    def note_kind(self, place: str, sentences: Sequence[Any]) -> None:
        """Warns once about a tree of another kind than those that the model was trained on.

        Args:
            place: File and line of the input.
            sentences: Its sentences or trees.
        """
        if self._kind is None:
            return
        for kind in map(kind_of, sentences):
            if kind not in (WORDS, self._kind):
                say(
                    self._command,
                    f"{place}: the model was trained on {self._kind} trees, this is a {kind} tree: "
                    "its results may be meaningless",
                )
                self._kind = None
                return

    def close(self, *, quiet: bool = False) -> None:
        """Prints the counts.

        Args:
            quiet: Whether to omit unknown words.

        Raises:
            FailedError: There were bad inputs, or two files with different numbers of inputs.
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


def _kind_in_training(model: Model) -> str | None:
    """The kind of trees that a model was trained on; None if that does not matter.

    Models trained on trees of an artificial shape convert all trees to it.
    """
    source = model.tree_source
    return None if source is None or shape_of(source.parser) else source.kind


def say(command: str, message: str) -> None:
    """Prints a message on standard error."""
    print(f"graphsent {command}: {message}", file=sys.stderr)
