"""Trees without a parser: balanced, left-branching, right-branching and random ones.

They are controls: a model that does as well on them does not owe its result to the parses.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphsent._names import check_choice
from graphsent.errors import DataError
from graphsent.trees.dependency import DependencyTree
from graphsent.trees.escapes import bracket_token
from graphsent.trees.tree import Tree, as_tree

__all__ = ["SHAPES", "TREE_KINDS", "reshape", "shaped_dependency_tree", "shaped_tree"]

TREE_KINDS = ("constituency", "dependency")
SHAPES = ("balanced", "left", "right", "random")
Split = Callable[[int, int], int]
Labels = Mapping[tuple[int, int], str]


def shaped_tree(words: Sequence[str], shape: str, labels: Labels | None = None) -> Tree:
    """A binary constituency tree over some words; each word is a leaf.

    The left child of a node over n > 1 words covers, by shape: ``"balanced"``, the larger half;
    ``"left"``, all but the last; ``"right"``, only the first; ``"random"``, any number of them,
    uniformly distributed. Random trees depend only on the words, so that a sentence always has the
    same tree.

    Args:
        words: At least one word. Round brackets are escaped, as in trees by parsers.
        shape: One of :data:`SHAPES`.
        labels: Half-open word span -> label of the node; other labels are ``""``.

    Raises:
        DataError: There are no words, or there is no such shape.

    Example:
        >>> print(shaped_tree("a b c d e".split(), "balanced"))
        ( ( ( ( a) ( b)) ( c)) ( ( d) ( e)))
    """
    _check(words, shape)
    words = list(map(bracket_token, words))
    labels = labels or {}
    split = _splits(words, shape)
    names: list[str] = []
    tokens: list[str | None] = []
    parents: list[int] = []
    stack = [(-1, 0, len(words))]
    while stack:  # in preorder
        parent, begin, end = stack.pop()
        node = len(names)
        names.append(labels.get((begin, end), ""))
        tokens.append(words[begin] if end - begin == 1 else None)
        parents.append(parent)
        if end - begin > 1:
            middle = split(begin, end)
            stack += [(node, middle, end), (node, begin, middle)]
    return Tree(names, tokens, parents)


def shaped_dependency_tree(
    words: Sequence[str], shape: str, labels: Labels | None = None
) -> DependencyTree:
    """A projective dependency tree over some words.

    The head of n words is, by shape: ``"balanced"``, the middle one; ``"left"``, the last, so that
    every word depends on the next; ``"right"``, the first, so that every word depends on the
    previous one; ``"random"``, any word, uniformly distributed. The words before and after it are
    divided in the same way. Arguments and errors are those of :func:`shaped_tree`.

    Example:
        >>> shaped_dependency_tree("a b c".split(), "left").heads.tolist()
        [1, 2, -1]
    """
    _check(words, shape)
    labels = labels or {}
    split = _splits(words, shape)
    heads, names = [-1] * len(words), [""] * len(words)
    stack = [(-1, 0, len(words))]
    while stack:
        parent, begin, end = stack.pop()
        if begin == end:
            continue
        head = split(begin - 1, end)
        heads[head], names[head] = parent, labels.get((begin, end), "")
        stack += [(head, head + 1, end), (head, begin, head)]
    return DependencyTree(words, heads, labels=names)


def reshape(sentence: Any, shape: str, kind: str = "constituency") -> Tree | DependencyTree:
    """A tree of another shape over the words of a sentence.

    A node keeps the label of the same span in the sentence, if there is one: the root, the leaves
    of a constituency tree, and other nodes that happen to be phrases of the sentence's tree.

    Args:
        sentence: A ``Tree``, a ``DependencyTree`` or a sentence without a tree.
        shape: One of :data:`SHAPES`.
        kind: ``"constituency"`` or ``"dependency"``.

    Raises:
        DataError: The sentence is empty, or there is no such shape or kind.
        TreeError: The sentence is none of these, nor an NLTK tree or a bracketed string.

    Example:
        >>> print(reshape(Tree.from_string("(4 (2 a) (3 (3 lovely) (2 film)))"), "left"))
        (4 ( (2 a) (3 lovely)) (2 film))
    """
    check_choice("kind of trees", kind, TREE_KINDS, DataError)
    if not hasattr(sentence, "spans"):
        sentence = as_tree(sentence)
    labels: dict[tuple[int, int], str] = {}
    for (begin, end), label in zip(sentence.spans.tolist(), sentence.labels, strict=True):
        labels.setdefault((begin, end), label)  # the topmost of a unary chain
    if isinstance(sentence, DependencyTree):  # it may be non-projective
        labels[0, len(sentence.words)] = sentence.labels[sentence.root]
    make = shaped_dependency_tree if kind == "dependency" else shaped_tree
    return make(sentence.words, shape, labels)


def _check(words: Sequence[str], shape: str) -> None:
    check_choice("shape of trees", shape, SHAPES, DataError)
    if isinstance(words, str):
        raise DataError(f"expected a sequence of words, got the string {words!r:.60}")
    if not words:
        raise DataError("expected a sentence of at least one word, got an empty one")


def _splits(words: Sequence[str], shape: str) -> Split:
    """Returns a function that picks a split position strictly between ``begin`` and ``end``."""
    if shape == "balanced":
        return lambda begin, end: (begin + end + 1) // 2
    if shape == "left":
        return lambda begin, end: end - 1
    if shape == "right":
        return lambda begin, end: begin + 1
    digest = hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).digest()
    draw = random.Random(digest)
    return lambda begin, end: draw.randrange(begin + 1, end)
