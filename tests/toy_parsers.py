"""Parsers that need no package: every word under one phrase, or under the first word."""

from __future__ import annotations

from graphsent.parsing import Parser, TreeSource
from graphsent.trees import DependencyTree, Tree
from graphsent.trees.escapes import bracket_token


def flat(sentences):
    """A constituent over all words; sentences with "bad" have no tree."""
    trees = []
    for sentence in sentences:
        words = sentence.split()
        labels = ["ROOT", *("W" for _ in words)]
        tokens = [None, *map(bracket_token, words)]
        trees.append(None if "bad" in words else Tree(labels, tokens, [-1, *(0 for _ in words)]))
    return trees


def headed(sentences):
    """The first word is the head of all others; a sentence with "bad" fails the whole batch."""
    if any("bad" in sentence.split() for sentence in sentences):
        raise RuntimeError("bad\nluck")
    return [
        DependencyTree(words, [-1, *(0 for _ in words[1:])]) for words in map(str.split, sentences)
    ]


headed.tree_kind = "dependency"
headed.version = "3"

FLAT = Parser(TreeSource("constituency", "toy:flat", "1"), flat)
HEADED = Parser(TreeSource("dependency", "toy:headed", "1"), headed)
