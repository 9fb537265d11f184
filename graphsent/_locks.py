"""Locks of files and directories between processes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["locked"]

_PAUSE = 0.05


@contextmanager
def locked(path: Path, error: Exception | None = None, longest: float = 0.0) -> Iterator[bool]:
    """Locks a file or directory against other processes, at most until this process ends.

    No lock file is written. On systems without such locks, this does nothing.

    Args:
        path: The file or directory, which must exist.
        error: Raised if another process holds the lock; None to wait for it.
        longest: Seconds to wait before the error.

    Yields:
        Whether there is a lock: the system and the file system must support it.

    Raises:
        Exception: The given error.
    """
    if fcntl is None:
        yield False
        return
    handle, taken, owner = os.open(path, os.O_RDONLY), False, os.getpid()
    try:
        taken = _take(handle, error, longest)
        yield taken
    finally:
        # Processes forked in the meantime share the lock: they neither keep nor release it.
        if taken and os.getpid() == owner:
            fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)


def _take(handle: int, error: Exception | None, longest: float) -> bool:
    assert fcntl is not None
    end = time.monotonic() + longest
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (fcntl.LOCK_NB if error is not None else 0))
            return True
        except BlockingIOError:
            assert error is not None, "a blocking lock was refused"
            if time.monotonic() >= end:
                raise error from None
            time.sleep(_PAUSE)
        except OSError:  # a file system without locks
            return False
