"""The command ``graphsent``.

Each command has a module here, imported when it is run, and one in :mod:`graphsent.cli.arguments`
that declares its arguments; help and usage errors import only the latter.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import NoReturn

import graphsent
from graphsent._names import nearest
from graphsent._signals import terminable
from graphsent.cli.statuses import BROKEN_PIPE, EXPLANATION, USAGE, in_one_line, outcome
from graphsent.errors import FailedError

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "download": "download the corpora of tasks, or import them from a directory",
    "train": "train a model on a task, or resume a run",
    "evaluate": "evaluate a trained model on a split of its task",
    "parse": "parse sentences into a file of trees",
    "predict": "classify sentences and, with models of trees, all of their phrases",
    "encode": "encode sentences or trees as vectors",
    "draw": "draw parse trees, optionally with a model's predictions",
    "debug-data": "inspect and validate your own data or a task's before training",
    "inspect": "show learning curves, or filters, feature graphs and attention of CNNs",
    "config": "list, show, copy and check run configurations",
    "reproduce": "reproduce the papers' tables and report the results",
    "demo": "train, evaluate, predict and draw on the embedded data",
    "completion": "print a shell completion script",
    "install-dgl": "install DGL, including on Python 3.13 and later",
}

_DEBUG = "--debug"
_EXAMPLES = """\
Examples:
  graphsent predict "A film of great charm"
  graphsent train --task sst5 --model treelstm --out runs/a
  graphsent evaluate runs/a --split test
  echo '(S (NP (DT The) (NN film)) (VP (VBZ is) (ADJP (JJ good))))' | graphsent predict runs/a
  graphsent COMMAND --help
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        argv: The arguments (default: those of the process).

    Returns:
        The exit status, see :mod:`graphsent.cli.statuses`.

    Raises:
        SystemExit: With status 2 if the arguments are invalid, with 0 after ``--help``.
    """
    command = ""
    debug = False
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the shell (`<&-`)
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115
    if argv is None:  # torch's C++ warnings are of no use to command-line users
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
        _wait_briefly()
    try:
        arguments = list(sys.argv[1:] if argv is None else argv)
        debug = _DEBUG in arguments
        if arguments[:1] == [_DEBUG]:
            arguments = [*arguments[1:2], _DEBUG, *arguments[2:]]
        command = _parser().parse_args(arguments[:1]).command
        with terminable() if argv is None else nullcontext():
            _run(command, arguments[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_unwritten()
        return BROKEN_PIPE  # the reader has stopped (`| head`)
    except (Exception, KeyboardInterrupt) as error:
        found = outcome(error)
        if found is None:
            raise
        if debug:
            traceback.print_exc()
        status, message = found
        with suppress(OSError):
            if status > USAGE and sys.stderr.isatty():  # the terminal shows ^C on the same line
                print(file=sys.stderr)
            print(f"graphsent {command}".rstrip() + f": {in_one_line(message)}", file=sys.stderr)
        if argv is None and isinstance(error, KeyboardInterrupt | FailedError):
            # Python would die from the signal if a library had caught the interrupt first, and
            # without another process of a run, torch may wait forever to free what trained.
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError):
                    stream.flush()
            os._exit(status)
        _drop_unwritten()
        return status
    return 0


def _drop_unwritten() -> None:
    """Drops output that cannot be written: Python would complain when it flushes at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _wait_briefly() -> None:
    """Makes threads that wait for each other yield the CPU after a few microseconds.

    They wait once per level. By default, GNU OpenMP spins for milliseconds before it sleeps, which
    on a busy machine steals time from the very thread it waits for: see "Threads" in
    ``docs/performance.md``. It reads the variable when torch is imported.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "3000")


def _run(command: str, arguments: Sequence[str]) -> None:
    from graphsent.cli.usage import CommandParser, UsageError

    name = command.replace("-", "_")
    takes = importlib.import_module(f"{__name__}.arguments.{name}")
    common = getattr(takes, "COMMON", ())
    parser = CommandParser(command, takes.__doc__ or "", arguments, common)
    try:
        takes.add_arguments(parser)
        given = parser.parse()
        importlib.import_module(f"{__name__}.{name}").run(given)
    except UsageError as error:
        if _DEBUG in arguments:
            traceback.print_exc()
        parser.error(str(error))


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS)) + 2
    commands = "\n".join(f"  {name:{width}}{text}" for name, text in COMMANDS.items())
    parser = _CommandNames(
        prog="graphsent",
        usage="graphsent COMMAND ...",
        description=f"Sentence models that read parse trees.\n\ncommands:\n{commands}",
        epilog=f"{_EXAMPLES}\n{EXPLANATION}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"graphsent {graphsent.__version__}")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help=argparse.SUPPRESS)
    return parser


class _CommandNames(argparse.ArgumentParser):
    """A parser of the name of a command, whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        if "required: COMMAND" in message:
            message = "no command"
        name = re.search(r"invalid choice: '(.*?)' ", message)
        message = message.replace("argument COMMAND: invalid choice", "unknown command")
        message += nearest(name[1], COMMANDS) if name else ""
        print(f"graphsent: {message} (see graphsent --help)", file=sys.stderr)
        raise SystemExit(USAGE)
