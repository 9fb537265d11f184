"""Custom tasks, models and parsers, in modules of the current directory."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from graphsent._own import is_own
from graphsent.parsing import is_own as is_own_parser

if TYPE_CHECKING:
    from graphsent.models import Model

__all__ = ["class_asked_for", "import_from_here"]


def class_asked_for(arguments: Any) -> type[Model] | None:
    """The class named by ``--model-class``, if any.

    Raises:
        ModelError: There is no such class.
    """
    from graphsent.models import model_class

    name = arguments.model_class
    import_from_here(name)
    return None if name is None else model_class(name)


def import_from_here(*names: str | None) -> None:
    """Makes modules of the current directory importable if a name is ``module:name``.

    Other names leave the path unchanged, so that no local file shadows a package.

    Args:
        *names: Names of tasks, models and parsers; None for none.
    """
    here = os.getcwd()
    own = any(name is not None and is_own(name) and is_own_parser(name) for name in names)
    if own and here not in sys.path:
        sys.path.insert(0, here)
