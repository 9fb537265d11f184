"""How closely two scenes are related, and whether one follows from the other.

The score compares the scenes slot by slot: ``1 + 4 * weighted mean of similarities``, less 1.2 if
exactly one of them is negated, at least 1, rounded to one decimal. README.md has the tables.
"""

from __future__ import annotations

from dataclasses import replace
from math import fsum

from .lexicon import ANTONYMS
from .scenes import Scene, Thing, canonical, generalisations

WEIGHTS = {"agent": 3.0, "verb": 3.0, "patient": 2.5, "place": 1.0}
SYNONYM = 0.95
GENERALISATION = (0.85, 0.7)
SISTER = 0.4
ANTONYM = 0.4
EXCHANGED_ROLES = 0.5
ONE_SIDED_PLACE = 0.5
ADJECTIVE_ADDED = 0.05
ADJECTIVE_CHANGED = 0.15
NEGATION = 1.2


def are_antonyms(first: str, second: str) -> bool:
    first, second = canonical(first), canonical(second)
    return ANTONYMS.get(first) == second or ANTONYMS.get(second) == first


def word_similarity(first: str, second: str) -> float:
    """From 0 (unrelated) to 1 (the same word)."""
    if first == second:
        return 1.0
    if canonical(first) == canonical(second):
        return SYNONYM
    if are_antonyms(first, second):
        return ANTONYM
    above, over = generalisations(first), generalisations(second)
    for general, path in ((canonical(second), above), (canonical(first), over)):
        if general in path:
            return GENERALISATION[path.index(general)]
    return SISTER if set(above[:1]) & set(over[:1]) else 0.0


def thing_similarity(first: Thing | None, second: Thing | None) -> float:
    """Similarity of the nouns, less something for different adjectives."""
    if first is None or second is None:
        return 0.0
    similarity = word_similarity(first.noun, second.noun)
    if canonical(first.adjective) == canonical(second.adjective):
        return similarity
    both = bool(first.adjective and second.adjective)
    return max(0.0, similarity - (ADJECTIVE_CHANGED if both else ADJECTIVE_ADDED))


def _place_similarity(first: str, second: str) -> float:
    if not first or not second:
        return ONE_SIDED_PLACE
    return word_similarity(first.split()[1], second.split()[1])


def similarities(first: Scene, second: Scene) -> dict[str, float]:
    """Similarity by slot, for the slots that at least one of the scenes fills."""
    result = {
        "agent": thing_similarity(first.agent, second.agent),
        "verb": word_similarity(first.verb, second.verb),
    }
    if first.patient or second.patient:
        result["patient"] = thing_similarity(first.patient, second.patient)
    if first.patient and second.patient:
        crossed = (
            thing_similarity(first.agent, second.patient),
            thing_similarity(first.patient, second.agent),
        )
        if crossed[0] + crossed[1] > result["agent"] + result["patient"]:
            result["agent"], result["patient"] = (EXCHANGED_ROLES * value for value in crossed)
    if first.place or second.place:
        result["place"] = _place_similarity(first.place, second.place)
    return result


def score(first: Scene, second: Scene) -> float:
    """Relatedness from 1 to 5."""
    slots = similarities(first, second)
    total = fsum(WEIGHTS[slot] for slot in slots)
    mean = fsum(WEIGHTS[slot] * value for slot, value in slots.items()) / total
    value = 1 + 4 * mean - NEGATION * (first.negated != second.negated)
    return round(max(1.0, value) + 1e-9, 1)


def _word_covers(general: str, special: str) -> bool:
    return canonical(general) in (canonical(special), *generalisations(special))


def _thing_covers(general: Thing | None, special: Thing | None) -> bool:
    if general is None or special is None:
        return general is special
    kept = canonical(general.adjective) in ("", canonical(special.adjective))
    return kept and _word_covers(general.noun, special.noun)


def covers(general: Scene, special: Scene) -> bool:
    """Whether whenever ``special`` happens ``general`` does, negation left aside."""
    return (
        _thing_covers(general.agent, special.agent)
        and _thing_covers(general.patient, special.patient)
        and _word_covers(general.verb, special.verb)
        and (not general.place or _same_place(general.place, special.place))
    )


def _same_place(first: str, second: str) -> bool:
    return bool(second) and canonical(first.split()[1]) == canonical(second.split()[1])


def judgment(first: Scene, second: Scene) -> str:
    """What follows from the first: ``ENTAILMENT``, ``CONTRADICTION`` or ``NEUTRAL``."""
    if first.negated == second.negated:
        general, special = (first, second) if first.negated else (second, first)
        if covers(general, special):
            return "ENTAILMENT"
        opposed = not first.negated and are_antonyms(first.verb, second.verb)
        same_verb = replace(second, verb=first.verb)
        if opposed and (covers(first, same_verb) or covers(same_verb, first)):
            return "CONTRADICTION"
        return "NEUTRAL"
    positive, negative = (second, first) if first.negated else (first, second)
    return "CONTRADICTION" if covers(negative, positive) else "NEUTRAL"
