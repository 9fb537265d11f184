"""Verbs as words of a derivation."""

from __future__ import annotations

from .derivation import Node, phrase, word
from .morphology import inflect, verb_tag


def verb(lemma: str, form: str, number: str = "singular", slot: str = "") -> Node:
    """An inflected verb; see ``morphology.inflect`` for the forms."""
    return word(inflect(lemma, form, number), verb_tag(form, number), lemma, slot=slot)


def infinitive(bare: Node) -> Node:
    """*to* and a verb phrase, as the complement of a verb."""
    return phrase("S", phrase("VP", word("to", "TO").to("aux"), bare)).to("xcomp")
