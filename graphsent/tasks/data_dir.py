"""Where corpora are: the directory a user names, or the embedded one."""

from __future__ import annotations

import os
from pathlib import Path

import graphsent
from graphsent.errors import DataError

__all__ = ["embedded_data_dir", "resolve_data_dir"]

_VARIABLE = "GRAPHSENT_DATA"


def resolve_data_dir(data_dir: str | os.PathLike[str] | None = None) -> Path:
    """The directory that holds the corpora.

    The first of these that is given: ``data_dir``, the environment variable ``GRAPHSENT_DATA``, the
    ``data`` directory of the repository that graphsent is installed from in editable form. What is
    given must exist: a misspelt path never falls through to other data.

    Raises:
        DataError: The directory does not exist; what was looked for is listed.
    """
    given = os.environ.get(_VARIABLE)
    if data_dir is not None:
        return _existing(data_dir, "the given data directory")
    if given:
        return _existing(given, f"the data directory named by {_VARIABLE}")
    return embedded_data_dir()


def embedded_data_dir() -> Path:
    """The ``data`` directory of the repository that graphsent is installed from in editable form.

    Raises:
        DataError: It is not there.
    """
    embedded = Path(graphsent.__file__).resolve().parent.parent / "data"
    if not embedded.is_dir():
        raise DataError(
            f"no data directory: none was given, {_VARIABLE} is not set, and the embedded data are "
            f"not beside the package ({embedded}); give a directory, or clone the repository and "
            "install it in editable form"
        )
    return embedded


def _existing(path: str | os.PathLike[str], what: str) -> Path:
    directory = Path(path).expanduser()
    if not directory.is_dir():
        raise DataError(f"{what} is not a directory: {directory}")
    return directory
