"""Independent implementation of the rules for pairs in data/README.md, on dependency trees."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from embedded_files import Sentence, lines

WORDS = Path(__file__).resolve().parents[2] / "data" / "relatedness" / "words.tsv"
ROWS = [row.split("\t") for row in lines(WORDS)[1:]]
SYNONYMS, HYPERNYMS, ANTONYMS = (
    {word: other for word, relation, other in ROWS if relation == name}
    for name in ("synonym", "hypernym", "antonym")
)

WEIGHTS = {"agent": 3, "action": 3, "patient": Fraction(5, 2), "place": 1}


class Event(NamedTuple):
    """Nouns with their adjective (or ``""``), ``None`` if there is none."""

    agent: tuple[str, str]
    action: str
    patient: tuple[str, str] | None
    place: str
    negated: bool


def event_of(sentence: Sentence) -> Event:
    """The scene that a dependency tree describes."""
    words = sentence.words

    def below(at: int, *relations: str) -> list[int]:
        return [i for i, w in enumerate(words) if w.head == at + 1 and w.relation in relations]

    def thing(at: int) -> tuple[str, str]:
        adjectives = [words[i].lemma for i in below(at, "amod")]
        return words[at].lemma, adjectives[0] if adjectives else ""

    action = next(i for i, word in enumerate(words) if word.relation == "root")
    subjects = below(action, "nsubj")
    if below(action, "expl"):  # there is a man playing a guitar
        subjects = below(action, "attr")
        (action,) = below(subjects[0], "acl")
    by = [i for agent in below(action, "agent") for i in below(agent, "pobj")]
    patients = below(action, "dobj", "nsubjpass")
    places = [i for place in below(action, "prep") for i in below(place, "pobj")]
    (agent,) = subjects or by
    nobody = words[agent].lemma == "nobody"
    none = any(words[i].lemma == "no" for i in below(agent, "det"))
    return Event(
        ("person", "") if nobody else thing(agent),
        words[action].lemma,
        thing(patients[0]) if patients else None,
        words[places[0]].lemma if places else "",
        nobody or none or bool(below(action, "neg")),
    )


def _base(word: str) -> str:
    return SYNONYMS.get(word, word)


def _above(word: str) -> list[str]:
    general = HYPERNYMS.get(_base(word))
    return [general, *_above(general)] if general else []


def _opposite(first: str, second: str) -> bool:
    return any({_base(first), _base(second)} == {*pair} for pair in ANTONYMS.items())


def _word(first: str, second: str) -> Fraction:
    if first == second:
        return Fraction(1)
    if _base(first) == _base(second):
        return Fraction(95, 100)
    steps = {1: Fraction(85, 100), 2: Fraction(70, 100)}
    for special, general in ((first, second), (second, first)):
        if _base(general) in _above(special):
            return steps[_above(special).index(_base(general)) + 1]
    sisters = _above(first) and _above(second) and _above(first)[0] == _above(second)[0]
    return Fraction(40, 100) if sisters or _opposite(first, second) else Fraction(0)


def _participant(first: tuple[str, str] | None, second: tuple[str, str] | None) -> Fraction:
    if not first or not second:
        return Fraction(0)
    loss = Fraction(0)
    if _base(first[1]) != _base(second[1]):
        loss = Fraction(15, 100) if first[1] and second[1] else Fraction(5, 100)
    return max(Fraction(0), _word(first[0], second[0]) - loss)


def expected_score(first: Event, second: Event) -> Fraction:
    """The score before rounding."""
    slots = {
        "agent": _participant(first.agent, second.agent),
        "action": _word(first.action, second.action),
    }
    if first.patient or second.patient:
        slots["patient"] = _participant(first.patient, second.patient)
    if first.patient and second.patient:
        crosswise = [
            _participant(first.agent, second.patient),
            _participant(first.patient, second.agent),
        ]
        if sum(crosswise) > slots["agent"] + slots["patient"]:
            slots["agent"], slots["patient"] = crosswise[0] / 2, crosswise[1] / 2
    if first.place or second.place:
        both = first.place and second.place
        slots["place"] = _word(first.place, second.place) if both else Fraction(1, 2)
    total = sum(WEIGHTS[slot] for slot in slots)
    mean = sum(WEIGHTS[slot] * value for slot, value in slots.items()) / total
    loss = Fraction(12, 10) if first.negated != second.negated else 0
    return max(Fraction(1), 1 + 4 * mean - loss)


def _is_a(special: str, general: str) -> bool:
    return _base(general) in [_base(special), *_above(special)]


def _case_of(special: Event, general: Event, compare_action: bool = True) -> bool:
    if compare_action and not _is_a(special.action, general.action):
        return False
    for one, other in ((special.agent, general.agent), (special.patient, general.patient)):
        if (one is None) != (other is None):
            return False
        if one and other:
            if not _is_a(one[0], other[0]):
                return False
            if other[1] and _base(other[1]) != _base(one[1]):
                return False
    return not general.place or _base(general.place) == _base(special.place)


def expected_judgment(first: Event, second: Event) -> str:
    if first.negated and second.negated:
        return "ENTAILMENT" if _case_of(second, first) else "NEUTRAL"
    if first.negated != second.negated:
        positive, negative = (second, first) if first.negated else (first, second)
        return "CONTRADICTION" if _case_of(positive, negative) else "NEUTRAL"
    if _case_of(first, second):
        return "ENTAILMENT"
    rest = _case_of(first, second, False) or _case_of(second, first, False)
    return "CONTRADICTION" if rest and _opposite(first.action, second.action) else "NEUTRAL"
