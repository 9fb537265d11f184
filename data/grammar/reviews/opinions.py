"""Clauses about people: what they feel, what they recommend, what they did."""

from __future__ import annotations

from ..core.chooser import Chooser
from ..core.derivation import Node, group, phrase, word
from ..core.morphology import plural
from ..core.verbs import verb
from .complements import as_phrase, described_whole
from .lexicon import FEELING_VERBS
from .phrases import (
    Setting,
    Subject,
    adjective,
    adjective_phrase,
    clause,
    determined,
    fixed_noun_phrase,
    fixed_prepositional,
    part,
    prepositional,
    topic,
    whole,
)
from .verbs import negated_verb, with_adverb

_PEOPLE = {
    "I/PRP": "I",
    "we/PRP": "plural",
    "my/PRP$ friend/NNS": "plural",
    "my/PRP$ sister/NN": "singular",
    "everyone/NN": "singular",
}


def audience(pick: Chooser, setting: Setting) -> Subject:
    """*The critics*, *most guests*, *some readers*."""
    lemma = pick.pick(setting.domain.audience)
    noun = word(plural(lemma), "NNS", lemma)
    determiner = pick.pick(("the", "most", "some"))
    if determiner == "most":
        return Subject(phrase("NP", word("most", "JJS", "many").to("amod"), noun), "plural", "")
    return Subject(determined(determiner, noun), "plural", "")


def person(pick: Chooser, setting: Setting, denied: bool = False) -> Subject:
    """Somebody with an opinion: *I*, *my friends*, *most critics*; *everyone* denies nothing."""
    if pick.chance(0.3):
        return audience(pick, setting)
    spec = pick.pick(tuple(_PEOPLE)[: -1 if denied else None])
    return Subject(fixed_noun_phrase(spec), _PEOPLE[spec], "")


def nobody(pick: Chooser, setting: Setting) -> Subject:
    """A subject that denies: *nobody*, *no critic*, *few guests*, *hardly anyone*."""
    kind = pick.weighted([(3, "nobody"), (2, "no"), (2, "few"), (2, "hardly")])
    lemma = pick.pick(setting.domain.audience)
    if kind == "nobody":
        node = phrase("NP", word("nobody", "NN"))
    elif kind == "hardly":
        node = phrase("NP", word("hardly", "RB").to("advmod"), word("anyone", "NN"))
    elif kind == "no":
        node = determined("no", word(lemma, "NN"))
    else:
        node = phrase("NP", word("few", "JJ").to("amod"), word(plural(lemma), "NNS", lemma))
    return Subject(node, "plural" if kind == "few" else "singular", "")


def felt(pick: Chooser, form: str, number: str, thing: Node) -> Node:
    """*loved the soup*."""
    leaf = verb(pick.pick(tuple(FEELING_VERBS)), form, number)
    return phrase("VP", leaf.at(f"feeling/{leaf.label}"), thing.to("dobj"))


def _thing(pick: Chooser, setting: Setting) -> Node:
    """What is liked: the whole, a part, or *it*."""
    if pick.chance(0.12):
        return phrase("NP", word("it", "PRP"))
    return (whole if pick.chance(0.5) else part)(pick, setting).node


def feels(pick: Chooser, setting: Setting) -> Node:
    """*We loved the soup*, *I did not enjoy the long film*, *nobody hated it*."""
    if pick.chance(0.18):
        subject = nobody(pick, setting)
        thing = _thing(pick, setting)
        return clause(subject.node, felt(pick, setting.tense, subject.number, thing))
    return felt_by(pick, setting, person(pick, setting, denied=True))


def felt_by(pick: Chooser, setting: Setting, subject: Subject) -> Node:
    """What the subject feels about the thing, affirmed or denied."""
    thing = _thing(pick, setting)
    kind = pick.weighted([(0.6, "plain"), (0.3, "not"), (0.1, "never")])
    if kind == "not":
        bare = felt(pick, "base", "plural", thing)
        return clause(subject.node, negated_verb(pick, setting.tense, subject.number, bare))
    feeling = felt(pick, setting.tense, subject.number, thing)
    if kind == "never":
        feeling = with_adverb(word("never", "RB").to("neg"), feeling)
    return clause(subject.node, feeling)


def finds(pick: Chooser, setting: Setting) -> Node:
    """*We found the room very clean*, *most critics called it a dull film*."""
    subject = person(pick, setting)
    about = topic(pick, setting)
    if about.is_whole and pick.chance(0.2):
        complement = described_whole(pick, setting)
    else:
        complement = as_phrase("ADJP", adjective_phrase(pick, about.sort))
    small = phrase("S", about.node.to("nsubj"), complement).to("ccomp")
    lemma = pick.pick(("find", "consider", "call"))
    return clause(subject.node, phrase("VP", verb(lemma, setting.tense, subject.number), small))


def recommends(pick: Chooser, setting: Setting) -> Node:
    """*I would recommend the hotel to anyone*, *we can not recommend it*."""
    subject = fixed_noun_phrase(pick.pick(("I/PRP", "we/PRP")))
    modal = word(pick.pick(("would", "can")), "MD").to("aux")
    kind = pick.pick(("", "not", "never"))
    bare = phrase("VP", word("recommend", "VB"), whole(pick, setting, False).node.to("dobj"))
    if pick.chance(0.5):
        people = phrase("NP", word("anyone" if kind else "everyone", "NN"))
        bare = phrase("VP", group(*bare.children), prepositional("to", people).to("prep"))
    if not kind:
        return clause(subject, phrase("VP", modal, bare))
    return clause(subject, phrase("VP", modal, group(word(kind, "RB").to("neg"), bare)))


def happened(pick: Chooser, setting: Setting, in_sequence: bool = False) -> Node:
    """A neutral report: *we read the new novel on the train*.

    Args:
        pick: The source of chance.
        setting: What it is about.
        in_sequence: Another report follows with *after* or *before*, so this one says neither.
    """
    event = pick.pick(setting.domain.events)
    subject = person(pick, setting)
    leaf = verb(event.verb, "past", subject.number)
    times = ("after", "before") if in_sequence else ()
    adjuncts = [spec for spec in event.adjuncts if not spec.startswith(times)]
    adjunct = fixed_prepositional(pick.pick(adjuncts)).to("prep")
    if not event.what:
        return clause(subject.node, phrase("VP", leaf, adjunct))
    if event.what == "whole":
        thing = whole(pick, setting).node
    elif event.what.startswith("part"):
        thing = part(pick, setting, event.what.removeprefix("part of ")).node
    else:
        thing = fixed_noun_phrase(event.what)
    return clause(subject.node, phrase("VP", group(leaf, thing.to("dobj")), adjunct))


def relative(pronoun: str, predicate: Node) -> Node:
    """*who hate slow films*, *that never bores*."""
    who = phrase("WHNP", word(pronoun, "WP" if pronoun == "who" else "WDT")).to("nsubj")
    return phrase("SBAR", who, phrase("S", predicate)).to("relcl")


def taste(pick: Chooser, setting: Setting) -> Node:
    """*hate silly films*: what some people are known for."""
    noun = setting.noun
    quality = adjective(pick, noun.sort, "specific" if pick.chance(0.6) else "trait")
    things = phrase("NP", quality.to("amod"), word(plural(noun.lemma), "NNS", noun.lemma))
    return felt(pick, "present", "plural", things)
