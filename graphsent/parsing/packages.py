"""Packages that are imported when a parser is made, and not before."""

from __future__ import annotations

import importlib
from typing import Any

from graphsent.parsing.errors import ParserFailed

__all__ = ["imported"]


def imported(module: str, extra: str) -> Any:
    """A module of an extra.

    Args:
        module: Its name.
        extra: The extra of graphsent that installs it.

    Raises:
        ParserFailed: It is not installed, or something that it needs; the extra is named.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ParserFailed(
            f"parsing with {extra} needs the package {error.name or module}: "
            f"pip install 'graphsent[{extra}]'"
        ) from error
