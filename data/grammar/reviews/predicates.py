"""Verb phrases whose subject is the thing reviewed, a part of it, or its people."""

from __future__ import annotations

from collections.abc import Callable

from ..core.chooser import Chooser
from ..core.derivation import Node, group, phrase, word
from ..core.verbs import infinitive, verb
from .complements import as_phrase, comparison, equality, quality, verdict
from .lexicon import EFFECT_VERBS, MANNERS
from .phrases import (
    Setting,
    Subject,
    adjective,
    adjective_phrase,
    coordinated,
    determined,
    prepositional,
)
from .possession import possesses
from .verbs import affected, frequency, negated_verb, negation, with_adverb


def is_quality(pick: Chooser, setting: Setting, subject: Subject, form: str) -> Node:
    """*is very funny*, *was slow but moving*, *seems anything but dull*."""
    lemma = "seem" if form != "base" and pick.chance(0.12) else "be"
    copula = verb(lemma, form, subject.number)
    return phrase("VP", copula, quality(pick, subject.sort).to("acomp"))


def _adverbial(pick: Chooser, form: str) -> Node:
    """*hardly*, *never* (in the present), *by no means*, *no longer*."""
    kinds = [(0.35, "hardly"), (0.35 if form == "present" else 0, "frequency"), (0.15, "means")]
    kind = pick.weighted([*kinds, (0.15, "longer")])
    if kind == "hardly":
        return word("hardly", "RB").to("advmod")
    if kind == "frequency":
        return frequency(pick)
    if kind == "means":
        return prepositional("by", determined("no", word("means", "NNS"))).to("prep")
    longer = phrase("ADVP", word("no", "RB").to("neg"), word("longer", "RBR", "long"))
    return longer.to("advmod")


def is_not_quality(pick: Chooser, setting: Setting, subject: Subject, form: str) -> Node:
    """*is n't very funny*, *is hardly dull*, *was by no means dull*, *is no longer clean*."""
    copula = verb("be", form, subject.number)
    if pick.chance(0.6):
        described = adjective_phrase(pick, subject.sort, diminished=0)
        modifier = negation(pick, subject.number)
    else:
        described = adjective(pick, subject.sort, "mild")
        modifier = _adverbial(pick, form)
    return phrase("VP", copula, group(modifier, as_phrase("ADJP", described).to("acomp")))


def is_verdict(pick: Chooser, setting: Setting, subject: Subject, form: str) -> Node:
    """*is a complete disaster*, *is not one of the best films of the year*."""
    copula = verb("be", form, subject.number)
    noun_phrase = verdict(pick, setting, subject).to("attr")
    if form != "base" and pick.chance(0.3):
        return phrase("VP", copula, group(negation(pick, subject.number), noun_phrase))
    return phrase("VP", copula, noun_phrase)


def compares(pick: Chooser, setting: Setting, subject: Subject, form: str) -> Node:
    """*is better than the first film*, *is not as funny as the first film*."""
    copula = verb("be", form, subject.number)
    if pick.chance(0.25):
        equal = equality(pick, setting, subject).to("acomp")
        return phrase("VP", copula, group(negation(pick, subject.number), equal))
    return phrase("VP", copula, comparison(pick, setting, subject).to("acomp"))


def _better(pick: Chooser) -> Node:
    form, lemma = pick.pick((("better", "good"), ("worse", "bad")))
    return phrase("ADJP", word(form, "JJR", lemma, slot="comparative")).to("acomp")


def might_be(pick: Chooser, setting: Setting, subject: Subject, form: str) -> Node:
    """*could have been great*, *should be better*, *could hardly be worse*."""
    modal = word(pick.pick(("could", "should")), "MD", slot="modal").to("aux")
    if pick.chance(0.55):
        complement = as_phrase("ADJP", adjective_phrase(pick, subject.sort, diminished=0))
        been = phrase("VP", verb("be", "past participle"), complement.to("acomp"))
        return phrase("VP", modal, phrase("VP", word("have", "VB").to("aux"), been))
    bare = phrase("VP", word("be", "VB"), _better(pick))
    if pick.chance(0.6):
        return phrase("VP", modal, bare)
    relation, adverb = pick.pick((("neg", "not"), ("advmod", "hardly")))
    could = word("could", "MD").to("aux")
    return phrase("VP", could, group(word(adverb, "RB").to(relation), bare))


def was_supposed(pick: Chooser, setting: Setting, subject: Subject, form: str) -> Node:
    """*was supposed to be funny*, *used to be clean*."""
    complement = as_phrase("ADJP", adjective_phrase(pick, subject.sort, diminished=0))
    bare = infinitive(phrase("VP", word("be", "VB"), complement.to("acomp")))
    if subject.sort in ("place", "staff", "service") and pick.chance(0.5):
        return phrase("VP", word("used", "VBD", "use"), bare)
    participle, lemma = pick.pick((("supposed", "suppose"), ("expected", "expect")))
    passive = phrase("VP", word(participle, "VBN", lemma), bare)
    return phrase("VP", verb("be", "past", subject.number).to("auxpass"), passive)


def affects(pick: Chooser, setting: Setting, subject: Subject, form: str) -> Node:
    """*annoyed us*, *did n't bore me*, *never fails to impress my friends*."""
    kind = "plain"
    if form != "base":
        kind = pick.weighted([(0.45, "plain"), (0.2, "not"), (0.2, "adverb"), (0.15, "fails")])
    inner, number = (form, subject.number) if kind in ("plain", "adverb") else ("base", "plural")
    effect = pick.pick([v.lemma for v in EFFECT_VERBS.values() if subject.sort in v.sorts])
    leaf = verb(effect, inner, number)
    leaf = leaf.at(f"effect/{subject.sort}/{leaf.label}")
    bare = phrase("VP", leaf, affected(pick).to("dobj"))
    if kind == "not":
        return negated_verb(pick, form, subject.number, bare)
    if kind == "fails":
        fails = phrase("VP", verb("fail", form, subject.number), infinitive(bare))
        return with_adverb(word("never", "RB").to("neg"), fails) if pick.chance(0.5) else fails
    return with_adverb(frequency(pick), bare) if kind == "adverb" else bare


def proceeds(pick: Chooser, setting: Setting, subject: Subject, form: str) -> Node:
    """*begins badly*, *works very well*; only for sorts with such verbs."""
    lemma = pick.pick(setting.domain.manner_verbs[subject.sort])
    manner = word(pick.pick(tuple(MANNERS)), "RB", slot="manner")
    return phrase("VP", verb(lemma, form, subject.number), phrase("ADVP", manner).to("advmod"))


Predicate = Callable[[Chooser, Setting, Subject, str], Node]


def _options(setting: Setting, subject: Subject, form: str) -> list[tuple[float, Predicate]]:
    """Rules with weights for a subject; infinitives (``form="base"``) have fewer."""
    finite = form != "base"
    judged = subject.sort not in ("artist", "staff", "service") and subject.number == "singular"
    manner = subject.is_whole and subject.sort in setting.domain.manner_verbs
    options: list[tuple[float, Predicate]] = [
        (0.3, is_quality),
        (0.2 * finite, is_not_quality),
        (0.12 * judged, is_verdict),
        (0.1 * (finite and subject.is_whole), compares),
        (0.08 * finite, might_be),
        (0.06 * finite, was_supposed),
        (0.14, affects),
        (0.18 * finite, possesses),
        (0.2 * (finite and manner), proceeds),
    ]
    return [(weight, rule) for weight, rule in options if weight]


def predicate(pick: Chooser, setting: Setting, subject: Subject, form: str = "") -> Node:
    """A verb phrase about the subject; one in six is a coordination of two."""
    form = form or setting.tense
    kind = "whole" if subject.is_whole else subject.sort
    slot = f"predicate/{kind}/{form}/{subject.number}"

    def simple() -> Node:
        rule = pick.weighted(_options(setting, subject, form))
        return rule(pick, setting, subject, form).at(slot)

    if form == "base" or not pick.chance(0.16):
        return simple()
    return coordinated("VP", simple(), pick.weighted([(3, "but"), (1, "and")]), simple())
