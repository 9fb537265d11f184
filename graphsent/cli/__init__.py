"""The command ``graphsent``: one module a command, imported when it is run."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Sequence

import graphsent
from graphsent.errors import GraphsentError

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "train": "train a model on a task, or go on with a run",
    "evaluate": "judge a trained model on a split of its task",
    "predict": "classify every phrase of parse trees",
    "draw": "draw parse trees, with what a model says about them",
    "inspect": "look inside convolutional models: filters, feature graphs, attention",
    "demo": "train, judge, predict and draw on the embedded data",
}

_EXAMPLES = """\
Examples:
  graphsent train --task sst5 --model treelstm --out runs/a
  graphsent evaluate runs/a --split test
  echo '(S (NP (DT The) (NN film)) (VP (VBZ is) (ADJP (JJ good))))' | graphsent predict runs/a
  graphsent COMMAND --help
"""

# Modules of the extras, by the extra that brings them.
_EXTRAS = {
    "jsonargparse": "train",
    "pytorch_lightning": "train",
    "torchmetrics": "train",
    "yaml": "train",
    "matplotlib": "draw",
}
_USAGE = 2
_SIGNALLED = 128  # and the signal's number: what shells report for a program that it ended
_BROKEN_PIPE = _SIGNALLED + 13  # SIGPIPE, which Windows does not have


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        argv: The arguments; by default those of the process.

    Returns:
        The exit status: 0; 1 if input, data or a model is not usable; 130 after Ctrl-C; 141 if
        what reads the output stopped reading.

    Raises:
        SystemExit: With status 2, if the arguments are wrong; with 0 after ``--help``.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = _parser().parse_args(arguments[:1]).command
    try:
        _run(command, arguments[1:])
        sys.stdout.flush()
    except GraphsentError as error:
        return _fail(command, str(error))
    except KeyboardInterrupt as interrupt:
        print(f"\ngraphsent {command}: {interrupt or 'interrupted'}", file=sys.stderr)
        return _SIGNALLED + getattr(interrupt, "signal_number", signal.SIGINT)
    except BrokenPipeError:
        # Whoever reads has enough (`| head`). Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except OSError as error:
        return _fail(command, f"{error.filename or 'input or output'}: {error.strerror or error}")
    except ImportError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None and error.name != "dgl":
            raise
        hint = f": pip install 'graphsent[{extra}]'" if extra else ""
        return _fail(command, f"{error}{hint}")
    return 0


def _run(command: str, arguments: Sequence[str]) -> None:
    from graphsent.cli.usage import CommandParser, UsageError

    module = importlib.import_module(f"{__name__}.{command}")
    parser = CommandParser(command, module.__doc__ or "", arguments)
    module.add_arguments(parser)
    try:
        module.run(parser.parse())
    except UsageError as error:
        parser.error(str(error))


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS)) + 2
    commands = "\n".join(f"  {name:{width}}{text}" for name, text in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="graphsent",
        usage="graphsent COMMAND ...",
        description=f"Sentence models that read parse trees.\n\ncommands:\n{commands}",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"graphsent {graphsent.__version__}")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help=argparse.SUPPRESS)
    parser.error = _usage_error  # type: ignore[method-assign,assignment]
    return parser


def _usage_error(message: str) -> None:
    if "required: COMMAND" in message:
        message = "no command"
    message = message.replace("argument COMMAND: invalid choice", "unknown command")
    print(f"graphsent: {message} (see graphsent --help)", file=sys.stderr)
    raise SystemExit(_USAGE)


def _fail(command: str, message: str) -> int:
    print(f"graphsent {command}: {message}", file=sys.stderr)
    return 1
