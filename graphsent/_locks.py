"""One process at a time in a directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphsent.errors import GraphsentError

try:
    import fcntl
except ImportError:  # Windows has no locks of directories
    fcntl = None  # type: ignore[assignment]

__all__ = ["locked"]


@contextmanager
def locked(directory: Path, error: GraphsentError | None = None) -> Iterator[None]:
    """Keeps other processes out of a directory; the lock ends with the process at the latest.

    It leaves no file. Where the system has no such locks, it does nothing.

    Args:
        directory: The directory, which exists.
        error: What is raised if another process is in it; None to wait until it is out.

    Raises:
        GraphsentError: The error that was given.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (fcntl.LOCK_NB if error is not None else 0))
        except BlockingIOError:
            assert error is not None, "a lock that was waited for was refused"
            raise error from None
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(handle)
