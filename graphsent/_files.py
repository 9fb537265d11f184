"""Writing a file so that readers see the old one or the whole new one, never a part.

What is written lies beside its target under a name with the number of the process, and takes the
target's place at the end. What a killed process left there is removed by the next one to write.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["atomic_path", "leftovers", "named", "recover", "sha256"]

_LEFTOVERS = (
    re.compile(r"\.(?P<process>[0-9]{1,18})-(?P<name>.+)"),
    re.compile(r"\.(?P<name>.+)\.(?P<process>[0-9]{1,18})\.(?:new|old)"),  # of a directory
)
_CHUNK_BYTES = 1 << 20


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives a path beside ``path`` to write to; moves it to ``path`` if the block succeeds.

    Missing parent directories are created. If the block raises, ``path`` stays as it was and what
    was written is removed. The temporary name ends as ``path`` does, so that ``.gz`` is still seen.
    Of a link the file is replaced that it leads to. What is no file, a pipe or ``/dev/null``, is
    written to itself: it must never be replaced by a file.

    Args:
        path: The file to create or replace.

    Raises:
        OSError: It cannot be written; ``filename`` is ``path``.
    """
    path = Path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        with named(path, path):
            yield path
        return
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    with named(path, temporary):
        path.parent.mkdir(parents=True, exist_ok=True)
        recover(path)
        try:
            yield temporary
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def leftovers(directory: Path, name: str) -> Iterator[tuple[Path, int]]:
    """What writing ``directory / name`` may have left there, each with the number of its process.

    Args:
        directory: A directory, which need not exist.
        name: Of a file or directory in it.
    """
    if not os.path.isdir(directory):  # False, too, for names that no directory can have
        return
    for entry in sorted(os.listdir(directory)):
        for pattern in _LEFTOVERS:
            match = pattern.fullmatch(entry)
            if match and match["name"] == name:
                yield directory / entry, int(match["process"])


def recover(path: Path, *, alone: bool = False) -> None:
    """Removes what a killed process left of ``path``; its last complete state stays or comes back.

    Args:
        path: A file or directory that was being written.
        alone: Whether no other process can be writing it now; otherwise what is of a process that
            may be alive is left alone.
    """
    for leftover, process in leftovers(path.parent, path.name):
        if not (alone or process == os.getpid() or _is_dead(process)):
            continue
        if not leftover.is_dir():
            leftover.unlink(missing_ok=True)
        elif leftover.suffix == ".old" and not path.exists():
            os.replace(leftover, path)  # it was killed between two renames
        else:
            shutil.rmtree(leftover, ignore_errors=True)


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            found.update(chunk)
    return found.hexdigest()


@contextmanager
def named(path: Path, temporary: Path) -> Iterator[None]:
    """Errors of the system name what was to be written: writing to an open file names nothing."""
    try:
        yield
    except OSError as error:
        own = error.filename is None or str(temporary) in str(error.filename)
        if error.errno is None or not own:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _is_dead(process: int) -> bool:
    if os.name == "nt":  # where signal 0 would end it
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
