"""Tasks and parsers that users bring along, in modules of the current directory."""

from __future__ import annotations

import os
import sys

from graphsent.tasks import is_own

__all__ = ["import_from_here"]


def import_from_here(name: str | None) -> None:
    """Makes modules of the current directory importable if a task is named ``module:function``.

    The same holds for a parser. For other names it is not: no file that happens to lie there is
    imported in place of a package.
    """
    here = os.getcwd()
    if name is not None and is_own(name) and here not in sys.path:
        sys.path.insert(0, here)
