"""The parsers by name."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from graphsent.parsing import own_parser
from graphsent.parsing.errors import ParserError
from graphsent.parsing.names import PARSERS, unknown_parser
from graphsent.parsing.parser import KINDS, Parser, check_kind

__all__ = ["as_parser", "load_parser"]


@functools.lru_cache(maxsize=2)
def load_parser(name: str, kind: str | None = None, num_threads: int | None = None) -> Parser:
    """Makes a parser; the last two are kept, as their models are large.

    Args:
        name: ``spacy:MODEL``, ``stanza:LANGUAGE``, ``benepar:DIRECTORY``, ``corenlp:URL``;
            ``shape:SHAPE`` for trees that no parser makes, see
            :func:`~graphsent.trees.shaped_tree`; or the user's own
            ``module:function``, a function from a list of sentences to a list of trees.
        kind: ``"constituency"`` or ``"dependency"``; None for the kind that the parser gives.
            Stanza and CoreNLP give both, constituency trees by default, as does a function
            without an attribute ``tree_kind``.
        num_threads: Threads of torch, for benepar and Stanza, or requests at a time, for CoreNLP;
            None for what they take.

    Raises:
        ParserError: There is no such parser or model, it does not give this kind of trees, or it
            computes in one thread.
        ParserFailed: Its package is not installed.
    """
    if kind is not None and kind not in KINDS:
        raise ParserError(f"unknown kind of trees {kind!r}: expected {' or '.join(KINDS)}")
    family, colon, argument = name.partition(":")
    if not colon or not argument:
        raise unknown_parser(name)
    if family in PARSERS:
        return importlib.import_module(PARSERS[family].module).load(argument, kind, num_threads)
    return own_parser.load(name, kind, num_threads)


def as_parser(parser: Parser | str | Callable[[list[str]], Any], kind: str) -> Parser:
    """A parser of one kind of trees, by its name, as it is, or of a function.

    Args:
        parser: A parser, the name of one, or any function from sentences to trees.
        kind: What it must give.

    Raises:
        ParserError: There is no such parser, or it gives trees of the other kind.
        ParserFailed: Its package is not installed.
    """
    if isinstance(parser, str):
        return load_parser(parser, kind)
    if not isinstance(parser, Parser):
        return own_parser.of_function(parser, _name(parser), kind)
    check_kind(parser.source.parser, (parser.source.kind,), kind)
    return parser


def _name(function: Any) -> str:
    """``module:function``; of an object that can be called, its class."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"
