"""Noun phrases and clauses of the questions."""

from __future__ import annotations

from collections.abc import Callable

from ..core.chooser import Chooser
from ..core.derivation import Node, phrase, word
from ..core.morphology import plural
from ..core.verbs import verb
from . import lexicon
from .lexicon import Happening

Entity = Callable[[Chooser, str], Node]

QUESTION_MARK = word("?", ".").to("punct")


def names(*forms: str) -> list[Node]:
    """Proper nouns, the last one the head."""
    leaves = [word(form, "NNP") for form in forms]
    return [*(leaf.to("compound") for leaf in leaves[:-1]), leaves[-1]]


def proper(*forms: str) -> Node:
    return phrase("NP", *names(*forms))


def common(determiner: str, noun: str, *modifiers: Node) -> Node:
    """*the famous novel*."""
    article = word(determiner, "DT").to("det")
    return phrase("NP", article, *modifiers, word(noun, "NN"))


def is_place(noun: str) -> bool:
    return lexicon.CLASSES[noun].startswith("LOC")


def place_name(pick: Chooser) -> Node:
    return proper(pick.pick((*lexicon.CITIES, *lexicon.COUNTRIES)))


def preposed(preposition: str, complement: Node) -> Node:
    return phrase("PP", word(preposition, "IN"), complement.to("pobj")).to("prep")


def topic(pick: Chooser) -> Node:
    """*about the sea*."""
    preposition, *rest = (entry.split("/") for entry in pick.pick(lexicon.TOPICS).split())
    leaves = []
    for lemma, tag in rest:
        form = plural(lemma) if tag == "NNS" else lemma
        leaf = word(form, tag, lemma)
        leaves.append(leaf.to({"DT": "det", "CD": "nummod"}.get(tag, "head")))
    return preposed(preposition[0], phrase("NP", *leaves))


def person(pick: Chooser) -> Node:
    return proper(pick.pick(lexicon.FIRST_NAMES), pick.pick(lexicon.LAST_NAMES))


def quoted_title(pick: Chooser) -> Node:
    """A title between quotation marks."""
    opening = word("``", "``", '"').to("punct")
    closing = word("''", "''", '"').to("punct")
    return phrase("NP", opening, *names(*pick.pick(lexicon.TITLES)), closing)


def _adjective(pick: Chooser) -> list[Node]:
    if pick.chance(0.7):
        return []
    return [word(pick.pick(lexicon.ADJECTIVES), "JJ").to("amod")]


def entity(pick: Chooser, noun: str, modified: float = 0.5) -> Node:
    """*the novel*, *the famous author from Oslo*, *the novel about the sea*, a name or title."""
    label = lexicon.CLASSES[noun]
    if label == "HUM:ind" and pick.chance(0.2):
        return person(pick)
    if noun in ("novel", "film", "song", "album", "poem") and pick.chance(0.15):
        return quoted_title(pick)
    if noun == "company" and pick.chance(0.25):
        return proper(pick.pick(lexicon.COMPANIES))
    node = common("the", noun, *_adjective(pick))
    events = [event for event in lexicon.HAPPENINGS if noun in (event.agent, event.theme)]
    if events and pick.chance(0.2):
        return phrase("NP", node, relative(pick, pick.pick(events), noun, plain))
    if noun in ("whale", "bird", "language", "game") or not pick.chance(modified):
        return node
    if label == "ENTY:cremat" and pick.chance(0.6):
        return phrase("NP", node, topic(pick))
    if label.startswith("LOC"):
        return phrase("NP", node, preposed("near", proper(pick.pick(lexicon.CITIES))))
    return phrase("NP", node, preposed("from", place_name(pick)))


def when_or_where(pick: Chooser, event: Happening | None = None) -> list[Node]:
    """Now and then *in Vienna* or *in 1927*; no place where the theme is one."""
    if pick.chance(0.6):
        return []
    if event and not is_place(event.theme) and pick.chance(0.5):
        return [preposed("in", place_name(pick))]
    return [preposed("in", phrase("NP", word(pick.pick(lexicon.YEARS), "CD")))]


def relative(pick: Chooser, event: Happening, asked: str, other: Entity) -> Node:
    """*who wrote the novel*, *that the author wrote*.

    Args:
        pick: The source of chance.
        event: What happened.
        asked: Its agent or theme, the noun that the clause follows.
        other: Makes the phrase for the other participant.
    """
    if asked == event.agent:
        human = lexicon.CLASSES[asked] == "HUM:ind"
        who = phrase("WHNP", word("who", "WP") if human else word("that", "WDT")).to("nsubj")
        theme = other(pick, event.theme).to("dobj")
        done = phrase("VP", verb(event.verb, "past"), theme, *when_or_where(pick, event))
        return phrase("SBAR", who, phrase("S", done)).to("relcl")
    that = phrase("WHNP", word("that", "WDT")).to("dobj")
    predicate = phrase("VP", verb(event.verb, "past"), *when_or_where(pick, event))
    clause = phrase("S", other(pick, event.agent).to("nsubj"), predicate)
    return phrase("SBAR", that, clause).to("relcl")


def plain(pick: Chooser, noun: str) -> Node:
    """*the novel*, *the famous author*."""
    return common("the", noun, *_adjective(pick))


def subject_clause(pick: Chooser, event: Happening) -> Node:
    """*wrote the novel about the sea in 1927*."""
    theme = entity(pick, event.theme).to("dobj")
    return phrase("VP", verb(event.verb, "past"), theme, *when_or_where(pick, event))


def passive(pick: Chooser, event: Happening) -> Node:
    """*was written by the author from Oslo*."""
    agent = phrase("PP", word("by", "IN"), entity(pick, event.agent).to("pobj")).to("agent")
    participle = phrase(
        "VP", verb(event.verb, "past participle"), agent, *when_or_where(pick, event)
    )
    return phrase("VP", verb("be", "past").to("auxpass"), participle)


def inverted(subject: Node, *predicate: Node) -> Node:
    """*did the author write ...* from subject and bare verb phrase."""
    bare = phrase("VP", *predicate)
    return phrase("SQ", word("did", "VBD", "do").to("aux"), subject.to("nsubj"), bare)


def copular(subject: Node, form: str = "present") -> Node:
    """*is the capital of Peru*."""
    return phrase("SQ", verb("be", form), subject.to("nsubj"))


def direct(wh_phrase: Node, inversion: Node) -> Node:
    """A whole question from its fronted phrase and the rest."""
    return phrase("SBARQ", wh_phrase, inversion, QUESTION_MARK)


def wh_word(form: str, relation: str) -> Node:
    """*what*, *who* alone."""
    return phrase("WHNP", word(form, "WP")).to(relation)


def wh_noun(pick: Chooser, noun: str, relation: str) -> Node:
    """*what author*, *which novel*."""
    determiner = word(pick.pick(("what", "which", "what")), "WDT").to("det")
    return phrase("WHNP", determiner, word(noun, "NN")).to(relation)


def wh_adverb(*forms: str, relation: str = "advmod") -> Node:
    """*when*, *how far*."""
    if len(forms) == 1:
        return phrase("WHADVP", word(forms[0], "WRB")).to(relation)
    degree = word(forms[0], "WRB").to("advmod")
    tag = "RB" if forms[1] in ("far", "long") else "JJ"
    label = "WHADVP" if tag == "RB" else "WHADJP"
    return phrase(label, degree, word(forms[1], tag)).to(relation)
