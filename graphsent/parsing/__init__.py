"""Parsing raw text: parsers of other packages, by name, and files of parses.

``PARSERS`` has the names, such as ``"spacy"``, each with what follows it and a colon.
"""

from __future__ import annotations

from graphsent.parsing.errors import ParserError, ParserFailed
from graphsent.parsing.names import PARSERS, is_own, is_safe
from graphsent.parsing.parser import Parser, TreeSource
from graphsent.parsing.registry import as_parser, load_parser

__all__ = [
    "PARSERS",
    "Parser",
    "ParserError",
    "ParserFailed",
    "TreeSource",
    "as_parser",
    "is_own",
    "is_safe",
    "load_parser",
]
