"""What a build needs of the system: a place and processes that leave nothing behind.

Whatever ends a build, a signal that nobody can handle included: the next one cleans up.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "building-"
_PAUSE = 0.05


@contextmanager
def only_builder(directory: Path, longest: float) -> Iterator[Path]:
    """A new directory inside another, for one process at a time; both end together.

    Where the file system has no locks, several may build at once.

    Args:
        directory: the other one.
        longest: seconds to wait for those that build.

    Raises:
        OSError: if nothing can be written there.
        TimeoutError: if others go on building.
    """
    with _lock(directory, longest) as locked:
        for left in directory.glob(f"{_PREFIX}*") if locked else ():  # by those that were killed
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(
            dir=directory, prefix=_PREFIX, ignore_cleanup_errors=True
        ) as scratch:
            yield Path(scratch)


@contextmanager
def _lock(directory: Path, longest: float) -> Iterator[bool]:
    """Whether a directory is locked meanwhile; False where that cannot be."""
    import fcntl  # on Unix only

    descriptor, end, locked = os.open(directory, os.O_RDONLY), time.monotonic() + longest, None
    try:
        while locked is None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                locked = True
            except BlockingIOError:
                if time.monotonic() > end:
                    message = f"another process has been building for {longest:g} s"
                    raise TimeoutError(message) from None
                time.sleep(_PAUSE)
            except OSError:
                locked = False
        yield locked
    finally:
        if locked:  # processes that were forked meanwhile have the descriptor, too
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def run(command: Sequence[str], scratch: Path, longest: float) -> None:
    """Runs a command, and ends all of its processes if it takes too long.

    Args:
        command: the program and its arguments.
        scratch: the directory for its temporary files.
        longest: seconds that it may take.

    Raises:
        OSError: if it cannot be run.
        RuntimeError: if it fails; tells what it said.
        TimeoutError: if it takes too long.
    """
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with open(scratch / "said", "w+b") as said:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env=environment,
            start_new_session=True,
        )
        try:
            status = process.wait(longest)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise TimeoutError(f"{command[0]} took more than {longest:g} s") from None
            raise
        if status:
            said.seek(0)
            text = said.read().decode(errors="replace").strip()
            raise RuntimeError(f"{command[0]} ended with exit status {status}: {text}")
