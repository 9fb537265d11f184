"""Tasks that users bring along, in modules of the directory where they run a command."""

from __future__ import annotations

import os
import sys

from graphsent.tasks import is_own

__all__ = ["import_from_here"]


def import_from_here(task: str | None) -> None:
    """Makes modules of the current directory importable if a task is named ``module:function``.

    For other tasks it is not: no file that happens to lie there is imported in place of a package.
    """
    here = os.getcwd()
    if task is not None and is_own(task) and here not in sys.path:
        sys.path.insert(0, here)
