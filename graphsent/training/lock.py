"""One process at a time in a directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphsent.training.errors import TrainingError

try:
    import fcntl
except ImportError:  # Windows has no locks of directories
    fcntl = None  # type: ignore[assignment]

__all__ = ["locked"]


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keeps other processes out of a directory; the lock ends with the process at the latest.

    It leaves no file. Where the system has no such locks, it does nothing.

    Raises:
        TrainingError: Another process is in it.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"{directory}: another run is in it now: choose another directory"
            raise TrainingError(message) from None
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(handle)
