"""Print a shell completion script."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator
from typing import Any

import shtab

from graphsent.cli import COMMANDS, arguments
from graphsent.cli.declared import constant
from graphsent.cli.usage import CommandParser

__all__ = ["run"]

_CHOICES = {
    "--model": sorted(constant("graphsent.models:MODELS")),
    "--task": sorted(constant("graphsent.tasks:TASKS")),
}
_FILES = ("FILE", "IN", "OUT")  # metavars of files and directories
_DIRECTORIES = ("DIR", "RUN")


def run(arguments: Any) -> None:
    """Prints the script."""
    print(shtab.complete(_parser(), arguments.shell))


def _parser() -> argparse.ArgumentParser:
    """A single parser of all commands, for shtab."""
    parser = argparse.ArgumentParser(prog="graphsent")
    commands = parser.add_subparsers()
    for command, text in COMMANDS.items():
        known = commands.add_parser(command, help=text)
        for action in _actions(command):
            known._add_action(_completed(action))
    return parser


def _actions(command: str) -> Iterator[argparse.Action]:
    """The arguments of a command without duplicates, including those of all models and tasks."""
    takes = importlib.import_module(f"{arguments.__name__}.{command.replace('-', '_')}")
    given: list[list[str]] = [[]]
    if command == "train":
        given += [[flag, name] for flag, names in _CHOICES.items() for name in names]
    seen = {"help"}
    for each in given:
        parser = CommandParser(command, "", each, getattr(takes, "COMMON", ()))
        takes.add_arguments(parser)
        yield from (action for action in parser._actions if action.dest not in seen)
        seen.update(action.dest for action in parser._actions)


def _completed(action: Any) -> Any:  # with attributes for shtab that argparse lacks
    for flag in action.option_strings:
        action.choices = action.choices or _CHOICES.get(flag)
    if action.metavar in _FILES:
        action.complete = shtab.FILE
    elif action.metavar in _DIRECTORIES:
        action.complete = shtab.DIRECTORY
    return action
