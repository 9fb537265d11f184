"""Examples that are read once and then replayed from a temporary file."""

from __future__ import annotations

import pickle
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import IO, Any

from graphsent._cache import cache_directory

__all__ = ["Spooled"]

_CHUNK = 256  # examples that are written together


class Spooled:
    """Returns a new iterator over examples on each call, from the second on a replay from disk.

    For data that take longer to read than to copy, such as raw text to be tokenized. The temporary
    file is in :func:`graphsent._cache.cache_directory`, since the system's directory of temporary
    files may be in memory. It has no name, and is deleted with this object.

    Args:
        read: Returns the examples, from the first.
    """

    def __init__(self, read: Callable[[], Iterable[Any]]) -> None:
        self._read = read
        self._file: IO[bytes] | None = None

    def __call__(self) -> Iterator[Any]:
        """The examples.

        Raises:
            NoCacheDirectory: There is no cache directory.
            OSError: The file cannot be written.
        """
        return self._first() if self._file is None else self._again(self._file)

    def _first(self) -> Iterator[Any]:
        """The examples as they are read; the file counts once all have been read."""
        directory = cache_directory()
        directory.mkdir(parents=True, exist_ok=True)
        file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115
        close = weakref.finalize(self, file.close)
        try:
            examples = iter(self._read())
            while chunk := list(islice(examples, _CHUNK)):
                pickle.dump(chunk, file, pickle.HIGHEST_PROTOCOL)
                yield from chunk
            file.flush()
        except BaseException:
            close()
            raise
        self._file = file

    def _again(self, file: IO[bytes]) -> Iterator[Any]:
        place, end = 0, file.seek(0, 2)
        while place < end:
            file.seek(place)  # another iterator may have moved it
            chunk = pickle.load(file)
            place = file.tell()
            yield from chunk
