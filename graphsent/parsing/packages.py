"""Imports optional packages when a parser is made."""

from __future__ import annotations

import importlib
from typing import Any

from graphsent.parsing.errors import ParserFailed

__all__ = ["imported"]


def imported(module: str, extra: str) -> Any:
    """Imports a module of an extra.

    Args:
        module: Its name.
        extra: The extra of graphsent that installs it.

    Raises:
        ParserFailed: It or one of its dependencies is not installed; the extra is named.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ParserFailed(
            f"parsing with {extra} needs the package {error.name or module}: "
            f"pip install 'graphsent[{extra}]'"
        ) from error
