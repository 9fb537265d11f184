"""Random examples of every kind."""

from __future__ import annotations

import random

from strategies import random_tree

from graphsent.pairs import TreePair
from graphsent.sentences import Sentence
from graphsent.trees import DependencyTree

WORDS = [f"w{number}" for number in range(30)]
LABELS = ("0", "1", "2", "", "NP")


def sentences(count: int, rng: random.Random) -> list[Sentence]:
    return [
        Sentence(rng.choices(WORDS, k=rng.randrange(6)), rng.choice("012")) for _ in range(count)
    ]


def trees(count: int, rng: random.Random, most_children: int = 4) -> list:
    return [
        random_tree(rng, rng.randint(1, 12), most_children, labels=LABELS, words=WORDS)
        for _ in range(count)
    ]


def dependency_trees(count: int, rng: random.Random) -> list[DependencyTree]:
    found = []
    for _ in range(count):
        size = rng.randint(1, 9)
        heads = [-1, *(rng.randrange(place) for place in range(1, size))]
        labels = rng.choices(LABELS, k=size)
        found.append(DependencyTree(rng.choices(WORDS, k=size), heads, labels=labels))
    return found


def pairs(count: int, rng: random.Random) -> list[TreePair]:
    sides = dependency_trees(2 * count, rng)
    scores = [rng.choice((None, rng.uniform(1, 5))) for _ in range(count)]
    return [TreePair(sides[2 * i], sides[2 * i + 1], scores[i]) for i in range(count)]
