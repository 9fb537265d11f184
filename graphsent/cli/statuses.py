"""Exit statuses of commands, and the one line that explains them: decided only here."""

from __future__ import annotations

import signal

from graphsent.errors import FailedError, GraphsentError

__all__ = ["BROKEN_PIPE", "EXPLANATION", "FAILED", "USAGE", "in_one_line", "outcome"]

FAILED = 1
USAGE = 2
_SIGNALLED = 128  # and the signal's number: what shells report for a program that it ended
BROKEN_PIPE = _SIGNALLED + 13  # SIGPIPE, which Windows does not have

EXPLANATION = f"""\
exit status:
  0    all is done
  {FAILED}    the work failed, or some of it: a loss that is not finite, inputs of predict that
       are bad, a file that cannot be written, too little memory, an extra that is not
       installed
  {USAGE}    what was given cannot be used: options, names, files, data, models
  130  interrupted (Ctrl-C); 143 after SIGTERM
  {BROKEN_PIPE}  what reads the output stopped reading
Each is said in one line on standard error; --debug, with any command, adds the traceback.
"""

# Modules of the extras, by the extra that brings them.
_EXTRAS = {
    "pytorch_lightning": "train",
    "torchmetrics": "train",
    "huggingface_hub": "hub",
    "matplotlib": "draw",
    "mlflow": "mlflow",
    "ray": "ray",
    "shtab": "completion",
    "transformers": "contextual",
    "wandb": "wandb",
}
_LONGEST = 1_000  # of a message
_NO_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")  # of torch


def outcome(error: BaseException) -> tuple[int, str] | None:
    """The exit status that an exception means, and the line for people; None for a bug."""
    match error:
        case FailedError():
            return FAILED, str(error)
        case GraphsentError():
            return USAGE, str(error)
        case KeyboardInterrupt():
            number = getattr(error, "signal_number", signal.SIGINT)
            return _SIGNALLED + number, str(error) or "interrupted"
        case OSError():
            return FAILED, f"{error.filename or 'input or output'}: {error.strerror or error}"
        case UnicodeEncodeError():
            character = error.object[error.start]
            return (
                FAILED,
                f"{error.encoding} cannot write {character!r}: try PYTHONIOENCODING=utf-8",
            )
        case MemoryError():
            return FAILED, "there is too little memory for this"
        case ImportError():
            extra = _EXTRAS.get((error.name or "").partition(".")[0])
            if extra is None and error.name != "dgl":
                return None
            return FAILED, f"{error}" + (f": pip install 'graphsent[{extra}]'" if extra else "")
        case RuntimeError() if any(text in str(error) for text in _NO_MEMORY):
            return FAILED, f"there is too little memory for this: {str(error).splitlines()[0]}"
    return None


def in_one_line(message: str) -> str:
    """The message without line ends and unprintable characters, and not too long."""
    line = " ".join(message.split()).encode(errors="backslashreplace").decode()
    if len(line) <= _LONGEST:
        return line
    return f"{line[:_LONGEST]} ... ({len(line) - _LONGEST:,} more characters)"
