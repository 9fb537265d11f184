"""Argument parsers of commands, and checks of their arguments."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from jsonargparse import ArgumentParser

from graphsent._names import nearest
from graphsent.cli.statuses import USAGE

__all__ = [
    "CommandParser",
    "UsageError",
    "check_counts",
    "check_ending",
    "check_target",
    "counted",
    "descriptions",
    "flag",
    "refuse",
]


_HELP_ALL = "--help-all"
_RARE_EXAMPLES = "More examples:"
_TEXTS = ("tree", "title", "sentence")  # options whose values are shown, not paths


class UsageError(Exception):
    """The arguments of a command are invalid or inconsistent."""


class CommandParser(ArgumentParser):
    """The parser of one command; its errors are one line.

    Args:
        command: Name of the command.
        description: What it does, with examples.
        arguments: The arguments to parse; the flags of some commands depend on them.
        common: Options that ``--help`` shows, all if empty; ``--help-all`` always shows all.

    Attributes:
        hints: Flag that does not exist -> end of the message about it.
    """

    def __init__(
        self,
        command: str,
        description: str,
        arguments: Sequence[str],
        common: Sequence[str] = (),
    ) -> None:
        super().__init__(
            prog=f"graphsent {command}",
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.arguments = list(arguments)
        self.hints: dict[str, str] = {}
        self._common = tuple(common)
        if common:
            self.add_argument(_HELP_ALL, action="help", help="Show all options and exit.")
        text = "Show the traceback of an error."
        self.add_argument("--debug", action="store_true", help=text)

    @property
    def options(self) -> Iterable[str]:
        """The flags declared so far."""
        return self._option_string_actions

    def peek(self, *flags: str) -> argparse.Namespace:
        """The values of flags on which other flags depend, before those are declared."""
        parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
        for name in flags:
            parser.add_argument(name, nargs="?")
        return parser.parse_known_args(self.arguments)[0]

    def parse(self) -> Any:
        """Parses the arguments, which may come in any order.

        By itself, argparse considers an optional positional argument absent once a flag precedes
        it.

        Raises:
            UsageError: The value of an option is empty, as that of an unset shell variable is.
        """
        given = self._parsed()
        for action in self._actions:
            value = getattr(given, action.dest, None)
            is_empty = value == "" or (isinstance(value, list) and "" in value)
            if is_empty and action.option_strings and action.const != "":
                raise UsageError(f"{action.option_strings[0]}: expected a value, got an empty one")
            if action.dest in _TEXTS and isinstance(value, str) and not _is_utf8(value):
                raise UsageError(f"{action.option_strings[0]}: expected text in UTF-8")
        return given

    def _parsed(self) -> Any:
        if self._common and _HELP_ALL not in self.arguments:
            self._hide_rare()
        flags: list[str] = []
        positionals: list[str] = []
        rest = deque(self.arguments)
        while rest:
            argument = rest.popleft()
            if argument == "--":
                positionals.extend(rest)
                break
            elif argument == "-" or not argument.startswith("-"):
                positionals.append(argument)
            else:
                flags.append(argument)
                flags.extend(self._values_of(argument, rest))
        if not positionals or not self._get_positional_actions():
            return self.parse_args(self.arguments)
        if "--" in self.arguments:  # positionals may look like flags
            return self.parse_args([*flags, "--", *positionals])
        return self.parse_args([*positionals, *flags])

    def _values_of(self, flag: str, rest: deque[str]) -> Iterator[str]:
        """Takes the values of a flag from the arguments after it."""
        action = self._option_string_actions.get(flag)
        if action is not None and action.nargs == "+":
            while rest and not rest[0].startswith("-"):
                yield rest.popleft()
        elif action is not None and isinstance(action.nargs, int | None):
            for _ in range(min(1 if action.nargs is None else action.nargs, len(rest))):
                yield rest.popleft()

    def _hide_rare(self) -> None:
        """Hides rarely needed options and examples from the help."""
        self.description = (self.description or "").partition(_RARE_EXAMPLES)[0]
        for action in self._actions:
            if action.dest not in ("help", "help_all", *self._common):
                action.help = argparse.SUPPRESS

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Prints the message and exits with status 2."""
        line = " ".join(message.split())
        for pattern, reword in _REWORDED:
            match = pattern.search(line)
            if match:
                line = reword(match, self)
        help_ = _HELP_ALL if self._common else "--help"
        print(f"{self.prog}: {line} (see {self.prog} {help_})", file=sys.stderr)
        raise SystemExit(USAGE)


def flag(name: str) -> str:
    """The flag of an option: ``--batch-size`` for ``batch_size``."""
    return "--" + name.replace("_", "-")


def descriptions(text: str) -> Mapping[str, str]:
    """The ``Args`` section of a docstring: parameter -> description without markup."""
    section = re.search(r"^Args:\n((?:    .*\n?|\n)+)", text, re.MULTILINE)
    entries = re.findall(
        r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", section.group(1) if section else "", re.MULTILINE
    )
    return {name: _plain(" ".join(entry.split())) for name, entry in entries}


def check_target(path: str | None, name: str, keep: Iterable[str | Path | None] = ()) -> None:
    """Checks that a file can be written without overwriting others, before any work is done.

    Args:
        path: The file; None skips the check.
        name: The flag that names it.
        keep: Files that must not be overwritten, such as inputs.

    Raises:
        UsageError: The path is ``-``, a directory or one of the files to keep.
    """
    if path is None:
        return
    if path == "-":
        raise UsageError(f"{name}: expected a file, such as /dev/stdout, got '-'")
    if os.path.isdir(path):
        raise UsageError(f"{name} {path}: expected a file, found a directory")
    for other in keep if os.path.exists(path) else ():
        if other is not None and os.path.exists(other) and os.path.samefile(path, other):
            raise UsageError(f"{name} {path} would overwrite an input or a file of the run")


def check_ending(path: str | None, name: str, endings: Iterable[str]) -> None:
    """Raises a UsageError unless a file, if given by the flag, has one of the suffixes."""
    if path is not None and Path(path).suffix.lower() not in endings:
        raise UsageError(f"{name} {path}: expected a file name ending in {', '.join(endings)}")


def check_counts(arguments: Any, *names: str) -> None:
    """Raises a UsageError if one of the options, if given, is below 1."""
    for name in names:
        count = getattr(arguments, name)
        if count is not None and count < 1:
            raise UsageError(f"{flag(name)}: expected at least 1, got {count}")


def refuse(arguments: Any, names: Iterable[str], why: str) -> None:
    """Raises a UsageError if one of the options is given, as in ``--top is not for curves``."""
    for name in names:
        value = getattr(arguments, name)
        if value is not None and value is not False:  # 0 is a value
            raise UsageError(f"{flag(name)} {why}")


def _is_utf8(text: str) -> bool:
    """Whether an argument was valid UTF-8; other bytes are surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unrecognized(match: re.Match[str], parser: CommandParser) -> str:
    given = [each.partition("=")[0] for each in match[1].split()]
    name = next((each for each in given if each.startswith("-")), "")
    known = [each.removeprefix("--") for each in parser.options if each.startswith("--")]
    if not name:
        hint = _file_alone(match[1], parser)
    elif name in parser.hints:
        hint = parser.hints[name]
    else:
        hint = nearest(name.strip("-"), known).replace("'", "'--", 1)
    return f"unrecognized arguments: {match[1]}{hint}"


def _file_alone(text: str, parser: CommandParser) -> str:
    """The option that was probably meant for a file given without one."""
    path = text if os.path.isfile(text) else text.split()[0]
    if not os.path.isfile(path) and not re.search(r"\.[A-Za-z]\w*$", path):
        return ""
    option = "--config" if path.endswith((".yaml", ".yml")) else "--train"
    return f"; did you mean {option} {shlex.quote(path)}?" if option in parser.options else ""


def _missing(match: re.Match[str], parser: CommandParser) -> str:
    names = match[1].split(", ")
    flags = [flag(each) if flag(each) in parser.options else each for each in names]
    return f"the following arguments are required: {', '.join(flags)}"


def _wrong_choice(match: re.Match[str], _parser: CommandParser) -> str:
    choices = [choice.strip(" '\"") for choice in match[2].split(",")]
    return match.string + nearest(match[1], choices)


_KINDS = {
    "int": "an integer",
    "float": "a finite number",
    "bool": "true or false",
    "str": "a string",
    "tuple": "a list such as [2,3]",
    "NoneType": "null",
}


def _wrong_type(match: re.Match[str], _parser: CommandParser) -> str:
    name, kind, value = match.groups()
    kinds: list[str] = re.findall(r"<class '(\w+)'>", kind)
    expected = " or ".join(sorted(_KINDS.get(each, each) for each in kinds)) or f"one of {kind}"
    return f"{flag(name)}: expected {expected}, got {value!r}"


# Messages of argparse and jsonargparse -> how they are reworded.
_REWORDED: tuple[tuple[re.Pattern[str], Callable[..., str]], ...] = (
    (re.compile(r"^unrecognized arguments: (.*)$"), _unrecognized),
    (re.compile(r"^the following arguments are required: (.*)$"), _missing),
    (re.compile(r"^argument .*: invalid choice: '(.*)' \(choose from (.*)\)$"), _wrong_choice),
    (
        re.compile(r'Parser key "(\w+)".* Subtypes: \[(.*?)\] Errors: .* Given value: ?(.*)$'),
        _wrong_type,
    ),
    (re.compile(r'Parser key "(\w+)".*: Expected a (<.*?>). Got value: ?(.*)$'), _wrong_type),
    (
        re.compile(r'Parser key "(\w+)".*: Expected a typing.Literal\[(.*)\]. Got value: ?(.*)$'),
        _wrong_type,
    ),
)


def _plain(text: str) -> str:
    text = re.sub(r":math:`\\?(.*?)`", r"\1", text)
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"\1", text)
    return text.replace("``", "").replace("%", "%%")


def counted(number: int, what: str) -> str:
    """A count with its noun: ``1 sentence``, ``1,200 sentences``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
