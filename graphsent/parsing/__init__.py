"""Parsing raw text: parsers of other packages, by name, and files of parses.

``PARSERS`` maps the name of each parser, such as ``"spacy"``, to its module and to what follows the
name and a colon, such as ``"MODEL"``.
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
