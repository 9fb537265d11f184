"""The directory and subprocesses of a build, which leave nothing behind.

If a build is killed, the next one cleans up.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "building-"
_PAUSE = 0.05


@contextmanager
def only_builder(directory: Path, longest: float) -> Iterator[Path]:
    """A temporary directory inside another, for one process at a time.

    If the file system does not support locks, several processes may build at once.

    Args:
        directory: the parent directory.
        longest: seconds to wait for another process that builds.

    Raises:
        OSError: if nothing can be written there.
        TimeoutError: if another process builds for longer.
    """
    with _lock(directory, longest) as locked:
        for left in directory.glob(f"{_PREFIX}*") if locked else ():  # left by killed builds
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(
            dir=directory, prefix=_PREFIX, ignore_cleanup_errors=True
        ) as scratch:
            yield Path(scratch)


@contextmanager
def _lock(directory: Path, longest: float) -> Iterator[bool]:
    """Locks a directory; yields False if the file system does not support it."""
    import fcntl  # Unix only

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
        if locked:  # processes forked in the meantime have the descriptor, too
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def run(command: Sequence[str], scratch: Path, longest: float) -> None:
    """Runs a command, and kills all of its processes if it takes too long.

    Args:
        command: the program and its arguments.
        scratch: the directory for its temporary files.
        longest: timeout in seconds.

    Raises:
        OSError: if it cannot be run.
        RuntimeError: if it fails; the message contains its output.
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
            with suppress(ProcessLookupError):  # which would hide the error: it has ended
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise TimeoutError(f"{command[0]} took more than {longest:g} s") from None
            raise
        if status:
            said.seek(0)
            text = said.read().decode(errors="replace").strip()
            raise RuntimeError(f"{command[0]} ended with exit status {status}: {text}")
