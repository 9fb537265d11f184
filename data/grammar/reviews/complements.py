"""What can follow *be*: adjective phrases, comparisons and verdicts."""

from __future__ import annotations

from ..core.chooser import Chooser
from ..core.derivation import Node, group, phrase, word
from ..core.morphology import plural
from .lexicon import VERDICTS
from .phrases import (
    Setting,
    Subject,
    adjective,
    adjective_phrase,
    coordinated,
    determined,
    fixed_prepositional,
    noun_leaf,
    prepositional,
)


def as_phrase(label: str, node: Node) -> Node:
    """The node, under a phrase of its own if it is a bare word."""
    return node if node.children else phrase(label, node)


def _conjunct(pick: Chooser, sort: str, may_deny: bool = True) -> Node:
    """*very funny*, *not funny*, *never dull*."""
    if not may_deny or pick.chance(0.7):
        return adjective_phrase(pick, sort)
    adverb = "not" if pick.chance(0.75) else "never"
    return phrase("ADJP", word(adverb, "RB").to("neg"), adjective(pick, sort))


def _neither(pick: Chooser, sort: str) -> Node:
    first, second = adjective(pick, sort), adjective(pick, sort)
    pair = group(first, group(word("nor", "CC").to("cc"), second.to("conj")))
    return phrase("ADJP", word("neither", "CC").to("preconj"), pair)


def coordinated_adjectives(pick: Chooser, sort: str, attributive: bool = False) -> Node:
    """*slow but funny*, *not bad and very moving*, *neither funny nor clever*."""
    neither = 0 if attributive else 0.15
    kind = pick.weighted([(0.45, "but"), (0.1, "yet"), (0.3, "and"), (neither, "neither")])
    if kind == "neither":
        return _neither(pick, sort)
    first = _conjunct(pick, sort, may_deny=not attributive)
    return coordinated("ADJP", first, kind, _conjunct(pick, sort))


def emphatic_denial(pick: Chooser, sort: str) -> Node:
    """*anything but funny*, *far from dull*."""
    inner = adjective(pick, sort)
    if pick.chance(0.5):
        denied = group(word("but", "CC").to("cc"), inner.to("conj"))
        return phrase("ADJP", word("anything", "NN"), denied)
    origin = phrase("PP", word("from", "IN"), phrase("ADJP", inner).to("pcomp"))
    return phrase("ADJP", word("far", "RB"), origin.to("prep"))


def quality(pick: Chooser, sort: str) -> Node:
    """The adjective phrase of a plain predicate, coordinated or not."""
    kind = pick.weighted([(0.6, "plain"), (0.32, "coordinated"), (0.08, "denied")])
    if kind == "coordinated":
        return coordinated_adjectives(pick, sort)
    if kind == "denied":
        return emphatic_denial(pick, sort)
    return as_phrase("ADJP", adjective_phrase(pick, sort))


def _standard(pick: Chooser, setting: Setting) -> Node:
    """What something is compared with: *the superb first film*, *most tedious films*."""
    noun = setting.noun
    if pick.chance(0.3):
        nominal = word(plural(noun.lemma), "NNS", noun.lemma)
        if pick.chance(0.5):
            nominal = group(adjective(pick, noun.sort, "specific").to("amod"), nominal)
        return phrase("NP", word("most", "JJS", "many").to("amod"), nominal)
    nominal = noun_leaf(noun)
    if pick.chance(0.5):
        nominal = group(adjective(pick, noun.sort).to("amod"), nominal)
    ordinal = word(pick.pick(("first", "last", "other")), "JJ").to("amod")
    return determined("the", group(ordinal, nominal))


def comparison(pick: Chooser, setting: Setting, subject: Subject) -> Node:
    """*much better than the first film*, *less funny than the awful sequel*."""
    if pick.chance(0.5):
        form = pick.pick(("better", "worse"))
        lemma = {"better": "good", "worse": "bad"}[form]
        degree: Node = word(form, "JJR", lemma, slot="comparative")
        if pick.chance(0.3):
            degree = group(word("much", "RB").to("advmod"), degree)
    else:
        amount = word(pick.pick(("more", "less")), "RBR", slot="amount").to("advmod")
        degree = group(amount, adjective(pick, subject.sort, "graded"))
    return phrase("ADJP", degree, prepositional("than", _standard(pick, setting)).to("prep"))


def equality(pick: Chooser, setting: Setting, subject: Subject) -> Node:
    """*as good as the first film*; used after *not*."""
    noun = noun_leaf(setting.noun)
    first = group(word(pick.pick(("first", "last", "other")), "JJ").to("amod"), noun)
    standard = prepositional("as", determined("the", first)).to("prep")
    compared = group(adjective(pick, subject.sort, "mild"), standard)
    return phrase("ADJP", word("as", "RB").to("advmod"), compared)


def _superlative(pick: Chooser, setting: Setting) -> Node:
    """*one of the best films of the year*, *the worst hotel by the lake*."""
    form = pick.pick(("best", "worst"))
    lemma = {"best": "good", "worst": "bad"}[form]
    best = word(form, "JJS", lemma, slot="superlative").to("amod")
    noun = setting.noun
    place = pick.pick((*setting.domain.origins, "of the/DT year/NN"))
    if pick.chance(0.5):
        nouns = word(plural(noun.lemma), "NNS", noun.lemma)
        best_of = phrase("NP", determined("the", group(best, nouns)), _origin(place))
        return phrase(
            "NP", phrase("NP", word("one", "CD")), prepositional("of", best_of).to("prep")
        )
    return phrase("NP", determined("the", group(best, noun_leaf(noun))), _origin(place))


def _origin(spec: str) -> Node:
    return fixed_prepositional(spec).to("prep")


def _verdict_noun(pick: Chooser) -> Node:
    """*a complete disaster*, *a minor success*, *a joy*."""
    nominal = word(pick.pick(tuple(VERDICTS)), "NN", slot="verdict")
    if pick.chance(0.45):
        degree = pick.weighted([(1, "complete"), (1, "total"), (1, "real"), (1.5, "minor")])
        nominal = group(word(degree, "JJ", slot="noun degree").to("amod"), nominal)
    return determined("a", nominal)


def described_whole(pick: Chooser, setting: Setting, article: str = "a") -> Node:
    """*a dull but honest film*, *a very funny new film*."""
    noun = setting.noun
    nominal = noun_leaf(noun)
    if pick.chance(0.2):
        nominal = group(adjective(pick, noun.sort, "trait").to("amod"), nominal)
    if pick.chance(0.35):
        modifier = coordinated_adjectives(pick, noun.sort, attributive=True)
    else:
        modifier = adjective_phrase(pick, noun.sort)
    return determined(article, group(modifier.to("amod"), nominal))


def verdict(pick: Chooser, setting: Setting, subject: Subject) -> Node:
    """A noun phrase that judges; the thing itself is named only after a whole."""
    if not subject.is_whole or pick.chance(0.45):
        return _verdict_noun(pick)
    return _superlative(pick, setting) if pick.chance(0.35) else described_whole(pick, setting)
