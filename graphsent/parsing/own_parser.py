"""A user-defined function as a parser."""

from __future__ import annotations

import functools
import hashlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from graphsent.parsing.errors import ParserError
from graphsent.parsing.names import unknown_parser
from graphsent.parsing.parser import Parser, TreeSource, check_kind
from graphsent.parsing.text import split_sentences
from graphsent.trees.shapes import TREE_KINDS

__all__ = ["load", "of_function"]

_SHOWN = 12  # hexadecimal digits of a source file's SHA-256


def load(name: str, kind: str | None, num_threads: int | None) -> Parser:
    """Loads a function as a parser, see :func:`~graphsent.parsing.load_parser`.

    Args:
        name: ``module:function``.
        kind: The kind of trees.
        num_threads: Must be None: the function chooses its threads.
    """
    if num_threads is not None:
        raise ParserError(f"{name} chooses its threads itself, got num_threads={num_threads}")
    try:
        function = pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise unknown_parser(name, str(error)) from None
    except (Exception, SystemExit) as error:  # importing runs arbitrary code
        reason = f"{type(error).__name__}: {error}"
        raise ParserError(f"the parser {name}: its module cannot be imported: {reason}") from error
    return of_function(function, name, kind)


def of_function(
    function: Callable[[list[str]], Sequence[Any]], name: str, kind: str | None
) -> Parser:
    """Makes a parser of a function.

    The function may have these attributes: ``tree_kind``, the kind of its trees; ``version``, which
    tells it from other versions; and ``split``, a function from a list of texts to the sentences of
    each.

    Args:
        function: From a list of sentences to a list of trees.
        name: Name of the parser.
        kind: The kind of trees.

    Raises:
        ParserError: It is not a function, or returns the other kind.
    """
    if not callable(function):
        raise ParserError(f"{name}: expected a function, got {type(function).__name__}")
    own_kind = getattr(function, "tree_kind", None)
    kind = check_kind(name, TREE_KINDS if own_kind is None else (own_kind,), kind)
    version = str(getattr(function, "version", "") or _source_sum(function))
    split = getattr(function, "split", split_sentences)
    return Parser(TreeSource(kind, name, version), function, split)


def _source_sum(function: Any) -> str:
    """The SHA-256 of the source file of the function, or, in a notebook, of its own source.

    That of a ``functools.partial`` includes its arguments. It is "" if no source is known.
    """
    digest = hashlib.sha256()
    if isinstance(function, functools.partial):
        digest.update(repr((function.args, function.keywords)).encode())
        function = function.func
    module = sys.modules.get(getattr(function, "__module__", "") or "")
    try:
        content = Path(inspect.getsourcefile(module) or "").read_bytes()  # type: ignore[arg-type]
    except (OSError, TypeError):
        try:
            content = inspect.getsource(function).encode()
        except (OSError, TypeError):
            return ""
    digest.update(content)
    return f"source {digest.hexdigest()[:_SHOWN]}"
