"""Trees of both kinds by Stanza (Qi et al. 2020), in any language that it has models for."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from graphsent._names import message_of
from graphsent._threads import torch_threads
from graphsent.parsing.errors import ParserError
from graphsent.parsing.packages import imported
from graphsent.parsing.parser import Parser, TreeSource, check_kind
from graphsent.parsing.text import word_token
from graphsent.trees import DependencyTree, Tree
from graphsent.trees.escapes import bracket_token
from graphsent.trees.shapes import TREE_KINDS

__all__ = ["load"]

_PROCESSORS = {
    "constituency": "tokenize,mwt,pos,constituency",
    "dependency": "tokenize,mwt,pos,lemma,depparse",
}
_ROOT = "root"


def load(language: str, kind: str | None, num_threads: int | None) -> Parser:
    """Loads the parser of a language, see :func:`~graphsent.parsing.load_parser`.

    Its models must have been downloaded with ``stanza.download``; none are downloaded here.

    Args:
        language: Stanza's language code, such as ``en``, or ``LANGUAGE/PACKAGE``.
        kind: The kind of trees.
        num_threads: Torch threads.
    """
    name = f"stanza:{language}"
    kind = check_kind(name, TREE_KINDS, kind)
    stanza = imported("stanza", "stanza")
    code, _, package = language.partition("/")
    make = functools.partial(
        stanza.Pipeline,
        code,
        **({"package": package} if package else {}),
        download_method=None,
        verbose=False,
    )
    try:
        pipeline = make(processors=_PROCESSORS[kind], tokenize_no_ssplit=True)
    except Exception as error:  # files, resources and options raise different classes
        raise ParserError(
            f"{name}: Stanza cannot load its models ({message_of(error)}); "
            f'python -c "import stanza; stanza.download({code!r})" downloads them'
        ) from None
    splitter = functools.cache(lambda: make(processors="tokenize"))
    read = _constituency_tree if kind == "constituency" else _dependency_tree

    def parse(texts: list[str]) -> list[Tree | DependencyTree | None]:
        with torch_threads(num_threads):
            documents = pipeline.bulk_process(texts)
        return [
            read(document.sentences[0]) if len(document.sentences) == 1 else None
            for document in documents
        ]

    def split(texts: list[str]) -> list[list[str]]:
        with torch_threads(num_threads):
            documents = splitter().bulk_process(texts)
        return [[sentence.text for sentence in document.sentences] for document in documents]

    return Parser(TreeSource(kind, name, f"Stanza {stanza.__version__}"), parse, split)


def _dependency_tree(sentence: Any) -> DependencyTree:
    words = sentence.words
    return DependencyTree(
        [word_token(word.text) for word in words],
        [word.head - 1 for word in words],
        relations=[word.deprel if word.head else _ROOT for word in words],
        upos=[word.upos or "" for word in words],
        xpos=[word.xpos or "" for word in words],
        lemmas=[word_token(word.lemma or "") for word in words],
        feats=[word.feats or "" for word in words],
    )


def _constituency_tree(sentence: Any) -> Tree:
    labels, tokens, parents = zip(*_nodes(sentence.constituency), strict=True)
    return Tree(labels, tokens, parents)


def _nodes(root: Any) -> Iterator[tuple[str, str | None, int]]:
    """Label, token and parent of each node in preorder; in Stanza's trees, words are nodes."""
    stack = [(root, -1)]
    number = 0
    while stack:
        node, parent = stack.pop()
        is_tag = len(node.children) == 1 and not node.children[0].children
        yield node.label, bracket_token(node.children[0].label) if is_tag else None, parent
        if not is_tag:
            stack.extend((child, number) for child in reversed(node.children))
        number += 1
