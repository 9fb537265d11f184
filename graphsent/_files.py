"""Writing a file so that readers see the old one or the whole new one, never a part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["atomic_path"]


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives a path beside ``path`` to write to; moves it to ``path`` if the block succeeds.

    Missing parent directories are created. If the block raises, ``path`` stays as it was and what
    was written is removed. The temporary name ends as ``path`` does, so that ``.gz`` is still seen.

    Args:
        path: The file to create or replace.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
