"""Random trees for all tests: hypothesis strategies and plain seeded generators.

Strategies draw the shape of a tree and fill it with labels and tokens; the generators do the same
from a ``random.Random``, for tests that need trees of a size rather than shrinking examples.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np
from hypothesis import strategies as st

from graphsent.trees import DependencyTree, Tree

LABELS = ("0", "1", "2", "3", "4")
WORDS = ("a", "lovely", "film", "not", "quite", "'s", "cliché", "actor\\/director", "-LRB-")
USUAL_LABELS = st.sampled_from(LABELS)
USUAL_WORDS = st.sampled_from(WORDS)
# U+00A0, U+2028 and U+001C are whitespace to str.split(), but not to the file formats.
ODD_CHARACTERS = "aZ0é字😀\u00a0\u2028\u001c\\/'`-_=|@+#.,:;[]{}<>&%$*"

Shape = list[list[int]]  # children of each node, in any numbering with the root first


def odd_text(min_size: int = 1, alphabet: str = ODD_CHARACTERS) -> st.SearchStrategy[str]:
    """Valid but unusual labels and tokens."""
    return st.text(alphabet, min_size=min_size, max_size=6)


# Shapes


def chain_shape(depth: int) -> Shape:
    """``depth`` nodes with one child each above a leaf."""
    return [[node + 1] for node in range(depth)] + [[]]


def star_shape(num_leaves: int) -> Shape:
    """A root whose children are all leaves."""
    return [list(range(1, num_leaves + 1))] + [[] for _ in range(num_leaves)]


def perfect_shape(depth: int) -> Shape:
    """A binary tree with ``2**depth`` leaves, all of the same depth."""
    num_inner = 2**depth - 1
    inner = [[2 * node + 1, 2 * node + 2] for node in range(num_inner)]
    return inner + [[] for _ in range(num_inner + 1)]


def random_shape(rng: random.Random, num_leaves: int, max_children: int, unary: float) -> Shape:
    """Joins neighbours at random, two to ``max_children`` at a time, until one node is left.

    ``unary`` is the probability that a node first gets a unary parent, repeatedly.
    """
    parents_first: Shape = []

    def add(children: list[int]) -> int:
        parents_first.append(children)
        node = len(parents_first) - 1
        return add([node]) if rng.random() < unary else node

    row = [add([]) for _ in range(num_leaves)]
    while len(row) > 1:
        size = rng.randint(2, min(max_children, len(row)))
        start = rng.randint(0, len(row) - size)
        row[start : start + size] = [add(row[start : start + size])]
    last = len(parents_first) - 1  # the root: reverse the numbering
    return [[last - child for child in children] for children in reversed(parents_first)]


def fill(shape: Shape, labels: Iterator[str], tokens: Iterator[str]) -> Tree:
    """The tree of a shape, with labels and tokens taken in preorder."""
    tree_labels, tree_tokens, parents = [], [], []
    stack = [(0, -1)]
    while stack:
        node, parent = stack.pop()
        stack += [(child, len(parents)) for child in reversed(shape[node])]
        parents.append(parent)
        tree_labels.append(next(labels))
        tree_tokens.append(None if shape[node] else next(tokens))
    return Tree(tree_labels, tree_tokens, parents)


# Seeded generators


def _choices(rng: random.Random, values: Sequence[str]) -> Iterator[str]:
    while True:
        yield rng.choice(values)


def random_tree(
    rng: random.Random,
    num_leaves: int,
    max_children: int = 2,
    *,
    unary: float = 0.0,
    labels: Sequence[str] = LABELS,
    words: Sequence[str] = WORDS,
) -> Tree:
    """A random tree; every inner node has 2 to ``max_children`` children, or 1 with ``unary``."""
    shape = random_shape(rng, num_leaves, max_children, unary)
    return fill(shape, _choices(rng, labels), _choices(rng, words))


def chain_tree(depth: int, label: str = "2", word: str = "a") -> Tree:
    """A chain of ``depth + 1`` nodes over one word."""
    return Tree([label] * (depth + 1), [None] * depth + [word], np.arange(depth + 1) - 1)


def random_heads(rng: random.Random, num_words: int) -> list[int]:
    """Heads of a random dependency tree, most often non-projective, for more than three words."""
    order = rng.sample(range(num_words), num_words)
    heads = [-1] * num_words
    for place, word in enumerate(order[1:], start=1):
        heads[word] = order[rng.randrange(place)]
    return heads


def random_dependency_tree(
    rng: random.Random,
    num_words: int,
    *,
    labels: Sequence[str] = LABELS,
    words: Sequence[str] = WORDS,
) -> DependencyTree:
    """A random dependency tree with labels."""
    return DependencyTree(
        rng.choices(words, k=num_words),
        random_heads(rng, num_words),
        labels=rng.choices(labels, k=num_words),
    )


# Strategies


@st.composite
def shapes(draw: st.DrawFn, max_leaves: int = 12, max_children: int = 5) -> Shape:
    """One node, chains, stars up to 30 children, perfect binary, random binary and n-ary shapes."""
    kind = draw(st.sampled_from(["leaf", "chain", "star", "perfect", "random"]))
    if kind == "leaf":
        return chain_shape(0)
    if kind == "chain":
        return chain_shape(draw(st.integers(1, max_leaves)))
    if kind == "star" and max_children > 2:
        return star_shape(draw(st.integers(2, max_children) | st.just(30)))
    if kind == "perfect":
        return perfect_shape(draw(st.integers(1, 4)))
    return draw(_random_shapes(max_leaves, max_children))


def _random_shapes(max_leaves: int, max_children: int) -> st.SearchStrategy[Shape]:
    return st.builds(
        random_shape,
        st.randoms(use_true_random=False),
        st.integers(1, max_leaves),
        st.integers(2, max_children),
        st.sampled_from([0.0, 0.3]),
    )


@st.composite
def trees(
    draw: st.DrawFn,
    max_leaves: int = 12,
    max_children: int = 5,
    labels: st.SearchStrategy[str] = USUAL_LABELS,
    words: st.SearchStrategy[str] = USUAL_WORDS,
) -> Tree:
    """Constituency trees of every kind of shape; SST labels and a few words by default.

    ``max_children=2`` excludes stars; chains and unary nodes remain.
    """
    shape = draw(shapes(max_leaves, max_children))
    return fill(shape, iter(lambda: draw(labels), None), iter(lambda: draw(words), None))


@st.composite
def binary_trees(draw: st.DrawFn, max_leaves: int = 12) -> Tree:
    """Trees whose every inner node has exactly two children, as in the SST."""
    num_leaves = draw(st.integers(1, max_leaves))
    return random_tree(draw(st.randoms(use_true_random=False)), num_leaves)


def odd_trees(max_leaves: int = 12, max_children: int = 5) -> st.SearchStrategy[Tree]:
    """Trees with unusual characters in labels, some of them empty, and tokens."""
    return trees(max_leaves, max_children, labels=odd_text(min_size=0), words=odd_text())


@st.composite
def dependency_trees(
    draw: st.DrawFn,
    max_words: int = 12,
    labels: st.SearchStrategy[str] = USUAL_LABELS,
    words: st.SearchStrategy[str] = USUAL_WORDS,
) -> DependencyTree:
    """Dependency trees: one word, chains, stars and random ones, most of these non-projective."""
    num_words = draw(st.integers(1, max_words))
    kind = draw(st.sampled_from(["left", "right", "star", "random"]))
    if kind == "random":
        heads = random_heads(draw(st.randoms(use_true_random=False)), num_words)
    elif kind == "star":
        root = draw(st.integers(0, num_words - 1))
        heads = [-1 if word == root else root for word in range(num_words)]
    elif kind == "right":
        heads = list(range(-1, num_words - 1))
    else:
        heads = [*range(1, num_words), -1]
    return DependencyTree([draw(words) for _ in heads], heads, labels=[draw(labels) for _ in heads])
