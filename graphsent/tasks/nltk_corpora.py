"""Reads corpora in NLTK's format, from any data directory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphsent._names import message_of
from graphsent._unpacking import UNREADABLE
from graphsent.errors import DataError

__all__ = ["nltk_lines"]


def nltk_lines(directory: Path, name: str) -> list[str]:
    """The sentences of a file of one of NLTK's corpora, their words joined by spaces.

    Args:
        directory: The corpus in ``corpora`` of a directory of NLTK data, unpacked or inside its
            archive: ``nltk_data/corpora/sentence_polarity.zip/sentence_polarity``.
        name: The file, in UTF-8.

    Raises:
        DataError: It cannot be read.
    """
    from nltk.corpus.reader import CategorizedSentencesCorpusReader
    from nltk.data import FileSystemPathPointer, ZipFilePathPointer

    real = directory.resolve()
    in_archive = real.parent.is_file()
    with _searched(real.parent.parent if in_archive else real):
        try:
            root = (
                ZipFilePathPointer(str(real.parent), f"{real.name}/")
                if in_archive
                else FileSystemPathPointer(str(real))
            )
            reader: Any = CategorizedSentencesCorpusReader(root, [name], cat_map={name: [name]})
            return [" ".join(words) for words in reader.sents()]
        except (*UNREADABLE, LookupError, UnicodeDecodeError) as error:
            raise DataError(f"cannot read {directory / name}: {message_of(error)}") from error


@contextmanager
def _searched(root: Path) -> Iterator[None]:
    """Adds a directory to NLTK's search path, outside of which NLTK 3.10+ opens no files."""
    from nltk import data

    data.path.append(str(root))
    try:
        yield
    finally:
        data.path.remove(str(root))
