"""Exit statuses of commands, and the line printed with each: the single source of both."""

from __future__ import annotations

import signal

from graphsent._files import escaped
from graphsent.errors import FailedError, GraphsentError

__all__ = ["BROKEN_PIPE", "EXPLANATION", "FAILED", "USAGE", "in_one_line", "outcome"]

FAILED = 1
USAGE = 2
_SIGNALLED = 128  # plus the signal's number, as shells report a program that a signal ended
BROKEN_PIPE = _SIGNALLED + 13  # SIGPIPE, missing on Windows

EXPLANATION = f"""\
exit status:
  0    success
  {FAILED}    the work failed, at least in part: a loss that is not finite, bad inputs to predict,
       a file that cannot be written, not enough memory, an extra that is not installed
  {USAGE}    invalid options, names, files, data or models
  130  interrupted (Ctrl-C); 143 after SIGTERM
  {BROKEN_PIPE}  the reader of the output closed the pipe
Errors are reported in one line on standard error; --debug, with any command, adds the traceback.
"""

# Module -> the extra that installs it.
_EXTRAS = {
    "pytorch_lightning": "train",
    "torchmetrics": "train",
    "huggingface_hub": "hub",
    "matplotlib": "draw",
    "mlflow": "mlflow",
    "pyarrow": "ray",  # which Ray has only with ray[data]
    "ray": "ray",
    "shtab": "completion",
    "transformers": "contextual",
    "wandb": "wandb",
}
_LONGEST = 1_000  # message, in characters
_NO_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")  # messages of torch


def outcome(error: BaseException) -> tuple[int, str] | None:
    """The exit status and message for an exception; None if it is a bug."""
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
            return FAILED, "not enough memory"
        case ImportError():
            extra = _EXTRAS.get((error.name or "").partition(".")[0])
            if extra is None and error.name != "dgl":
                return None
            hint = f"pip install 'graphsent[{extra}]'"
            known = extra is None or hint in str(error)
            return FAILED, str(error) if known else f"{error}: {hint}"
        case RuntimeError() if any(text in str(error) for text in _NO_MEMORY):
            return FAILED, f"not enough memory: {str(error).splitlines()[0]}"
    return None


def in_one_line(message: str) -> str:
    """The message on one line, with undecodable bytes escaped and excess length cut."""
    line = escaped(" ".join(message.split()))
    if len(line) <= _LONGEST:
        return line
    return f"{line[:_LONGEST]} ... ({len(line) - _LONGEST:,} more characters)"
