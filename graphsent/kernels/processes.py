"""The directory and subprocesses of a build, which leave nothing behind.

If a build is killed, the next one cleans up.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from graphsent._locks import locked

_PREFIX = "building-"
_LONGEST_MESSAGE = 2000  # bytes: the first errors of a compiler cause the others


@contextmanager
def only_builder(directory: Path, longest: float) -> Iterator[Path]:
    """A temporary directory inside another, for one process at a time.

    If the file system does not support locks, several processes may build at once.

    Args:
        directory: The parent directory.
        longest: Seconds to wait for another process that builds.

    Raises:
        OSError: If nothing can be written there.
        TimeoutError: If another process builds for longer.
    """
    error = TimeoutError(f"another process has been building for {longest:g} s")
    with locked(directory, error, longest) as alone:
        for left in directory.glob(f"{_PREFIX}*") if alone else ():  # left by killed builds
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(
            dir=directory, prefix=_PREFIX, ignore_cleanup_errors=True
        ) as scratch:
            yield Path(scratch)


def run(command: Sequence[str], scratch: Path, longest: float) -> None:
    """Runs a command, and kills all of its processes if it takes too long.

    Args:
        command: The program and its arguments.
        scratch: The directory for its temporary files.
        longest: Timeout in seconds.

    Raises:
        OSError: If it cannot be run.
        RuntimeError: If it fails; the message contains the beginning of its output.
        TimeoutError: If it takes too long.
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
            text = said.read(_LONGEST_MESSAGE).decode(errors="replace").strip()
            raise RuntimeError(f"{command[0]} ended with exit status {status}: {text}")
