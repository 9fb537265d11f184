"""A function of the user's own as a parser."""

from __future__ import annotations

import hashlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from graphsent.parsing.errors import ParserError
from graphsent.parsing.names import unknown_parser
from graphsent.parsing.parser import KINDS, Parser, TreeSource, check_kind
from graphsent.parsing.text import split_sentences

__all__ = ["load", "of_function"]

_SHOWN = 12  # hexadecimal digits of the sum of a source file


def load(name: str, kind: str | None, num_threads: int | None) -> Parser:
    """The parser of a function, see :func:`~graphsent.parsing.load_parser`.

    Args:
        name: ``module:function``.
        kind: The kind of trees.
        num_threads: None: it chooses itself.
    """
    if num_threads is not None:
        raise ParserError(f"{name} chooses its threads itself, got num_threads={num_threads}")
    try:
        function = pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise unknown_parser(name, str(error)) from None
    return of_function(function, name, kind)


def of_function(
    function: Callable[[list[str]], Sequence[Any]], name: str, kind: str | None
) -> Parser:
    """The parser of a function.

    Attributes of the function are read if it has them: ``tree_kind``, the kind of its trees;
    ``version``, to tell it from others; and ``split``, which gives the sentences of each of a list
    of texts.

    Args:
        function: From a list of sentences to a list of trees.
        name: What it is called.
        kind: The kind of trees.

    Raises:
        ParserError: It is no function, or gives the other kind.
    """
    if not callable(function):
        raise ParserError(f"{name}: expected a function, got {type(function).__name__}")
    own_kind = getattr(function, "tree_kind", None)
    kind = check_kind(name, KINDS if own_kind is None else (own_kind,), kind)
    version = str(getattr(function, "version", "") or _source_sum(function))
    split = getattr(function, "split", split_sentences)
    return Parser(TreeSource(kind, name, version), function, split)


def _source_sum(function: Any) -> str:
    """The sum of the file that the function is from, "" if it is from none."""
    module = sys.modules.get(getattr(function, "__module__", "") or "")
    try:
        content = Path(inspect.getsourcefile(module) or "").read_bytes()  # type: ignore[arg-type]
    except (OSError, TypeError):
        return ""
    return f"source {hashlib.sha256(content).hexdigest()[:_SHOWN]}"
