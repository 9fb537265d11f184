"""Atomic writing: readers see the old file or the complete new one, never a part of it.

The new file is written beside its target, under a name that contains the process ID, and renamed to
the target at the end. What a killed process left behind is removed by the next writer on the same
computer: elsewhere, nobody knows whether the process is alive.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import re
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from graphsent.errors import DataError

__all__ = [
    "atomic_path",
    "escaped",
    "full_path",
    "leftovers",
    "named",
    "recover",
    "replaced_directory",
    "sha256",
    "sha256_of",
    "this_process",
    "with_sha256",
    "write_atomically",
    "write_json",
]

_PROCESS = r"(?P<process>[0-9]{1,18})(?:@(?P<computer>[0-9a-f]{8}))?"
_LEFTOVERS = (
    re.compile(rf"\.{_PROCESS}-(?P<name>.+)"),
    re.compile(rf"\.(?P<name>.+)\.{_PROCESS}\.(?:new|old)"),  # of a directory
)
_CHUNK_BYTES = 1 << 20


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary path beside ``path`` to write to; renames it if the block succeeds.

    Missing parent directories are created. If the block raises, ``path`` stays as it was and the
    temporary file is removed. The temporary name ends as ``path`` does, so that a suffix such as
    ``.gz`` keeps its meaning. A file that is replaced keeps its permissions. If ``path`` is a link,
    its target is replaced. Special files, such as a pipe or ``/dev/null``, are written directly:
    they must never be replaced by a file.

    Args:
        path: The file to create or replace.

    Raises:
        OSError: The file cannot be written; ``filename`` is ``path``.
    """
    path = Path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        with named(path, path):
            yield path
        return
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    temporary = path.with_name(f".{this_process()}-{path.name}")
    with named(path, temporary):
        path.parent.mkdir(parents=True, exist_ok=True)
        recover(path, writing=True)
        try:
            yield temporary
            if path.is_file():
                with suppress(OSError):  # on file systems without permissions
                    shutil.copymode(path, temporary)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def replaced_directory(directory: Path) -> Iterator[Path]:
    """Yields an empty temporary directory that replaces ``directory`` if the block succeeds.

    As with :func:`atomic_path`, missing parents are created; if the block raises, ``directory``
    stays as it was.
    """
    directory = directory.resolve()
    temporary = directory.with_name(f".{directory.name}.{this_process()}.new")
    old = directory.with_name(f".{directory.name}.{this_process()}.old")
    with named(directory, temporary):
        directory.parent.mkdir(parents=True, exist_ok=True)
        recover(directory, writing=True)
        temporary.mkdir()
        try:
            yield temporary
            _swap(directory, temporary, old)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _swap(directory: Path, new: Path, old: Path) -> None:
    # Directories cannot be exchanged portably: between the two renames only `old` exists.
    if directory.exists():
        os.replace(directory, old)
    try:
        os.replace(new, directory)
    except BaseException:
        if old.exists():
            os.replace(old, directory)
        raise
    shutil.rmtree(old, ignore_errors=True)


def write_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Writes a text in UTF-8, as :func:`atomic_path`; its lines end in newlines on all systems."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: str | os.PathLike[str], content: Any, indent: int | None = None) -> None:
    """Writes JSON as :func:`write_atomically`, its text as :func:`escaped` returns it."""
    text = json.dumps(content, indent=indent, ensure_ascii=False)
    write_atomically(path, escaped(text) + "\n")


def escaped(text: str) -> str:
    """A text with the bytes of paths that are not in UTF-8, a lone surrogate each, escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def this_process() -> str:
    """Identifies this process among those of all computers that share a file system."""
    return f"{os.getpid()}@{_computer()}"


@functools.cache
def _computer() -> str:
    """Identifies the computer, or the container on it, within which process IDs are unique."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:  # not on Linux
        namespace = ""
    return f"{zlib.crc32(f'{platform.node()} {namespace}'.encode()):08x}"


def leftovers(directory: Path, name: str) -> Iterator[tuple[Path, int | None]]:
    """Leftovers of writing ``directory / name``, each with the ID of the process that wrote it.

    The ID is None for a process of another computer.

    Args:
        directory: A directory, which need not exist.
        name: Name of a file or directory in it.
    """
    if not os.path.isdir(directory):  # also False for invalid names
        return
    for entry in sorted(os.listdir(directory)):
        for pattern in _LEFTOVERS:
            match = pattern.fullmatch(entry)
            if match and match["name"] == name:
                is_here = match["computer"] in (None, _computer())
                yield directory / entry, int(match["process"]) if is_here else None


def recover(path: Path, *, alone: bool = False, writing: bool = False) -> None:
    """Removes leftovers of killed writers of ``path``; restores its last complete state if moved.

    Args:
        path: A file or directory that was being written.
        alone: Whether no other process can be writing it now; otherwise, leftovers of processes
            that may be alive, which includes all of other computers, are kept.
        writing: Whether this thread is about to write it. Leftovers with the ID of this process are
            then those of an earlier one; otherwise, another thread may be writing.
    """
    for leftover, process in leftovers(path.parent, path.name):
        is_earlier = writing and process == os.getpid()
        if not (alone or is_earlier or (process is not None and _is_dead(process))):
            continue
        if not leftover.is_dir():
            leftover.unlink(missing_ok=True)
        elif leftover.suffix == ".old" and not path.exists():
            os.replace(leftover, path)  # killed between two renames
        else:
            shutil.rmtree(leftover, ignore_errors=True)


def full_path(path: str | os.PathLike[str]) -> str:
    """The absolute path of a data file, by which it is known to a run.

    Links to files are kept: suffixes determine formats, and files of the Hugging Face Hub or of DVC
    are links to others without. A pipe of the shell even links to a path that does not exist. Links
    to directories are resolved, so that a file has one path however it is given.

    Raises:
        DataError: It is not a path.
    """
    try:
        full = Path(path).expanduser()
        full.resolve()  # raises errors about the last part
        return str(full.parent.resolve() / full.name)
    except (OSError, RuntimeError, ValueError) as error:  # circular links, no home directory, NUL
        raise DataError(f"{str(path)!r} is not a path: {error}") from None


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return sha256_of(file)


def sha256_of(file: IO[bytes]) -> str:
    """The SHA-256 of the rest of an open file, in hexadecimal."""
    found = hashlib.sha256()
    while chunk := file.read(_CHUNK_BYTES):
        found.update(chunk)
    return found.hexdigest()


def with_sha256(path: Path) -> dict[str, Any]:
    """A file for JSON: its path and its SHA-256."""
    return {"path": str(path), "sha256": sha256(path)}


@contextmanager
def named(path: Path, temporary: Path) -> Iterator[None]:
    """Makes OS errors name the target: errors of writing to an open file name no file."""
    try:
        yield
    except OSError as error:
        # Copying names its source first: Lightning writes checkpoints elsewhere and copies them.
        names = (error.filename, error.filename2)
        own = error.filename is None or any(str(temporary) in str(name) for name in names)
        if error.errno is None or not own:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _is_dead(process: int) -> bool:
    if os.name == "nt":  # where signal 0 would kill the process
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
