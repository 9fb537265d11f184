"""Trees of both kinds by a CoreNLP server (Manning et al. 2014), through NLTK's client."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from graphsent._names import message_of
from graphsent.parsing.errors import ParserError, ParserFailed
from graphsent.parsing.packages import imported
from graphsent.parsing.parser import Parser, TreeSource, check_kind
from graphsent.parsing.text import word_token
from graphsent.trees import DependencyTree, Tree, unescape
from graphsent.trees.shapes import TREE_KINDS

__all__ = ["load"]

_ANNOTATORS = {
    "constituency": "tokenize,ssplit,pos,parse",
    "dependency": "tokenize,ssplit,pos,lemma,depparse",
}
_ONE_SENTENCE = {"ssplit.isOneSentence": "true"}
_TIMEOUT = 120.0  # seconds per sentence: the server loads its models with the first one


def load(url: str, kind: str | None, num_threads: int | None) -> Parser:
    """Connects to the parser of a server, see :func:`~graphsent.parsing.load_parser`.

    Args:
        url: Its URL, such as ``http://localhost:9000``; the language is the server's.
        kind: The kind of trees.
        num_threads: Concurrent requests.
    """
    name = f"corenlp:{url}"
    kind = check_kind(name, TREE_KINDS, kind)
    if not url.startswith(("http://", "https://")):
        raise ParserError(f"{name}: expected the URL of a server, such as http://localhost:9000")
    requests = imported("requests", "corenlp")
    client = imported("nltk.parse.corenlp", "corenlp").CoreNLPParser(url=url)
    read = _constituency_tree if kind == "constituency" else _dependency_tree

    def answer(text: str, properties: dict[str, str]) -> list[Any]:
        try:
            return client.api_call(text, properties, timeout=_TIMEOUT)["sentences"]
        except requests.HTTPError:  # the server rejects this sentence
            raise
        except (requests.RequestException, ValueError, KeyError, TypeError) as error:
            reason = message_of(error)
            raise ParserFailed(f"{name}: no answer from a CoreNLP server: {reason}") from None

    def parse_one(text: str) -> Tree | DependencyTree | None:
        sentences = answer(text, {"annotators": _ANNOTATORS[kind], **_ONE_SENTENCE})
        return read(sentences[0]) if len(sentences) == 1 else None

    def split_one(text: str) -> list[str]:
        sentences = answer(text, {"annotators": "tokenize,ssplit"})
        return [_text_of(sentence["tokens"], text) for sentence in sentences]

    def parse(texts: list[str]) -> list[Tree | DependencyTree | None]:
        return _map(parse_one, texts, num_threads)

    def split(texts: list[str]) -> list[list[str]]:
        return _map(split_one, texts, num_threads)

    version = f"a server's, annotators {_ANNOTATORS[kind]}"  # it does not tell its version
    return Parser(TreeSource(kind, name, version), parse, split)


def _map(function: Callable[[str], Any], texts: list[str], num_threads: int | None) -> list[Any]:
    with ThreadPoolExecutor(num_threads or 1) as pool:
        return list(pool.map(function, texts))


def _constituency_tree(sentence: dict[str, Any]) -> Tree:
    return Tree.from_string(sentence["parse"])


def _dependency_tree(sentence: dict[str, Any]) -> DependencyTree:
    tokens = sorted(sentence["tokens"], key=lambda token: token["index"])
    edges = sorted(sentence["basicDependencies"], key=lambda edge: edge["dependent"])
    return DependencyTree(
        [word_token(unescape(token["word"])) for token in tokens],
        [edge["governor"] - 1 for edge in edges],
        relations=[edge["dep"] if edge["governor"] else "root" for edge in edges],
        xpos=[token.get("pos", "") for token in tokens],
        lemmas=[word_token(token.get("lemma", "")) for token in tokens],
    )


def _text_of(tokens: list[dict[str, Any]], text: str) -> str:
    """The part of a text that tokens cover; their offsets count UTF-16 units, as Java does."""
    begin, end = tokens[0]["characterOffsetBegin"], tokens[-1]["characterOffsetEnd"]
    return text.encode("utf-16-le")[2 * begin : 2 * end].decode("utf-16-le")
