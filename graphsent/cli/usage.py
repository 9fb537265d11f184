"""Parsers of commands, and what they make flags of."""

from __future__ import annotations

import argparse
import inspect
import itertools
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from jsonargparse import ArgumentParser

__all__ = ["CommandParser", "UsageError", "descriptions", "flag"]


class UsageError(Exception):
    """The arguments of a command do not go together."""


class CommandParser(ArgumentParser):
    """The parser of one command; its errors are one line.

    Args:
        command: Name of the command.
        description: What it does, with examples.
        arguments: The arguments to parse, for commands whose flags depend on some of them.
    """

    def __init__(self, command: str, description: str, arguments: Sequence[str]) -> None:
        super().__init__(
            prog=f"graphsent {command}",
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.arguments = list(arguments)

    def parse(self) -> Any:
        """The namespace of the arguments, which may stand in any order.

        Left to itself, argparse takes an optional positional argument for absent as soon as a flag
        comes before it.
        """
        flags: list[str] = []
        positionals: list[str] = []
        rest = iter(self.arguments)
        for argument in rest:
            if argument == "--":
                positionals.extend(rest)
            elif argument == "-" or not argument.startswith("-"):
                positionals.append(argument)
            else:
                flags.append(argument)
                action = self._option_string_actions.get(argument)
                if action is not None and action.nargs is None:
                    flags.extend(itertools.islice(rest, 1))  # its value
        if not positionals or not self._get_positional_actions():
            return self.parse_args(self.arguments)
        return self.parse_args([*positionals, *flags])

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Prints the message and exits with status 2."""
        line = " ".join(message.split())
        print(f"{self.prog}: {line} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(2)


def flag(name: str) -> str:
    """The flag of an option: ``--batch-size`` for ``batch_size``."""
    return "--" + name.replace("_", "-")


def descriptions(function: Callable[..., Any]) -> Mapping[str, str]:
    """The texts in the section ``Args`` of a docstring, by parameter, without markup."""
    text = inspect.getdoc(function) or ""
    section = re.search(r"^Args:\n((?:    .*\n?|\n)+)", text, re.MULTILINE)
    entries = re.findall(
        r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", section.group(1) if section else "", re.MULTILINE
    )
    return {name: _plain(" ".join(entry.split())) for name, entry in entries}


def _plain(text: str) -> str:
    text = re.sub(r":math:`\\?(.*?)`", r"\1", text)
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"\1", text)
    return text.replace("``", "").replace("%", "%%")
