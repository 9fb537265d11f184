"""Rules for the head child of a phrase: Collins' table for the Penn Treebank.

Michael Collins, *Head-Driven Statistical Models for Natural Language Parsing*, PhD thesis,
University of Pennsylvania, 1999, Appendix A; after David Magerman, *Natural Language Parsing as
Statistical Pattern Recognition*, 1994.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

LEFT, RIGHT = "left", "right"


class Search(NamedTuple):
    """Scans the children from one side; the first with one of the labels is the head."""

    side: str
    labels: frozenset[str]


class HeadRule(NamedTuple):
    """Searches to try in turn; if none finds a child, the outermost on ``side`` is the head."""

    side: str
    searches: tuple[Search, ...]


HeadRules = Mapping[str, HeadRule]


def by_priority(side: str, labels: str = "") -> HeadRule:
    """A rule that looks for the first label anywhere, then for the second, and so on.

    Args:
        side: The side where each search starts, ``"left"`` or ``"right"``.
        labels: Space-separated labels, the most important first.
    """
    return HeadRule(side, tuple(Search(side, frozenset({label})) for label in labels.split()))


def _any_of(side: str, labels: str) -> Search:
    return Search(side, frozenset(labels.split()))


_NOUN_PHRASE = HeadRule(
    RIGHT,
    (
        _any_of(RIGHT, "NN NNP NNPS NNS NX POS JJR"),
        _any_of(LEFT, "NP"),
        _any_of(RIGHT, "$ ADJP PRN"),
        _any_of(RIGHT, "CD"),
        _any_of(RIGHT, "JJ JJS RB QP"),
    ),
)

# For labels that are not in the table: the rightmost child.
OTHER = by_priority(RIGHT)

COLLINS: HeadRules = {
    "ADJP": by_priority(LEFT, "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": by_priority(RIGHT, "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": by_priority(RIGHT, "CC RB IN"),
    "FRAG": by_priority(RIGHT),
    "INTJ": by_priority(LEFT),
    "LST": by_priority(RIGHT, "LS :"),
    "NAC": by_priority(LEFT, "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "NP": _NOUN_PHRASE,
    "NX": _NOUN_PHRASE,
    "PP": by_priority(RIGHT, "IN TO VBG VBN RP FW"),
    "PRN": by_priority(LEFT),
    "PRT": by_priority(RIGHT, "RP"),
    "QP": by_priority(LEFT, "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": by_priority(RIGHT, "VP NP ADVP ADJP PP"),
    "S": by_priority(LEFT, "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": by_priority(LEFT, "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": by_priority(LEFT, "SQ S SINV SBARQ FRAG"),
    "SINV": by_priority(LEFT, "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": by_priority(LEFT, "VBZ VBD VBP VB MD VP SQ"),
    "UCP": by_priority(RIGHT),
    "VP": by_priority(LEFT, "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": by_priority(LEFT, "CC WRB JJ ADJP"),
    "WHADVP": by_priority(RIGHT, "CC WRB"),
    "WHNP": by_priority(LEFT, "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": by_priority(RIGHT, "IN TO FW"),
}
