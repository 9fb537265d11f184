"""Locks of files and directories between processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphsent.errors import GraphsentError

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["locked"]


@contextmanager
def locked(path: Path, error: GraphsentError | None = None) -> Iterator[None]:
    """Locks a file or directory against other processes, at most until this process ends.

    No lock file is written. On systems without such locks, this does nothing.

    Args:
        path: The file or directory, which must exist.
        error: Raised if another process holds the lock; None to wait for it.

    Raises:
        GraphsentError: The given error.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (fcntl.LOCK_NB if error is not None else 0))
        except BlockingIOError:
            assert error is not None, "a blocking lock was refused"
            raise error from None
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(handle)
