"""Verb phrases that ascribe or deny a property: *has no charm*, *is full of errors*."""

from __future__ import annotations

from ..core.chooser import Chooser
from ..core.derivation import Node, group, phrase, word
from ..core.verbs import verb
from .lexicon import QUALITIES
from .phrases import Setting, Subject, determined, prepositional


def quality_noun(pick: Chooser, sort: str) -> Node:
    """A noun for a property that fits the sort: *charm*, *clichés*."""
    noun = pick.pick([entry for entry in QUALITIES.values() if sort in entry.sorts])
    tag = "NNS" if noun.plural else "NN"
    return word(noun.form, tag, noun.lemma, slot=f"quality/{sort}/{tag}")


def _amount(pick: Chooser, sort: str) -> Node:
    """*no charm*, *few clichés*, *plenty of wit*, *hardly any energy*."""
    kind = pick.pick(("no", "small", "hardly", "plenty", "some"))
    noun = quality_noun(pick, sort)
    if kind == "plenty":
        complement = prepositional("of", phrase("NP", noun)).to("prep")
        return phrase("NP", phrase("NP", word("plenty", "NN")), complement)
    if kind == "hardly":
        quantity = word("any", "DT").to("det")
        return phrase("NP", word("hardly", "RB").to("advmod"), group(quantity, noun))
    if kind == "small":
        few = word("few" if noun.label == "NNS" else "little", "JJ")
        return phrase("NP", few.to("amod"), noun)
    return determined(kind, noun)


def _needed(pick: Chooser, sort: str) -> Node:
    """*more wit*, *less noise*, *fewer errors*."""
    noun = quality_noun(pick, sort)
    if pick.chance(0.5):
        amount = word("more", "JJR")
    elif noun.label == "NNS":
        amount = word("fewer", "JJR", "few")
    else:
        amount = word("less", "JJR", "little")
    return phrase("NP", amount.to("amod"), noun)


def possesses(pick: Chooser, setting: Setting, subject: Subject, form: str) -> Node:
    """*has no charm*, *lacks wit*, *avoids clichés*, *is free of errors*, *needs more energy*."""
    sort = subject.sort
    kinds = [(0.36, "have"), (0.12, "offer"), (0.14, "lack"), (0.1, "avoid"), (0.1, "need")]
    kind = pick.weighted([*kinds, (0.18, "be")])
    leaf = verb(kind, form, subject.number)
    if kind == "be":
        state = word(pick.pick(("full", "free")), "JJ")
        noun = phrase("NP", quality_noun(pick, sort))
        described = phrase("ADJP", state, prepositional("of", noun).to("prep"))
        return phrase("VP", leaf, described.to("acomp"))
    if kind == "need":
        return phrase("VP", leaf, _needed(pick, sort).to("dobj"))
    if kind in ("have", "offer"):
        return phrase("VP", leaf, _amount(pick, sort).to("dobj"))
    return phrase("VP", leaf, phrase("NP", quality_noun(pick, sort)).to("dobj"))
