"""The parsers by name."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable
from typing import Any

from graphsent._names import check_choice
from graphsent.parsing import own_parser
from graphsent.parsing.errors import ParserError
from graphsent.parsing.names import PARSERS, unknown_parser
from graphsent.parsing.parser import Parser, check_kind
from graphsent.trees.shapes import TREE_KINDS

__all__ = ["as_parser", "load_parser"]


def load_parser(name: str, kind: str | None = None, num_threads: int | None = None) -> Parser:
    """Loads a parser.

    The two most recent parsers are cached, since their models are large; custom functions are not.

    Args:
        name: ``spacy:MODEL``, ``stanza:LANGUAGE``, ``benepar:DIRECTORY``, ``corenlp:URL``;
            ``shape:SHAPE`` for trees of a fixed shape without a parser, see
            :func:`~graphsent.trees.shaped_tree`; or ``module:function`` for a custom function from
            a list of sentences to a list of trees, whose attribute ``version`` tells it from other
            versions; by default, the SHA-256 of its source file does.
        kind: ``"constituency"`` or ``"dependency"``; None for the parser's default kind. Stanza,
            CoreNLP, and functions without an attribute ``tree_kind`` support both, with
            constituency trees by default.
        num_threads: Torch threads, for benepar and Stanza, or concurrent requests, for CoreNLP;
            None for their default.

    Raises:
        ParserError: There is no such parser or model, it does not support this kind of trees, or
            its number of threads cannot be chosen.
        ParserFailed: Its package is not installed.
    """
    if kind is not None:
        check_choice("kind of trees", kind, TREE_KINDS, ParserError)
    family, _, argument = name.partition(":")
    if not argument:
        raise unknown_parser(name)
    if family in PARSERS:
        return _load(family, argument, kind, num_threads)
    return own_parser.load(name, kind, num_threads)


def as_parser(parser: Parser | str | Callable[[list[str]], Any], kind: str) -> Parser:
    """A parser of one kind of trees, from its name, itself, or a function.

    Args:
        parser: A parser, the name of one, or a function from sentences to trees.
        kind: The kind of trees.

    Raises:
        ParserError: There is no such parser, or it returns trees of the other kind.
        ParserFailed: Its package is not installed.
    """
    if isinstance(parser, str):
        return load_parser(parser, kind)
    if not isinstance(parser, Parser):
        return own_parser.of_function(parser, _name(parser), kind)
    check_kind(parser.source.parser, (parser.source.kind,), kind)
    return parser


@functools.lru_cache(maxsize=2)
def _load(family: str, argument: str, kind: str | None, num_threads: int | None) -> Parser:
    parser = importlib.import_module(PARSERS[family].module).load(argument, kind, num_threads)
    again = parser.source.parser, parser.source.kind, num_threads  # with an absolute path
    return dataclasses.replace(parser, loading=(load_parser, again))


def _name(function: Any) -> str:
    """``module:function``; for a callable object, that of its class."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"
