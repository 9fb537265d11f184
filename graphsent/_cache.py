"""The cache directory."""

from __future__ import annotations

import os
from pathlib import Path

from graphsent.errors import FailedError

__all__ = ["NoCacheDirectory", "cache_directory"]

_VARIABLE = "GRAPHSENT_CACHE"


class NoCacheDirectory(FailedError, RuntimeError):
    """There is no place for a cache. As a RuntimeError, it only keeps kernels from being built."""


def cache_directory() -> Path:
    """The cache directory, which need not exist; its contents may be deleted at any time.

    It is ``$GRAPHSENT_CACHE``, else ``$XDG_CACHE_HOME/graphsent``, else ``~/.cache/graphsent``.

    Raises:
        NoCacheDirectory: Neither variable is set, and the user has no home directory.
    """
    given = os.environ.get(_VARIABLE)
    if given:
        return Path(os.path.expanduser(given)).absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return Path(base) / "graphsent"
    home = Path(os.path.expanduser("~"))  # "/" where HOME is empty
    if os.environ.get("HOME") == "" or not (home.is_absolute() and home.is_dir()):
        raise NoCacheDirectory(
            f"no cache directory: the user has no home directory: set {_VARIABLE}"
        )
    return home / ".cache" / "graphsent"
