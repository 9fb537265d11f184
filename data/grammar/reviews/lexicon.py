"""The words with a sentiment of their own, and what they can be said of.

A sort is a kind of thing an adjective or a quality fits: story, music, food, place, device,
artist, staff, service. ``thing`` stands for all but the last three. Values run from -2 (very
negative) to 2.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.lists import listed

THINGS = frozenset({"story", "music", "food", "place", "device"})


@dataclass(frozen=True)
class Adjective:
    """An adjective.

    Attributes:
        form: The word.
        value: From -2 to 2; neutral ones only describe ("the French film").
        sorts: What it can be said of.
        graded: It is mild and forms its comparative with *more* and *less*.
    """

    form: str
    value: int
    sorts: frozenset[str]
    graded: bool


@dataclass(frozen=True)
class EffectVerb:
    """A verb for what the thing reviewed does to people, by its lemma."""

    lemma: str
    value: int
    sorts: frozenset[str]


@dataclass(frozen=True)
class Quality:
    """A noun for a good or bad property, as in *full of charm*."""

    form: str
    lemma: str
    value: int
    sorts: frozenset[str]
    plural: bool


_ADJECTIVES = """
 0 thing           new
 0 story,music     long short recent
 0 story,food      Russian
 0 story,food,music,artist,staff French
 0 place           small old local
 0 device          Japanese small old
 0 food            local simple Italian
 0 artist,staff    young
+2 thing           superb excellent wonderful perfect magnificent outstanding
+2 thing,artist    brilliant
+2 story           hilarious
+2 story,music     thrilling unforgettable
+2 food            delicious exquisite
+2 place,device    gorgeous
+2 staff,service   exemplary
+1 thing           good* impressive decent*
+1 story,music,food,place          enjoyable
+1 story,music,food,place,service  pleasant
+1 story           gripping clever witty* funny* thoughtful
+1 story,music     moving touching original
+1 music           catchy* lively* soulful
+1 food            tasty* fresh* fragrant hearty*
+1 place           clean* cosy* quiet* comfortable spacious
+1 device          reliable sturdy* elegant handy*
+1 staff,service   friendly* polite* helpful attentive
+1 artist          talented
+1 story,artist    convincing
+1 story,artist,staff charming
-1 thing           bad* disappointing mediocre poor*
-1 story,music,food,place,service  unpleasant
-1 story           shallow* silly* pretentious
-1 story,music     boring dull* predictable tedious forgettable repetitive lifeless
-1 food            bland* tasteless greasy* salty*
-1 place           dirty* noisy* cramped shabby* draughty*
-1 device          fragile unreliable flimsy* fiddly*
-1 device,service  slow*
-1 staff,service   rude* careless
-1 artist,staff    arrogant lazy* clumsy*
-1 story,artist    unconvincing
-2 thing           awful terrible dreadful horrible abysmal appalling
-2 story,music     unbearable insufferable
-2 food            disgusting inedible
-2 place           filthy
-2 device          useless
-2 artist,staff,service hopeless incompetent
"""

# Verbs whose object feels something about the subject ("the ending annoyed us").
_EFFECT_VERBS = """
+2 thing,artist,staff,service                     delight
+2 story,music,place,artist                 enchant
+1 thing,artist,staff,service                     impress please
+1 story,music,artist,staff                       amuse
-1 thing,artist,staff,service                     disappoint
-1 story,music,artist                       bore
-1 story,music,device,artist,staff,service        irritate
-1 story,music,place,device,artist,staff,service  annoy
-2 story,place,device,artist,staff,service        infuriate
-2 story,place,artist,staff,service               appal
-2 story,food,place,artist,staff                  disgust
"""

_QUALITIES = """
+1 story,artist       wit humour warmth
+1 story,music        tension depth imagination energy
+1 story,music,place  charm
+1 place              comfort character
+1 food               flavour
+1 device             power precision
+1 artist,staff,service     patience skill
+2 story,music,artist genius
-1 story,music        cliché/s nonsense repetition
-1 music,place        noise
-1 story,device       flaw/s error/s
-1 place              dust damp clutter
-1 food               grease
-1 device             bug/s glitch/es
-1 artist,staff,service     arrogance negligence mistake/s
-2 story,music        drivel
"""


def _sorts(names: str) -> frozenset[str]:
    expanded: set[str] = set()
    for name in names.split(","):
        expanded |= THINGS if name == "thing" else {name}
    return frozenset(expanded)


def _adjectives() -> dict[str, Adjective]:
    result = {}
    for line in _ADJECTIVES.strip().splitlines():
        value, sorts, *forms = line.split()
        for form in forms:
            name = form.rstrip("*")
            graded = abs(int(value)) == 1 and name == form
            result[name] = Adjective(name, int(value), _sorts(sorts), graded)
    return result


def _effect_verbs() -> dict[str, EffectVerb]:
    result = {}
    for line in _EFFECT_VERBS.strip().splitlines():
        value, sorts, *verbs = line.split()
        for lemma in verbs:
            result[lemma] = EffectVerb(lemma, int(value), _sorts(sorts))
    return result


def _qualities() -> dict[str, Quality]:
    result = {}
    for line in _QUALITIES.strip().splitlines():
        value, sorts, *entries = line.split()
        for entry in entries:
            lemma, _, ending = entry.partition("/")
            noun = Quality(lemma + ending, lemma, int(value), _sorts(sorts), bool(ending))
            result[noun.form] = noun
    return result


ADJECTIVES = _adjectives()
EFFECT_VERBS = _effect_verbs()
QUALITIES = _qualities()

# Nouns that pass a verdict on the whole ("the film is a disaster").
VERDICTS = {
    "masterpiece": 2,
    "triumph": 2,
    "marvel": 2,
    "success": 1,
    "treat": 1,
    "pleasure": 1,
    "joy": 1,
    "disappointment": -1,
    "failure": -1,
    "mess": -1,
    "letdown": -1,
    "disaster": -2,
    "nightmare": -2,
    "catastrophe": -2,
}

# Verbs whose subject feels something about the object ("we loved the soup").
FEELING_VERBS = {
    "love": 2,
    "adore": 2,
    "enjoy": 1,
    "like": 1,
    "admire": 1,
    "dislike": -1,
    "resent": -1,
    "hate": -2,
    "loathe": -2,
    "despise": -2,
}

MANNERS = {
    "well": 1,
    "nicely": 1,
    "smoothly": 1,
    "beautifully": 2,
    "brilliantly": 2,
    "badly": -1,
    "poorly": -1,
    "clumsily": -1,
    "terribly": -2,
    "dreadfully": -2,
}

# Degree words by what they combine with: mild or strong words.
INTENSIFIERS = {
    "mild": ("very", "really", "extremely", "remarkably"),
    "strong": ("absolutely", "truly", "utterly"),
}
DIMINISHERS = {"mild": ("slightly", "somewhat", "mildly"), "strong": ("almost", "nearly")}

# Adjectives of one dimension do not meet in one clause ("the polite waiter was rude").
DIMENSIONS = tuple(
    frozenset(line.split())
    for line in (
        "clean dirty filthy shabby",
        "quiet noisy",
        "spacious cramped",
        "friendly polite attentive helpful rude arrogant charming",
        "careless attentive incompetent hopeless talented lazy exemplary",
        "tasty bland tasteless delicious exquisite fragrant salty disgusting inedible",
        "reliable unreliable useless handy slow",
        "sturdy fragile flimsy",
        "convincing unconvincing",
        "gripping thrilling boring dull tedious predictable insufferable unbearable",
        "lively lifeless",
        "original predictable repetitive",
        "forgettable unforgettable",
        "thoughtful clever silly shallow pretentious witty hilarious funny",
        "comfortable cosy draughty",
        "moving touching",
        "pleasant unpleasant enjoyable",
    )
)

# Never in the scope of a negation, or of a degree word, in the training part; see README.md.
HELD_OUT_NEGATION = frozenset(
    listed(
        """excellent hilarious decent clever tasty spacious polite handy appalling insufferable
    mediocre tedious bland noisy rude flimsy"""
    )
)
HELD_OUT_DEGREE = frozenset(
    listed(
        """outstanding thrilling pleasant witty fresh comfortable helpful sturdy dreadful unbearable
    unpleasant shallow tasteless cramped arrogant fragile"""
    )
)
