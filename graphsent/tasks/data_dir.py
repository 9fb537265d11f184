"""The data directory: the one that the user names, or the embedded one."""

from __future__ import annotations

import os
from pathlib import Path

import graphsent
from graphsent.errors import DataError

__all__ = ["embedded_data_dir", "existing_directory", "resolve_data_dir"]

_VARIABLE = "GRAPHSENT_DATA"
_PART = "sentiment"  # of the embedded data


def resolve_data_dir(data_dir: str | os.PathLike[str] | None = None) -> Path:
    """The directory that holds the corpora.

    ``data_dir``, else the environment variable ``GRAPHSENT_DATA``, else the embedded data. A given
    directory must exist: a misspelt path never falls back to other data.

    Raises:
        DataError: The directory does not exist.
    """
    given = os.environ.get(_VARIABLE)
    if data_dir is not None:
        return existing_directory(data_dir, "the given data directory")
    if given:
        return existing_directory(given, f"the data directory named by {_VARIABLE}")
    return embedded_data_dir()


def embedded_data_dir() -> Path:
    """The embedded data: inside an installed package, beside it in a checkout.

    Raises:
        DataError: They are missing.
    """
    package = Path(graphsent.__file__).resolve().parent
    for directory in (package / "data", package.parent / "data"):
        if (directory / _PART).is_dir():
            return directory
    raise DataError(
        f"no data directory: none was given, {_VARIABLE} is not set, and the embedded data are "
        f"neither in {package} nor beside it; name a directory, or reinstall graphsent"
    )


def existing_directory(path: str | os.PathLike[str], what: str) -> Path:
    """The path of a directory; raises a DataError if there is none.

    Args:
        path: The directory, perhaps in a home directory (``~``).
        what: What it is, for the error.
    """
    directory = Path(os.path.expanduser(path))
    if not directory.is_dir():
        raise DataError(f"{what} is not a directory: {directory}")
    return directory
