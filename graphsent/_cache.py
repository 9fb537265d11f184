"""Where the library keeps what it has made once and can make again."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_directory"]

_VARIABLE = "GRAPHSENT_CACHE"


def cache_directory() -> Path:
    """The directory, which need not exist: everything in it may be removed at any time.

    It is the first of these that is given: ``GRAPHSENT_CACHE``, ``graphsent`` in
    ``XDG_CACHE_HOME``, ``.cache/graphsent`` in the user's home.

    Raises:
        RuntimeError: None is given, and the user has no home.
    """
    given = os.environ.get(_VARIABLE)
    if given:
        return Path(given).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return Path(base) / "graphsent"
    home = Path.home()  # "/" where HOME is empty
    if os.environ.get("HOME") == "" or not (home.is_absolute() and home.is_dir()):
        raise RuntimeError("the user's home is no directory")
    return home / ".cache" / "graphsent"
