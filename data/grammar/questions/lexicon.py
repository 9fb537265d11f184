"""Nouns, names and events of the questions.

Every noun has the class of the question that asks for it (*what author ...*: ``HUM:ind``). The
class names are those of the TREC question set. People, companies and titles are invented.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.lists import listed


@dataclass(frozen=True)
class Happening:
    """Who did what: the lemmas of agent, verb and theme; where it may have happened."""

    agent: str
    verb: str
    theme: str


CLASSES = {
    noun: label
    for label, nouns in {
        "HUM:ind": "author director singer painter chef architect explorer scientist queen baker "
        "pilot farmer student sailor composer",
        "HUM:gr": "company orchestra airline team club",
        "LOC:city": "city town",
        "LOC:country": "country kingdom",
        "LOC:mount": "mountain volcano",
        "LOC:other": "island museum bridge river desert lake theatre",
        "ENTY:cremat": "novel poem film song album portrait symphony opera",
        "ENTY:food": "soup sauce cake dish fruit cheese",
        "ENTY:animal": "bird horse whale dog",
        "ENTY:product": "phone camera engine telescope plane",
        "ENTY:sport": "sport game",
        "ENTY:lang": "language",
        "ENTY:color": "colour",
    }.items()
    for noun in nouns.split()
}

HAPPENINGS = tuple(
    Happening(*line.split())
    for line in """
    author write novel
    author write poem
    student translate poem
    director make film
    director admire opera
    singer record album
    singer write song
    composer write symphony
    composer write opera
    orchestra perform symphony
    orchestra perform opera
    painter paint portrait
    painter draw horse
    chef cook soup
    chef invent sauce
    chef buy cheese
    baker sell cake
    baker invent dish
    farmer raise horse
    farmer grow fruit
    farmer buy dog
    architect design museum
    architect build bridge
    architect design theatre
    explorer discover island
    explorer cross desert
    explorer climb mountain
    explorer climb volcano
    sailor follow whale
    sailor cross lake
    pilot cross river
    pilot repair plane
    airline buy plane
    company build phone
    company sell camera
    company make engine
    scientist invent telescope
    scientist repair engine
    scientist study bird
    scientist study volcano
    queen found city
    queen rule country
    queen visit kingdom
    queen visit town
    team play game
    team visit theatre
    club buy museum
    student study language
    """.strip().splitlines()
)

FIRST_NAMES = listed("Anna Victor Clara Hugo Nadia Oscar Irene Felix")
LAST_NAMES = listed("Keller Moreau Lindgren Okoye Petrov Tamura Alvarez Novak")
CITIES = listed("Lisbon Oslo Vienna Lima Nairobi Kyoto Prague Dublin")
COUNTRIES = listed("Norway Peru Kenya Japan Portugal Austria Chile Iceland")
COMPANIES = listed("Velora Kestrel Tamaris Orbex")
YEARS = listed("1871 1889 1904 1912 1927 1936 1948 1953 1969 1984 1991 2003")
TITLES = tuple(
    tuple(title.split())
    for title in ("The Glass Harbour", "A Winter Garden", "The Last Ferry", "Silent Fields")
)
ADJECTIVES = ["famous", "old", "new"]
SUPERLATIVES = {"oldest": "old", "largest": "large", "smallest": "small", "newest": "new"}
TOPICS = ("about/IN the/DT sea/NN", "about/IN a/DT war/NN", "about/IN two/CD sister/NNS")

# Not made by anybody, so never new.
NATURAL = frozenset(listed("mountain volcano island river desert lake"))

# Abbreviation: what it stands for.
ABBREVIATIONS = {
    "DVD": "digital versatile disc",
    "GPS": "global positioning system",
    "LED": "light emitting diode",
    "CPU": "central processing unit",
    "PDF": "portable document format",
    "FAQ": "frequently asked question",
    "ATM": "automated teller machine",
    "RAM": "random access memory",
    "UFO": "unidentified flying object",
    "VAT": "value added tax",
    "HIV": "human immunodeficiency virus",
    "CEO": "chief executive officer",
}
TERMS = listed(
    """ferry sequel glacier tenor turbine compass sonnet pension monsoon fossil orchard lantern
    harbour cellar anthem tunnel comet vineyard"""
)
