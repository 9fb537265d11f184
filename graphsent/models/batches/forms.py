"""Conversion of user inputs to trees and sentences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from graphsent._names import quoted
from graphsent.errors import DataError, GraphsentError, ModelError
from graphsent.pairs import TreePair
from graphsent.sentences import Sentence
from graphsent.trees import DependencyTree, Tree, TreeError, as_tree
from graphsent.trees.recognition import may_be_tree

__all__ = [
    "Parse",
    "Tokenize",
    "as_sentences",
    "as_trees",
    "check_several",
    "with_texts_parsed",
]

Parse = Callable[[Sequence[str]], Sequence[Any]]
"""Raw texts -> their trees, or for a text without a tree the error that explains why."""

Tokenize = Callable[[str], list[str]]
"""Raw text -> its words."""


def as_trees(
    inputs: Iterable[Any], parse: Parse | None = None, class_names: Collection[str] = ()
) -> list[Tree | DependencyTree]:
    """Converts inputs in any supported form to constituency or dependency trees.

    Args:
        inputs: Each a ``Tree``, an ``nltk.Tree`` or a bracketed string with or without labels; or
            all of them a ``DependencyTree``. With a parser also a ``Sentence`` or raw text: any
            string that is not exactly one bracketed tree. A string in a single pair of brackets is
            a tree only if it begins with a label, see
            :func:`~graphsent.trees.recognition.may_be_tree`.
        parse: Parses raw text; None if there is no parser.
        class_names: Names of the model's classes, which are labels in such strings.

    Raises:
        ModelError: An input has another type, is malformed or cannot be parsed; or the two kinds of
            trees are mixed. The message gives the number of the input, from 1.
    """
    check_several(inputs, "trees")
    trees = list(inputs)
    types = set(map(type, trees))
    if any(all(issubclass(each, kind) for each in types) for kind in (Tree, DependencyTree)):
        return trees  # the fast path for training
    if parse is not None:
        trees = with_texts_parsed(trees, parse, class_names)
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
    inputs: Iterable[Any],
    tokenize: Tokenize = str.split,
    class_names: Collection[str] = (),
) -> list[Sentence | Tree | DependencyTree]:
    """Converts inputs in any supported form to sentences, with or without a tree.

    Args:
        inputs: Each a ``Sentence``, a list of words, a tree in one of the forms of
            :func:`as_trees`, or raw text. A string that is exactly one bracketed tree is read as
            that tree; in a single pair of brackets, only if it begins with a label, see
            :func:`~graphsent.trees.recognition.may_be_tree`.
        tokenize: Splits raw text into words; it is not applied to other inputs.
        class_names: Names of the model's classes, which are labels in such strings.

    Raises:
        ModelError: An input has another type or is malformed. The message gives its number, from 1.
    """
    check_several(inputs, "sentences")
    sentences = []
    for number, each in enumerate(inputs, start=1):
        try:
            sentences.append(_sentence(each, tokenize, class_names))
        except (TreeError, DataError, ModelError) as error:
            raise ModelError(f"input {number}: {error}") from None
    return sentences


def with_texts_parsed(
    inputs: Sequence[Any], parse: Parse, class_names: Collection[str] = ()
) -> list[Any]:
    """The inputs with raw texts replaced by their trees or errors, all parsed in one call."""
    found = [
        _one_tree(each, class_names) or each if isinstance(each, str) else each for each in inputs
    ]
    texts = {
        number: each if isinstance(each, str) else " ".join(each.words)
        for number, each in enumerate(found)
        if isinstance(each, str | Sentence)
    }
    trees = parse([*texts.values()]) if texts else []
    for number, tree in zip(texts, trees, strict=True):
        found[number] = tree
    return found


def check_several(inputs: Any, what: str) -> None:
    """Raises a ModelError for a single input, or for a table, which iterates over column names."""
    kind = type(inputs).__name__
    if isinstance(inputs, str | TreePair) or not isinstance(inputs, Iterable):
        raise ModelError(f"expected a list of {what}, got one {kind}: put it in []")
    if isinstance(inputs, Mapping) or hasattr(inputs, "columns"):  # of pandas
        raise ModelError(f"expected a list of {what}, got a {kind}: choose one of its columns")


def _one_tree(text: str, class_names: Collection[str]) -> Tree | None:
    """The tree of a string that is one bracketed tree, else None."""
    if not may_be_tree(text, class_names):
        return None
    try:
        return Tree.from_string(text, empty_nodes="token", require_labels=False)
    except TreeError:
        return None


def _sentence(
    each: Any, tokenize: Tokenize, class_names: Collection[str]
) -> Sentence | Tree | DependencyTree:
    if isinstance(each, Sentence | DependencyTree):
        return each
    if isinstance(each, str):
        return _one_tree(each, class_names) or Sentence(tokenize(each))
    if type(each) in (list, tuple):  # an nltk.Tree is a list
        return Sentence(each)
    if not isinstance(each, Tree | list):
        kind = type(each).__name__
        raise ModelError(f"expected a sentence, a list of words or a tree, got {kind}")
    return _constituency_tree(each)


def _constituency_tree(tree: Any) -> Tree:
    if isinstance(tree, GraphsentError):  # the error for a sentence that could not be parsed
        raise ModelError(str(tree))
    if isinstance(tree, Sentence):
        tree = " ".join(tree.words)
    if not isinstance(tree, str):
        return as_tree(tree)
    if not tree.lstrip().startswith("("):
        raise ModelError(
            f"expected a parse tree, got the sentence {quoted(tree)}: set model.parser to "
            "parse sentences, or pass trees: (S (NP ...) (VP ...))"
        )
    return Tree.from_string(tree, empty_nodes="token", require_labels=False)
