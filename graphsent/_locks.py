"""Directory locks between processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphsent.errors import GraphsentError

try:
    import fcntl
except ImportError:  # Windows cannot lock directories
    fcntl = None  # type: ignore[assignment]

__all__ = ["locked"]


@contextmanager
def locked(directory: Path, error: GraphsentError | None = None) -> Iterator[None]:
    """Locks a directory against other processes; the lock ends with the process at the latest.

    No lock file is written. On systems without directory locks, this does nothing.

    Args:
        directory: The directory, which must exist.
        error: Raised if another process holds the lock; None to wait for it.

    Raises:
        GraphsentError: The given error.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(directory, os.O_RDONLY)
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
