"""Downloads the corpora of tasks, or copies them from a directory."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from graphsent._cache import cache_directory
from graphsent._files import atomic_path, sha256
from graphsent._names import check_choice
from graphsent._unpacking import UNREADABLE, check_unpacked
from graphsent.errors import DataError
from graphsent.tasks.data_dir import existing_directory
from graphsent.tasks.sources import SOURCES, Source
from graphsent.tasks.transfer import DownloadError, fetch
from graphsent.trees.text_files import unreadable

__all__ = ["download"]


def download(
    task: str,
    data_dir: str | os.PathLike[str],
    *,
    from_dir: str | os.PathLike[str] | None = None,
    progress: bool = False,
    echo: Callable[[str], None] = print,
) -> list[Path]:
    """Fetches the files of a task's corpus into a data directory, and checks their SHA-256.

    Existing files are kept. Downloads, including partial ones, are kept in the cache
    (``GRAPHSENT_CACHE``), from which the next call resumes.

    Args:
        task: Name of the task.
        data_dir: The data directory, created if necessary.
        from_dir: A directory to copy from instead, offline: with the files or archives as they are
            published, or a data directory. A file of which only the archive's checksum is known is
            copied unchecked, which is reported. If a file is missing but a known sample of it is
            there, the sample is copied instead.
        progress: Show progress bars.
        echo: Called with one line per file.

    Returns:
        The files of the corpus.

    Raises:
        DataError: No URL is known for the task, a file in the data directory is not the published
            one, or ``from_dir`` does not have it.
        DownloadError: A file cannot be downloaded, or is not the published one.
        OSError: A file cannot be written.
    """
    check_choice("task", task, sorted(SOURCES), DataError)
    directory = Path(os.path.expanduser(data_dir))
    if from_dir is not None:
        from_dir = existing_directory(from_dir, "the directory to copy from")
    found: list[Path] = []
    for source in SOURCES[task]:
        wanted = [name for name in source.files if not _is_there(directory / name, source, name)]
        paths = {name: directory / name for name in source.files}
        if not wanted:
            for path in paths.values():
                echo(f"{path}: already there")
        elif from_dir is not None:
            paths |= _copy(source, wanted, from_dir, directory, echo)
        else:
            echo(f"{source.url} ({source.terms})")
            _download(source, wanted, directory, progress=progress, echo=echo)
        found += paths.values()
    return found


def _is_there(path: Path, source: Source, name: str) -> bool:
    if not path.exists():
        return False
    expected = source.files[name]
    if not path.is_file() or (expected and sha256(path) != expected):
        raise DataError(f"{path} exists, but is not the published file: move it away first")
    return True


def _download(
    source: Source,
    wanted: list[str],
    directory: Path,
    *,
    progress: bool,
    echo: Callable[[str], None],
) -> None:
    cache = cache_directory() / "downloads"
    file = fetch(source.url, source.name, source.known_sha256, cache, progress=progress)
    try:
        _put(file, source, wanted, directory, echo)
    except DataError as error:  # in an archive whose own SHA-256 is unknown
        file.unlink(missing_ok=True)
        raise DownloadError(f"{source.url} is not the published file: {error}") from None


def _copy(
    source: Source, wanted: list[str], origin: Path, directory: Path, echo: Callable[[str], None]
) -> dict[str, Path]:
    """Copies files from a directory that has them, their archive, or samples of them.

    Returns:
        File name -> copied sample, for the files that were replaced by a sample.
    """
    samples: dict[str, Path] = {}
    for name in wanted:
        expected = source.files[name]
        sample, its_sha256 = source.samples.get(name, ("", ""))
        if file := _found(origin, name, (source.members or {}).get(name, name)):
            _write_file(file, directory / name, expected)
            known = f", unchecked: only the checksum of {source.name} is known"
            echo(f"{directory / name}: copied from {file}{'' if expected else known}")
        elif (origin / source.name).is_file():
            _put(origin / source.name, source, [name], directory, echo)
        elif sample and (file := _found(origin, sample)):
            samples[name] = directory / sample
            _write_file(file, samples[name], its_sha256)
            echo(f"{samples[name]}: copied from {file}, a sample of {Path(name).name}")
        else:
            names = ", ".join(
                dict.fromkeys([name, Path(name).name, source.name, *[sample] * bool(sample)])
            )
            raise DataError(f"{origin} has none of: {names}")
    return samples


def _found(origin: Path, *names: str) -> Path | None:
    """The file in a directory under one of some names, or the last part of the first."""
    places = [origin / name for name in (*names, Path(names[0]).name)]
    return next((place for place in places if place.is_file()), None)


def _put(
    file: Path, source: Source, wanted: list[str], directory: Path, echo: Callable[[str], None]
) -> None:
    """Writes a file, or files of an archive, to their places.

    Raises:
        DataError: The archive is damaged, or a file is not the published one.
    """
    if source.members is None:
        (name,) = wanted
        _write_file(file, directory / name, source.files[name])
        echo(f"{directory / name}: written")
        return
    if source.sha256 and sha256(file) != source.sha256:
        raise DataError(f"{file} is not the published file: expected SHA-256 {source.sha256}")
    for name in wanted:
        member = source.members[name]
        try:
            with zipfile.ZipFile(file) as archive:
                check_unpacked(archive, file, [member])
                with archive.open(member) as opened:
                    _write(opened, file / member, directory / name, source.files[name])
        except UNREADABLE as error:
            if getattr(error, "filename", None) is not None:  # the target cannot be written
                raise
            raise unreadable(error, file) from error
        echo(f"{directory / name}: written")


def _write_file(file: Path, target: Path, expected: str | None) -> None:
    with file.open("rb") as opened:
        _write(opened, file, target, expected)


def _write(opened: IO[bytes], origin: Path, target: Path, expected: str | None) -> None:
    """Writes a file, checked, atomically."""
    with atomic_path(target) as temporary:
        with temporary.open("wb") as file:
            shutil.copyfileobj(opened, file)
        found = sha256(temporary)
        if expected and found != expected:
            raise DataError(
                f"{origin} is not the published file: expected SHA-256 {expected}, got {found}"
            )
