"""Files of corpora, also where they lie in a zip archive that is left packed."""

from __future__ import annotations

import zipfile
from pathlib import Path

from graphsent._unpacking import UNREADABLE, check_unpacked
from graphsent.errors import DataError

__all__ = ["is_file", "read_bytes", "read_lines"]


def is_file(path: Path) -> bool:
    """Whether a file is there, perhaps inside an archive: ``corpora/qc.zip/qc/train.txt``."""
    if path.is_file():
        return True
    archive = _archive_of(path)
    return archive is not None and path.relative_to(archive).as_posix() in _names(archive)


def read_bytes(path: Path) -> bytes:
    """The content of a file, perhaps inside an archive.

    Raises:
        DataError: It cannot be read, or unpacks past the limit of
            :func:`~graphsent._unpacking.open_gzip`.
    """
    archive = None if path.is_file() else _archive_of(path)
    try:
        if archive is None:
            return path.read_bytes()
        name = path.relative_to(archive).as_posix()
        with zipfile.ZipFile(archive) as opened:
            check_unpacked(opened, archive, [name])
            return opened.read(name)
    except UNREADABLE as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"cannot read {path}: {reason}") from error


def read_lines(path: Path) -> list[str]:
    """The lines of a text file in UTF-8 or, if it is none, in Latin-1, as old corpora are.

    Raises:
        DataError: It cannot be read.
    """
    data = read_bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    # Not splitlines(): U+0085 and others end no line of a corpus.
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []


def _archive_of(path: Path) -> Path | None:
    for parent in path.parents:
        if parent.suffix == ".zip" and parent.is_file():
            return parent
    return None


def _names(archive: Path) -> list[str]:
    try:
        with zipfile.ZipFile(archive) as opened:
            return opened.namelist()
    except UNREADABLE as error:
        raise DataError(f"cannot read {archive}: {error}") from error
