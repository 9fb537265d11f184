"""The forms of the questions: each makes a derivation and knows its class."""

from __future__ import annotations

from ..core.chooser import Chooser
from ..core.derivation import FRONTED, STRANDED, Node, phrase, word
from ..core.verbs import infinitive, verb
from . import lexicon
from .lexicon import CLASSES, HAPPENINGS
from .parts import (
    QUESTION_MARK,
    common,
    copular,
    direct,
    entity,
    inverted,
    is_place,
    passive,
    person,
    place_name,
    preposed,
    proper,
    relative,
    subject_clause,
    wh_adverb,
    wh_noun,
    wh_word,
    when_or_where,
)

Question = tuple[str, Node]


def _event(pick: Chooser) -> lexicon.Happening:
    return pick.pick(HAPPENINGS)


def subject_question(pick: Chooser) -> Question:
    """*What author wrote the novel ?*, *which poem was written by the student ?*."""
    event = _event(pick)
    if pick.chance(0.5):
        rest, noun, relation = subject_clause(pick, event), event.agent, "nsubj"
    else:
        rest, noun, relation = passive(pick, event), event.theme, "nsubjpass"
    return CLASSES[noun], direct(wh_noun(pick, noun, relation), phrase("SQ", rest))


def object_question(pick: Chooser) -> Question:
    """*What novel did the author from Oslo write ?*."""
    event = _event(pick)
    rest = inverted(entity(pick, event.agent), word(event.verb, "VB"), *when_or_where(pick, event))
    return CLASSES[event.theme], direct(wh_noun(pick, event.theme, "dobj"), rest)


def in_situ_question(pick: Chooser) -> Question:
    """*The author from Oslo wrote what novel ?*."""
    event = _event(pick)
    theme = phrase("NP", word("what", "WDT").to("det"), word(event.theme, "NN")).to("dobj")
    predicate = phrase("VP", verb(event.verb, "past"), theme, *when_or_where(pick, event))
    node = phrase("S", entity(pick, event.agent).to("nsubj"), predicate, QUESTION_MARK)
    return CLASSES[event.theme], node


def name_question(pick: Chooser) -> Question:
    """*What is the name of the author who wrote the novel ?*, *name the city that ...*."""
    event = _event(pick)
    asked = pick.pick((event.agent, event.theme))
    thing = phrase("NP", common("the", asked), relative(pick, event, asked, entity))
    if pick.chance(0.3):
        command = phrase("VP", word("name", "VB"), thing.to("dobj"))
        return CLASSES[asked], phrase("S", command, word(".", ".").to("punct"))
    name = phrase("NP", common("the", "name"), preposed("of", thing))
    return CLASSES[asked], direct(wh_word("what", "attr"), copular(name))


def place_question(pick: Chooser) -> Question:
    """*In what city did the author write the novel ?*, *where did ...*."""
    event = pick.pick([event for event in HAPPENINGS if not is_place(event.theme)])
    agent, theme = entity(pick, event.agent), entity(pick, event.theme, 0.3).to("dobj")
    rest = inverted(agent, word(event.verb, "VB"), theme)
    noun = pick.pick(("city", "town", "country", ""))
    if not noun:
        return "LOC:other", direct(wh_adverb("where"), rest)
    asked = wh_noun(pick, noun, "pobj")
    fronted = phrase("WHPP", word("in", "IN"), asked).to("prep")
    return CLASSES[noun], direct(fronted, rest)


def superlative_question(pick: Chooser) -> Question:
    """*What is the oldest bridge in Peru ?*, *what is the capital of Norway ?*."""
    if pick.chance(0.25):
        capital = phrase("NP", common("the", "capital"), preposed("of", _country(pick)))
        return "LOC:city", direct(wh_word("what", "attr"), copular(capital))
    noun = pick.pick(
        [noun for noun, label in CLASSES.items() if label[-4:] not in ("lang", "olor")]
    )
    form = pick.pick(tuple(lexicon.SUPERLATIVES))
    if CLASSES[noun].startswith(("HUM", "ENTY:cremat", "ENTY:sport")):
        form = "oldest"
    elif noun in lexicon.NATURAL:
        form = pick.pick(("largest", "smallest"))
    superlative = word(form, "JJS", lexicon.SUPERLATIVES[form]).to("amod")
    thing = phrase("NP", common("the", noun, superlative), preposed("in", place_name(pick)))
    asked = "who" if CLASSES[noun] == "HUM:ind" else "what"
    return CLASSES[noun], direct(wh_word(asked, "attr"), copular(thing))


def _country(pick: Chooser) -> Node:
    return proper(pick.pick(lexicon.COUNTRIES))


def property_question(pick: Chooser) -> Question:
    """*What colour is the horse ?*, *what is the official language of Peru ?*."""
    if pick.chance(0.35):
        official = word("official", "JJ").to("amod")
        language = phrase("NP", common("the", "language", official), preposed("of", _country(pick)))
        return "ENTY:lang", direct(wh_word("what", "attr"), copular(language))
    noun = pick.pick(("horse", "bird", "dog", "bridge", "phone", "plane", "fruit", "sauce"))
    if pick.chance(0.5):
        colour = phrase("NP", common("the", "colour"), preposed("of", entity(pick, noun, 0.7)))
        return "ENTY:color", direct(wh_word("what", "attr"), copular(colour))
    asked = wh_noun(pick, "colour", "attr")
    return "ENTY:color", direct(asked, copular(entity(pick, noun, 0.7)))


def who_question(pick: Chooser) -> Question:
    """*Who wrote the novel ?*, *who is Anna Keller ?*, *what is the job of Anna Keller ?*."""
    kind = pick.weighted([(0.6, "agent"), (0.2, "description"), (0.2, "title")])
    if kind == "agent":
        people = [event for event in HAPPENINGS if CLASSES[event.agent] == "HUM:ind"]
        clause = subject_clause(pick, pick.pick(people))
        return "HUM:ind", direct(wh_word("who", "nsubj"), phrase("SQ", clause))
    if kind == "description":
        return "HUM:desc", direct(wh_word("who", "attr"), copular(person(pick)))
    job = phrase(
        "NP", common("the", pick.pick(("job", "profession"))), preposed("of", person(pick))
    )
    return "HUM:title", direct(wh_word("what", "attr"), copular(job))


def definition_question(pick: Chooser) -> Question:
    """*What is a glacier ?*, *what is the meaning of the word sonnet ?*."""
    term = pick.pick(lexicon.TERMS)
    if pick.chance(0.4):
        return "DESC:def", direct(wh_word("what", "attr"), copular(common("a", term)))
    quoted = phrase(
        "NP", word("the", "DT").to("det"), word("word", "NN"), word(term, "NN").to("appos")
    )
    if pick.chance(0.5):
        meaning = phrase("NP", common("the", "meaning"), preposed("of", quoted))
        return "DESC:def", direct(wh_word("what", "attr"), copular(meaning))
    does = word("does", "VBZ", "do").to("aux")
    bare = phrase("VP", word("mean", "VB"))
    return "DESC:def", direct(wh_word("what", "dobj"), phrase("SQ", does, quoted.to("nsubj"), bare))


def description_question(pick: Chooser) -> Question:
    """*What is the history of the bridge near Oslo ?*, *what happened to the queen ?*."""
    kind = pick.pick(("noun", "happened", "do"))
    if kind == "noun":
        product = pick.chance(0.5)
        noun = pick.pick(("purpose", "origin")) if product else "history"
        wanted = "ENTY:product" if product else "LOC"
        things = [thing for thing in CLASSES if CLASSES[thing].startswith(wanted)]
        history = phrase("NP", common("the", noun), preposed("of", entity(pick, pick.pick(things))))
        return "DESC:desc", direct(wh_word("what", "attr"), copular(history))
    if kind == "happened":
        event = _event(pick)
        thing = entity(pick, pick.pick((event.agent, event.theme)), 0.7)
        to_thing = phrase("PP", word("to", "IN"), thing.to("pobj")).to("prep")
        happened = phrase("VP", word("happened", "VBD", "happen"), to_thing, *when_or_where(pick))
        return "DESC:desc", direct(wh_word("what", "nsubj"), phrase("SQ", happened))
    agent = entity(pick, pick.pick(HAPPENINGS).agent)
    return "DESC:desc", direct(
        wh_word("what", "dobj"), inverted(agent, word("do", "VB"), preposed("in", place_name(pick)))
    )


def reason_question(pick: Chooser) -> Question:
    """*Why did the queen visit the town ?*, *what made the queen visit the town ?*."""
    event = _event(pick)
    agent, theme = entity(pick, event.agent), entity(pick, event.theme).to("dobj")
    if pick.chance(0.5):
        return "DESC:reason", direct(
            wh_adverb("why"), inverted(agent, word(event.verb, "VB"), theme)
        )
    bare = phrase("S", agent.to("nsubj"), phrase("VP", word(event.verb, "VB"), theme)).to("ccomp")
    made = phrase("VP", word("made", "VBD", "make"), bare)
    return "DESC:reason", direct(wh_word("what", "nsubj"), phrase("SQ", made))


def manner_question(pick: Chooser) -> Question:
    """*How did the chef cook the soup ?*, *what is the best way to cook a soup ?*."""
    event = _event(pick)
    if pick.chance(0.5):
        agent, theme = entity(pick, event.agent), entity(pick, event.theme).to("dobj")
        rest = inverted(agent, word(event.verb, "VB"), theme)
        return "DESC:manner", direct(wh_adverb("how"), rest)
    bare = phrase("VP", word(event.verb, "VB"), common("a", event.theme).to("dobj"))
    best = word("best", "JJS", "good").to("amod")
    way = phrase("NP", common("the", "way", best), infinitive(bare).to("relcl"))
    return "DESC:manner", direct(wh_word("what", "attr"), copular(way))


def expansion_question(pick: Chooser) -> Question:
    """*What does GPS stand for ?*, *what is the full form of GPS ?*."""
    short = proper(pick.pick(tuple(lexicon.ABBREVIATIONS)))
    if pick.chance(0.5):
        does = word("does", "VBZ", "do").to("aux")
        stranded = phrase("PP", word("for", "IN", slot=STRANDED)).to("prep")
        rest = phrase("SQ", does, short.to("nsubj"), phrase("VP", word("stand", "VB"), stranded))
        return "ABBR:exp", direct(wh_word("what", FRONTED + "pobj"), rest)
    kind = pick.pick((("full", "form"), ("full", "name"), ("long", "form")))
    form = common("the", kind[1], word(kind[0], "JJ").to("amod"))
    return "ABBR:exp", direct(
        wh_word("what", "attr"), copular(phrase("NP", form, preposed("of", short)))
    )


def abbreviation_question(pick: Chooser) -> Question:
    """*What is the abbreviation for global positioning system ?*."""
    long_form = pick.pick(tuple(lexicon.ABBREVIATIONS.values())).split()
    leaves = [word(form, "NN").to("compound") for form in long_form[:-1]]
    expansion = phrase("NP", *leaves, word(long_form[-1], "NN"))
    kind = pick.pick((("abbreviation", "for"), ("abbreviation", "of"), ("acronym", "for")))
    short = phrase("NP", common("the", kind[0]), preposed(kind[1], expansion))
    return "ABBR:abb", direct(wh_word("what", "attr"), copular(short))
