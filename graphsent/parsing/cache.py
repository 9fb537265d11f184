"""A cache of parse trees, keyed by the texts, the parser and its version."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tqdm import tqdm

from graphsent._cache import cache_directory
from graphsent._locks import locked
from graphsent.parsing.errors import ParserError, ParserFailed
from graphsent.parsing.files import TextLine, write_parses
from graphsent.parsing.parser import Parser
from graphsent.trees import DependencyTree, Tree, iter_conllu, iter_labelled_trees

__all__ = ["cached_parses", "iter_trees"]

_PIECE_BYTES = 1 << 20
_DIGITS = 32  # hexadecimal digits of the key
_FILES = {"constituency": "trees.gz", "dependency": "trees.conllu.gz"}


def cached_parses(
    texts: Callable[[], Iterable[str]], parser: Parser, echo: Callable[[str], None]
) -> Path:
    """The file with the trees of some texts, which are parsed on first use.

    If several processes need the same trees, one parses and the others wait. An interrupted process
    loses no complete batch. A damaged file is written again.

    Args:
        texts: Returns an iterable of the texts on each call; they need not fit into memory.
        parser: The parser.
        echo: Called with one line if there is something to parse.

    Returns:
        The file, for :func:`iter_trees`.

    Raises:
        ParserError: The parser returns something other than trees of its kind, or has no version.
        ParserFailed: The parser cannot work at all, or the cache cannot be written.
        NoCacheDirectory: There is no cache directory.
    """
    source = parser.source
    if not source.version:
        raise ParserError(
            f"cannot cache the trees of {source.parser}: its source is unknown: give the function "
            "an attribute version, and another one when it changes"
        )
    directory = cache_directory() / "parses" / _key(texts(), parser)
    file = directory / _FILES[source.kind]
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParserFailed(
            f"cannot write trees to {directory}: {error.strerror}: choose another cache directory "
            "with the environment variable GRAPHSENT_CACHE"
        ) from None
    with locked(directory):
        if _is_sound(file):
            return file
        count = sum(1 for _ in texts())
        echo(f"parsing {count:,} sentences with {source.parser} ({source.version}), once")
        lines = (TextLine(number, text, "") for number, text in enumerate(texts(), start=1))
        with tqdm(total=count, unit=" sentences", disable=None) as progress:
            write_parses(file, lines, parser, on_done=progress.update)
    return file


def _is_sound(file: Path) -> bool:
    """Whether a gzip file exists, is undamaged and not empty."""
    try:
        with gzip.open(file) as stream:
            is_empty = True
            while stream.read(_PIECE_BYTES):
                is_empty = False
    except (OSError, EOFError, zlib.error):
        return False
    return not is_empty


def iter_trees(file: Path, count: int) -> Iterator[Tree | DependencyTree | None]:
    """The trees of :func:`cached_parses` one by one, None for a text without a tree.

    Args:
        file: The result of :func:`cached_parses`.
        count: The number of texts.
    """
    if file.name == _FILES["constituency"]:
        yield from (tree for _, tree in iter_labelled_trees(file))
        return
    number = 0
    for tree in iter_conllu(file):
        found = int(tree.metadata["sent_id"])
        yield from [None] * (found - number - 1)
        yield tree
        number = found
    yield from [None] * (count - number)


def _key(texts: Iterable[str], parser: Parser) -> str:
    digest = hashlib.sha256("\n".join(parser.source).encode())
    for text in texts:
        digest.update(b"\n" + text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:_DIGITS]
