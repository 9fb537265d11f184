"""Small labelled sentences and pairs, with trees of both kinds, that a model can memorize."""

from __future__ import annotations

import inspect
import random

from strategies import random_dependency_tree, random_tree

from graphsent.models import Model, TreePair
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

VALUES = {"superb": 2, "good": 1, "film": 0, "the": 0, "dull": -1, "awful": -2}
VOCABULARY = Vocabulary(VALUES)
NUM_CLASSES = 3
# Sizes of words and states of models in many tests, which share compiled cells; a mix-up of the two
# raises an error.
EMBEDDING_DIM, HIDDEN = 24, 22


def label(words) -> str:
    """0, 1 or 2: the sign of the sum of the words' values, plus one."""
    total = sum(VALUES[word] for word in words)
    return str((total > 0) - (total < 0) + 1)


def sentence(rng: random.Random, kind: str) -> Tree | DependencyTree:
    """A random sentence, every node labelled by the words that it spans."""
    size = rng.randint(1, 7)
    if kind == "dependency":
        tree = random_dependency_tree(rng, size, words=tuple(VALUES))
        labels = [label(tree.words[begin:end]) for begin, end in tree.spans.tolist()]
        return DependencyTree(tree.words, tree.heads, labels=labels)
    tree = random_tree(rng, size, max_children=3, words=tuple(VALUES))
    labels = [label(tree.words[begin:end]) for begin, end in tree.spans.tolist()]
    return Tree(labels, tree.tokens, tree.parents)


def small(cls: type[Model]) -> dict[str, int]:
    """Options of a model whose states are small."""
    return {"hidden": HIDDEN} if "hidden" in inspect.signature(cls).parameters else {}


def sentences(kind: str, number: int = 20, seed: int = 0) -> list[Tree] | list[DependencyTree]:
    rng = random.Random(seed)
    return [sentence(rng, kind) for _ in range(number)]


def pairs(number: int = 20, seed: int = 0) -> list[TreePair]:
    """Pairs of dependency trees; the score grows with the share of common words."""
    rng = random.Random(seed)
    result = []
    for _ in range(number):
        first, second = sentence(rng, "dependency"), sentence(rng, "dependency")
        common = set(first.words) & set(second.words)
        share = len(common) / len(set(first.words) | set(second.words))
        result.append(TreePair(first, second, 1 + 4 * share))
    return result
