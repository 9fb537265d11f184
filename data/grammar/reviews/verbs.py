"""Building blocks of verb phrases: negation, adverbs, the people affected."""

from __future__ import annotations

from ..core.chooser import Chooser
from ..core.derivation import Node, group, phrase, word
from ..core.verbs import verb


def negation(pick: Chooser, number: str) -> Node:
    """*not* or *n't* after a finite auxiliary (but not *am n't*)."""
    contracted = number != "I" and pick.chance(0.4)
    return word("n't" if contracted else "not", "RB", "not").to("neg")


def negated_verb(pick: Chooser, form: str, number: str, bare: Node) -> Node:
    """*did n't like the film* from *like the film*."""
    auxiliary = verb("do", form, number).to("aux")
    return phrase("VP", auxiliary, group(negation(pick, number), bare))


def frequency(pick: Chooser) -> Node:
    """*never*, *rarely* or *always*."""
    adverb = pick.weighted([(2, "never"), (1.5, "rarely"), (1.5, "always")])
    return word(adverb, "RB", slot="frequency").to("neg" if adverb == "never" else "advmod")


def with_adverb(adverb: Node, predicate: Node) -> Node:
    """The verb phrase with an adverb before its verb."""
    return phrase("VP", adverb, group(*predicate.children))


def affected(pick: Chooser) -> Node:
    """The people something has an effect on: *us*, *my friends*."""
    kind = pick.pick(("us", "me", "friends", "parents", "sister"))
    if kind in ("us", "me"):
        return phrase("NP", word(kind, "PRP", {"us": "we", "me": "I"}[kind]))
    noun = word("sister", "NN") if kind == "sister" else word(kind, "NNS", kind[:-1])
    return phrase("NP", word("my", "PRP$").to("poss"), noun)
