"""The questions that ask for a number: count, date, money, distance, period."""

from __future__ import annotations

from ..core.chooser import Chooser
from ..core.derivation import phrase, word
from ..core.morphology import plural
from ..core.verbs import infinitive, verb
from . import lexicon
from .forms import Question
from .lexicon import HAPPENINGS
from .parts import (
    common,
    copular,
    direct,
    entity,
    inverted,
    place_name,
    preposed,
    proper,
    subject_clause,
    wh_adverb,
    wh_noun,
    wh_word,
    when_or_where,
)


def count_question(pick: Chooser) -> Question:
    """*How many novels did the author write ?*, *what is the number of bridges in Oslo ?*."""
    event = pick.pick(HAPPENINGS)
    nouns = word(plural(event.theme), "NNS", event.theme)
    if pick.chance(0.3):
        number = preposed("of", phrase("NP", phrase("NP", nouns), preposed("in", place_name(pick))))
        total = phrase("NP", common("the", "number"), number)
        return "NUM:count", direct(wh_word("what", "attr"), copular(total))
    many = phrase("WHADJP", word("how", "WRB").to("advmod"), word("many", "JJ")).to("amod")
    if pick.chance(0.3):
        nouns = word(plural(event.agent), "NNS", event.agent)
        rest = phrase("SQ", subject_clause(pick, event))
        return "NUM:count", direct(phrase("WHNP", many, nouns).to("nsubj"), rest)
    rest = inverted(entity(pick, event.agent), word(event.verb, "VB"), *when_or_where(pick, event))
    return "NUM:count", direct(phrase("WHNP", many, nouns).to("dobj"), rest)


def date_question(pick: Chooser) -> Question:
    """*When did the queen found the city ?*, *in what year did ...*."""
    event = pick.pick(HAPPENINGS)
    agent, theme = entity(pick, event.agent), entity(pick, event.theme).to("dobj")
    rest = inverted(agent, word(event.verb, "VB"), theme)
    if pick.chance(0.4):
        return "NUM:date", direct(wh_adverb("when"), rest)
    year = wh_noun(pick, pick.pick(("year", "month")), "pobj")
    return "NUM:date", direct(phrase("WHPP", word("in", "IN"), year).to("prep"), rest)


def money_question(pick: Chooser) -> Question:
    """*How much did the club pay for the museum ?*, *what is the price of the phone ?*."""
    thing = entity(pick, pick.pick(("phone", "camera", "plane", "cake", "horse", "album", "novel")))
    if pick.chance(0.5):
        price = phrase("NP", common("the", pick.pick(("price", "cost"))), preposed("of", thing))
        return "NUM:money", direct(wh_word("what", "attr"), copular(price))
    buyer = entity(pick, pick.pick(("company", "club", "airline", "queen", "farmer", "student")))
    much = phrase("WHNP", word("how", "WRB").to("advmod"), word("much", "JJ")).to("dobj")
    return "NUM:money", direct(much, inverted(buyer, word("pay", "VB"), preposed("for", thing)))


def distance_question(pick: Chooser) -> Question:
    """*How far is Oslo from Lima ?*, *how tall is the mountain near Oslo ?*."""
    if pick.chance(0.35):
        noun, adjective = pick.pick((("mountain", "high"), ("bridge", "long"), ("river", "long")))
        asked = wh_adverb("how", adjective, relation="acomp")
        return "NUM:dist", direct(asked, copular(entity(pick, noun, 0.8)))
    first, second = (proper(name) for name in pick.two(lexicon.CITIES))
    if pick.chance(0.5):
        far = wh_adverb("how", "far")
        rest = phrase("SQ", verb("be", "present"), first.to("nsubj"), preposed("from", second))
        return "NUM:dist", direct(far, rest)
    between = phrase("NP", first, word("and", "CC").to("cc"), second.to("conj"))
    distance = phrase("NP", common("the", "distance"), preposed("between", between))
    return "NUM:dist", direct(wh_word("what", "attr"), copular(distance))


def period_question(pick: Chooser) -> Question:
    """*How long did it take the chef to cook the soup ?*, *how old is the bridge ?*."""
    event = pick.pick(HAPPENINGS)
    if pick.chance(0.5):
        bare = phrase("VP", word(event.verb, "VB"), entity(pick, event.theme).to("dobj"))
        taking = phrase("S", entity(pick, event.agent).to("nsubj"), *infinitive(bare).children)
        it = phrase("NP", word("it", "PRP"))
        rest = inverted(it, word("take", "VB"), taking.to("xcomp"))
        return "NUM:period", direct(wh_adverb("how", "long"), rest)
    thing = entity(pick, pick.pick((event.agent, event.theme)), 0.8)
    if pick.chance(0.5):
        return "NUM:period", direct(wh_adverb("how", "old", relation="acomp"), copular(thing))
    age = phrase("NP", common("the", "age"), preposed("of", thing))
    return "NUM:period", direct(wh_word("what", "attr"), copular(age))
