"""Constituency trees by the Berkeley neural parser (Kitaev, Cao and Klein 2019)."""

from __future__ import annotations

import os
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

from graphsent._files import sha256
from graphsent._names import message_of
from graphsent._threads import torch_threads
from graphsent.parsing.errors import ParserError
from graphsent.parsing.packages import imported
from graphsent.parsing.parser import Parser, TreeSource, check_kind
from graphsent.parsing.text import split_sentences
from graphsent.tokenizers import tokenize_treebank
from graphsent.trees import Tree
from graphsent.trees.escapes import bracket_token

__all__ = ["load"]

_WEIGHTS = "benepar_model.bin"
_SHOWN = 12  # hexadecimal digits of the weights' SHA-256


def load(directory: str, kind: str | None, num_threads: int | None) -> Parser:
    """Loads a parser from a directory, see :func:`~graphsent.parsing.load_parser`.

    Its words are those of :func:`~graphsent.tokenizers.tokenize_treebank`.

    Args:
        directory: A model as exported by benepar: weights, configuration and tokenizer.
        kind: None or ``"constituency"``.
        num_threads: Torch threads.
    """
    path = Path(os.path.expanduser(directory)).resolve()
    name = f"benepar:{path}"
    kind = check_kind(name, ("constituency",), kind)
    weights = path / _WEIGHTS
    if not weights.is_file():
        raise ParserError(f"{name}: expected the directory of a benepar model, with {_WEIGHTS}")
    benepar = imported("benepar", "benepar")
    transformers = imported("transformers", "benepar")
    transformers.logging.set_verbosity_error()  # hides advice on training
    try:
        parser = benepar.Parser(str(path))
    except Exception as error:  # from several packages
        raise ParserError(f"{name}: benepar cannot load the model: {message_of(error)}") from None
    found = f"benepar {version('benepar')}, weights {sha256(weights)[:_SHOWN]}"

    def parse(texts: list[str]) -> list[Tree]:
        words = map(_words, split_sentences(texts))
        sentences = [
            benepar.InputSentence(words=each, escaped_words=list(map(bracket_token, each)))
            for each in words
        ]
        with torch_threads(num_threads), warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*arg_constraints", UserWarning)  # from torch-struct
            return [_tree(tree) for tree in parser.parse_sents(sentences)]

    return Parser(TreeSource(kind, name, found), parse)


def _words(sentences: list[str]) -> list[str]:
    """The words of a text; the tokenizer splits off a full stop only at the end of a sentence."""
    return [word for sentence in sentences for word in tokenize_treebank(sentence)]


def _tree(tree: Any) -> Tree:
    tree.set_label("ROOT")  # the parser's is TOP
    return Tree.from_nltk(tree)
