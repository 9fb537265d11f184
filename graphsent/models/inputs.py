"""What users pass to a model as trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from graphsent.errors import DataError, ModelError
from graphsent.sentences import Sentence
from graphsent.trees import DependencyTree, Tree, TreeError, as_tree

__all__ = ["as_sentences", "as_trees"]


def as_trees(inputs: Iterable[Any]) -> list[Tree] | list[DependencyTree]:
    """Constituency or dependency trees in any form that graphsent takes.

    Args:
        inputs: Each a ``Tree``, an ``nltk.Tree`` or a bracketed string with or without labels; or
            all of them ``DependencyTree``.

    Raises:
        ModelError: One of them is something else or malformed, such as a sentence that was not
            parsed; or the two kinds are mixed. The number of the input, from 1, is named.
    """
    if isinstance(inputs, str | Tree | DependencyTree):
        raise ModelError(f"expected a list of trees, got one {type(inputs).__name__}: put it in []")
    trees = list(inputs)
    types = set(map(type, trees))
    if any(all(issubclass(each, kind) for each in types) for kind in (Tree, DependencyTree)):
        return trees  # as in training
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
    inputs: Iterable[Any], tokenize: Callable[[str], list[str]] = str.split
) -> list[Sentence | Tree | DependencyTree]:
    """Sentences with or without a tree, in any form that graphsent takes.

    Args:
        inputs: Each a ``Sentence``, a list of words, a tree in one of the forms of
            :func:`as_trees`, or a string of raw text. A string that starts with a bracket is a
            tree.
        tokenize: Divides raw text into words. Nothing else is divided.

    Raises:
        ModelError: One of them is something else or malformed. Its number, from 1, is named.
    """
    if isinstance(inputs, str | Sentence | Tree | DependencyTree):
        kind = type(inputs).__name__
        raise ModelError(f"expected a list of sentences, got one {kind}: put it in []")
    sentences = []
    for number, each in enumerate(inputs, start=1):
        try:
            sentences.append(_sentence(each, tokenize))
        except (TreeError, DataError, ModelError) as error:
            raise ModelError(f"input {number}: {error}") from None
    return sentences


def _sentence(each: Any, tokenize: Callable[[str], list[str]]) -> Sentence | Tree | DependencyTree:
    if isinstance(each, Sentence | DependencyTree):
        return each
    if isinstance(each, str) and not each.lstrip().startswith("("):
        return Sentence(tokenize(each))
    if type(each) in (list, tuple):  # an nltk.Tree is a list
        return Sentence(each)
    return _constituency_tree(each)


def _constituency_tree(tree: Any) -> Tree:
    if isinstance(tree, Sentence):
        tree = " ".join(tree.words)
    if not isinstance(tree, str):
        return as_tree(tree)
    if not tree.lstrip().startswith("("):
        raise ModelError(
            f"expected a parse tree, got the sentence {tree!r}; parse it first, for instance with "
            "Stanza's constituency parser, and pass the bracketed tree: (S (NP ...) (VP ...))"
        )
    return Tree.from_string(tree, empty_nodes="token", require_labels=False)
