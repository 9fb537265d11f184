"""What users pass to a model as trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from graphsent.errors import DataError, GraphsentError, ModelError
from graphsent.sentences import Sentence
from graphsent.trees import DependencyTree, Tree, TreeError, as_tree

__all__ = ["Parse", "Tokenize", "as_sentences", "as_trees", "with_texts_parsed"]

Parse = Callable[[Sequence[str]], Sequence[Any]]
"""From raw text to trees; where there is none, the error that says why."""

Tokenize = Callable[[str], list[str]]
"""From raw text to words."""


def as_trees(inputs: Iterable[Any], parse: Parse | None = None) -> list[Tree | DependencyTree]:
    """Constituency or dependency trees in any form that graphsent takes.

    Args:
        inputs: Each a ``Tree``, an ``nltk.Tree`` or a bracketed string with or without labels; or
            all of them ``DependencyTree``. With a parser also a ``Sentence`` or a string of raw
            text, which is any that is not exactly one bracketed tree.
        parse: Parses raw text; None if no parser is there.

    Raises:
        ModelError: One of them is something else or malformed, or cannot be parsed; or the two
            kinds are mixed. The number of the input, from 1, is named.
    """
    if isinstance(inputs, str | Tree | DependencyTree) or not isinstance(inputs, Iterable):
        raise ModelError(f"expected a list of trees, got one {type(inputs).__name__}: put it in []")
    trees = list(inputs)
    types = set(map(type, trees))
    if any(all(issubclass(each, kind) for each in types) for kind in (Tree, DependencyTree)):
        return trees  # as in training
    if parse is not None:
        trees = with_texts_parsed(trees, parse)
    for number, tree in enumerate(trees, start=1):
        try:
            if not isinstance(tree, DependencyTree):
                trees[number - 1] = _constituency_tree(tree)
        except (TreeError, ModelError) as error:
            raise ModelError(f"input {number}: {error}") from None
    if len({isinstance(tree, Tree) for tree in trees}) > 1:
        raise ModelError("constituency and dependency trees cannot be mixed in one call")
    return trees


def as_sentences(
    inputs: Iterable[Any], tokenize: Tokenize = str.split
) -> list[Sentence | Tree | DependencyTree]:
    """Sentences with or without a tree, in any form that graphsent takes.

    Args:
        inputs: Each a ``Sentence``, a list of words, a tree in one of the forms of
            :func:`as_trees`, or a string of raw text. A string that is exactly one bracketed
            tree is that tree.
        tokenize: Divides raw text into words. Nothing else is divided.

    Raises:
        ModelError: One of them is something else or malformed. Its number, from 1, is named.
    """
    is_one = isinstance(inputs, str | Sentence | Tree | DependencyTree)
    if is_one or not isinstance(inputs, Iterable):
        kind = type(inputs).__name__
        raise ModelError(f"expected a list of sentences, got one {kind}: put it in []")
    sentences = []
    for number, each in enumerate(inputs, start=1):
        try:
            sentences.append(_sentence(each, tokenize))
        except (TreeError, DataError, ModelError) as error:
            raise ModelError(f"input {number}: {error}") from None
    return sentences


def with_texts_parsed(inputs: Sequence[Any], parse: Parse) -> list[Any]:
    """The inputs with trees, or errors, for those that are raw text, parsed all at once."""
    found = [_one_tree(each) or each if isinstance(each, str) else each for each in inputs]
    texts = {
        number: each if isinstance(each, str) else " ".join(each.words)
        for number, each in enumerate(found)
        if isinstance(each, str | Sentence)
    }
    trees = parse([*texts.values()]) if texts else []
    for number, tree in zip(texts, trees, strict=True):
        found[number] = tree
    return found


def _one_tree(text: str) -> Tree | None:
    """The tree that a string is, None if it is anything else."""
    if not text.lstrip().startswith("("):
        return None
    try:
        return Tree.from_string(text, empty_nodes="token", require_labels=False)
    except TreeError:
        return None


def _sentence(each: Any, tokenize: Tokenize) -> Sentence | Tree | DependencyTree:
    if isinstance(each, Sentence | DependencyTree):
        return each
    if isinstance(each, str):
        return _one_tree(each) or Sentence(tokenize(each))
    if type(each) in (list, tuple):  # an nltk.Tree is a list
        return Sentence(each)
    if not isinstance(each, Tree | list):
        kind = type(each).__name__
        raise ModelError(f"expected a sentence, a list of words or a tree, got {kind}")
    return _constituency_tree(each)


def _constituency_tree(tree: Any) -> Tree:
    if isinstance(tree, GraphsentError):  # a sentence that could not be parsed
        raise ModelError(str(tree))
    if isinstance(tree, Sentence):
        tree = " ".join(tree.words)
    if not isinstance(tree, str):
        return as_tree(tree)
    if not tree.lstrip().startswith("("):
        raise ModelError(
            f"expected a parse tree, got the sentence {tree!r}: set model.parser to parse "
            "sentences, or pass trees: (S (NP ...) (VP ...))"
        )
    return Tree.from_string(tree, empty_nodes="token", require_labels=False)
