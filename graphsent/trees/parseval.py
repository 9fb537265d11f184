"""Labelled bracket scores (PARSEVAL), by the rules of EVALB."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from graphsent.errors import DataError
from graphsent.trees.transforms import TRACE, base_label
from graphsent.trees.tree import Tree, TreeLike, as_tree

__all__ = ["BracketCounts", "bracket_counts"]

_NOT_COUNTED = frozenset({",", ":", "``", "''", ".", TRACE})  # tags
_ROOTS = frozenset({"", "ROOT", "TOP", "S1"})
_EQUAL = {"PRT": "ADVP"}


class BracketCounts(NamedTuple):
    """Numbers of labelled brackets of one or more sentences.

    Attributes:
        matched: Brackets that parse and gold tree share.
        predicted: Brackets of the parse.
        gold: Brackets of the gold tree.
    """

    matched: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """Share of the predicted brackets that are correct; 0 if there are none."""
        return self.matched / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold brackets that were found; 0 if there are none."""
        return self.matched / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.predicted + self.gold
        return 2 * self.matched / total if total else 0.0


def bracket_counts(parse: TreeLike, gold: TreeLike) -> BracketCounts:
    """Counts the labelled brackets of a parse as EVALB does with Collins' parameters.

    A bracket is the label of a phrase, without function tags, and its span. Pre-terminals, roots
    (``ROOT``, ``TOP``), words that are punctuation or traces in the gold tree, and phrases without
    other words do not count; ADVP and PRT are equivalent.

    Args:
        parse: The parse.
        gold: The gold tree, with pre-terminals, over the same words.

    Raises:
        DataError: The words differ.

    Example:
        >>> gold = Tree.from_string("(S (NP (DT The) (NN end)) (VP (VBZ is) (ADVP (RB near))))")
        >>> parse = Tree.from_string("(S (NP (DT The)) (NN end) (VP (VBZ is) (PRT (RB near))))")
        >>> bracket_counts(parse, gold)
        BracketCounts(matched=3, predicted=4, gold=4)
    """
    parse, gold = as_tree(parse), as_tree(gold)
    if parse.words != gold.words:
        raise DataError(
            f"a parse of {' '.join(parse.words)!r:.80} cannot be compared with the gold tree of "
            f"{' '.join(gold.words)!r:.80}"
        )
    tags = [label for label, token in zip(gold.labels, gold.tokens, strict=True) if token]
    kept = np.array([tag not in _NOT_COUNTED for tag in tags])
    place = np.concatenate([[0], np.cumsum(kept)])  # position of each word among those that count
    found, wanted = _brackets(parse, place), _brackets(gold, place)
    return BracketCounts((found & wanted).total(), found.total(), wanted.total())


def _brackets(tree: Tree, place: np.ndarray) -> Counter[tuple[str, int, int]]:
    spans = place[tree.spans]
    brackets = zip(tree.labels, tree.tokens, spans.tolist(), strict=True)
    return Counter(
        (_EQUAL.get(base_label(label), base_label(label)), begin, end)
        for label, token, (begin, end) in brackets
        if token is None and begin < end and label not in _ROOTS
    )
