"""Users' own tasks and parsers, in modules of the current directory."""

from __future__ import annotations

import os
import sys

from graphsent.parsing import is_own as is_own_parser
from graphsent.tasks import is_own

__all__ = ["import_from_here"]


def import_from_here(*names: str | None) -> None:
    """Makes modules of the current directory importable if a name is ``module:function``.

    For other names it does not, so that no file there is imported in place of a package.

    Args:
        *names: Of tasks and parsers, None where there is none.
    """
    here = os.getcwd()
    own = any(name is not None and is_own(name) and is_own_parser(name) for name in names)
    if own and here not in sys.path:
        sys.path.insert(0, here)
