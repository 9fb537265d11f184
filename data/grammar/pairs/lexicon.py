"""What happens in the sentence pairs: who can do what to whom, and how the words are related."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.lists import listed

# Word: the word it may be replaced by without a change of meaning.
SYNONYMS = {
    "kid": "child",
    "cook": "chef",
    "bicycle": "bike",
    "automobile": "car",
    "lorry": "truck",
    "road": "street",
    "yard": "garden",
    "embrace": "hug",
    "toss": "throw",
    "repair": "fix",
    "shut": "close",
    "sketch": "draw",
    "wash": "clean",
    "pursue": "chase",
    "hop": "jump",
    "little": "small",
    "large": "big",
}

# Word: the more general word.
HYPERNYMS = {
    "man": "person",
    "woman": "person",
    "child": "person",
    "boy": "child",
    "girl": "child",
    "chef": "person",
    "musician": "person",
    "guitarist": "musician",
    "dog": "animal",
    "cat": "animal",
    "horse": "animal",
    "puppy": "dog",
    "kitten": "cat",
    "guitar": "instrument",
    "flute": "instrument",
    "violin": "instrument",
    "tomato": "vegetable",
    "onion": "vegetable",
    "carrot": "vegetable",
    "ball": "toy",
    "kite": "toy",
    "bike": "vehicle",
    "car": "vehicle",
    "truck": "vehicle",
    "slice": "cut",
    "chop": "cut",
    "jog": "run",
    "sprint": "run",
}

ANTONYMS = {
    "open": "close",
    "push": "pull",
    "lift": "lower",
    "fill": "empty",
}

_PEOPLE = "man woman child kid boy girl person"
_ANIMALS = "dog cat horse puppy kitten animal"


@dataclass(frozen=True)
class Action:
    """A verb with what may stand in its slots.

    Attributes:
        agents: Nouns that do it.
        verbs: Verbs with these slots.
        patients: Nouns it is done to; empty if it is done to nothing.
        places: Where it happens (``preposition noun``).
    """

    agents: tuple[str, ...]
    verbs: tuple[str, ...]
    patients: tuple[str, ...]
    places: tuple[str, ...]


def _action(agents: str, verbs: str, patients: str, places: str) -> Action:
    return Action(
        tuple(agents.split()),
        tuple(verbs.split()),
        tuple(patients.split()),
        tuple(place.strip() for place in places.split(",")),
    )


ACTIONS = (
    _action(
        _PEOPLE + " musician guitarist",
        "play",
        "guitar flute violin instrument",
        "in park, in street, on stage, near lake",
    ),
    _action(
        _PEOPLE + " chef cook",
        "slice chop cut peel",
        "tomato onion carrot vegetable",
        "in kitchen, at table",
    ),
    _action(_PEOPLE, "ride", "bike bicycle horse", "in street, on road, on beach, in park"),
    _action(
        _PEOPLE, "throw toss catch kick", "ball toy", "in garden, in yard, on beach, in park"
    ),
    _action(
        _PEOPLE + " " + _ANIMALS,
        "chase pursue follow watch",
        _PEOPLE + " " + _ANIMALS,
        "in garden, in yard, on beach, in street",
    ),
    _action(_PEOPLE, "hug embrace", _PEOPLE + " " + _ANIMALS, "in kitchen, in park, at door"),
    _action(_PEOPLE, "feed", _ANIMALS, "in kitchen, in park, at lake"),
    _action(
        _PEOPLE, "push pull fix repair", "bike bicycle car automobile truck lorry vehicle",
        "in street, on road, in garden",
    ),
    _action(_PEOPLE, "open close shut", "door window box", "in kitchen, in house"),
    _action(_PEOPLE, "lift lower fill empty carry", "box bag bucket", "in kitchen, in street"),
    _action(
        _PEOPLE,
        "wash clean",
        "car truck bike vehicle dog horse animal",
        "in street, in yard, near lake",
    ),
    _action(_PEOPLE + " chef", "wash clean break", "plate cup window", "in kitchen, at table"),
    _action(_PEOPLE, "draw sketch", "picture tree house", "on beach, at table, in park"),
    _action(_PEOPLE, "paint", "wall door fence house", "in garden, in street"),
    _action(_PEOPLE + " " + _ANIMALS, "run jump hop", "", "in park, on beach, near lake"),
    _action(_PEOPLE + " " + _ANIMALS, "sleep", "", "in garden, in yard, in house, on beach"),
    _action(_PEOPLE + " " + _ANIMALS, "swim", "", "in lake, in pool, in river"),
    _action(_PEOPLE, "jog sprint dance sing", "", "in park, on beach, in street, on road"),
)  # fmt: skip

ADJECTIVES = {
    "person": ["young", "old", "tall"],
    "child": listed("little small tall young"),
    "animal": listed("small little brown black"),
    "thing": listed("red white big large old"),
}
