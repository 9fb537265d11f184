"""What the reviews are about: six domains with their nouns and everyday events."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Noun:
    """A noun in one number, and the sort of thing it names (see ``lexicon``)."""

    lemma: str
    sort: str
    plural: bool = False


@dataclass(frozen=True)
class Event:
    """Something that happened, without a verdict: ``we <verb> <what> <adjunct>``.

    Attributes:
        verb: Lemma.
        what: ``"whole"``, ``"part of <sort>"``, a fixed noun phrase, or ``""``.
        adjuncts: Fixed prepositional phrases.
    """

    verb: str
    what: str
    adjuncts: tuple[str, ...]


@dataclass(frozen=True)
class Domain:
    """One kind of thing that is reviewed.

    Attributes:
        wholes: The thing itself.
        parts: What it consists of or offers.
        people: Who makes it or works there.
        audience: Who judges it (lemmas, used in the plural).
        link: Preposition between part and whole.
        origins: Neutral prepositional phrases that follow a whole.
        manner_verbs: Sort to verbs that take an adverb of manner.
        events: What people do with it.
    """

    wholes: tuple[Noun, ...]
    parts: tuple[Noun, ...]
    people: tuple[Noun, ...]
    audience: tuple[str, ...]
    link: str
    origins: tuple[str, ...]
    manner_verbs: dict[str, tuple[str, ...]]
    events: tuple[Event, ...]


def _nouns(spec: str) -> tuple[Noun, ...]:
    """``"sort: noun noun/s"``, one sort a line; ``/s`` marks plurals."""
    result = []
    for line in spec.strip().splitlines():
        sort, _, names = line.strip().partition(":")
        for name in names.split():
            lemma, _, ending = name.partition("/")
            result.append(Noun(lemma, sort, bool(ending)))
    return tuple(result)


def _events(spec: str) -> tuple[Event, ...]:
    """``"verb; what; adjunct, adjunct"``, one event a line."""
    result = []
    for line in spec.strip().splitlines():
        verb, what, adjuncts = (field.strip() for field in line.split(";"))
        result.append(Event(verb, what, tuple(a.strip() for a in adjuncts.split(","))))
    return tuple(result)


FILM = Domain(
    wholes=_nouns("story: film movie comedy thriller drama documentary sequel remake"),
    parts=_nouns(
        """story: plot script ending story dialogue acting character/s scene/s
        music: soundtrack"""
    ),
    people=_nouns("artist: director cast actor/s"),
    audience=("critic", "viewer", "fan"),
    link="of",
    origins=("about two/CD sister/NNS", "from France/NNP", "about a/DT bank/NN robbery/NN"),
    manner_verbs={"story": ("begin", "end")},
    events=_events(
        """watch; whole; on Monday/NNP, at home/NN, with two/CD friend/NNS
        see; whole; in March/NNP, at the/DT cinema/NN, after work/NN
        leave; the/DT cinema/NN; at noon/NN, after an/DT hour/NN
        discuss; part of story; for an/DT hour/NN, on the/DT train/NN
        meet; part of artist; at the/DT airport/NN, in March/NNP"""
    ),
)

BOOK = Domain(
    wholes=_nouns("story: book novel memoir biography sequel mystery"),
    parts=_nouns("story: plot ending story prose dialogue chapter/s character/s"),
    people=_nouns("artist: author narrator translator"),
    audience=("critic", "reader", "fan"),
    link="of",
    origins=("about a/DT war/NN", "about two/CD brother/NNS", "from Norway/NNP"),
    manner_verbs={"story": ("begin", "end")},
    events=_events(
        """read; whole; on the/DT train/NN, in two/CD day/NNS, after work/NN
        finish; whole; on Sunday/NNP, at home/NN, in a/DT week/NN
        buy; whole; in March/NNP, at the/DT airport/NN
        discuss; part of story; for an/DT hour/NN, with two/CD friend/NNS
        meet; part of artist; on Monday/NNP, at the/DT station/NN"""
    ),
)

RESTAURANT = Domain(
    wholes=_nouns("place: restaurant bistro diner tavern"),
    parts=_nouns(
        """food: food soup pasta dessert fish bread sauce steak pizza vegetable/s
        place: terrace
        service: service"""
    ),
    people=_nouns("staff: waiter waiter/s chef owner staff"),
    audience=("guest", "customer", "critic"),
    link="at",
    origins=("near the/DT station/NN", "by the/DT river/NN", "in the/DT old/JJ town/NN"),
    manner_verbs={},
    events=_events(
        """order; part of food; at noon/NN, on the/DT terrace/NN
        sit; ; near the/DT door/NN, by the/DT window/NN, on the/DT terrace/NN
        eat; part of food; on Monday/NNP, with two/CD friend/NNS
        leave; the/DT table/NN; after an/DT hour/NN, at noon/NN
        meet; part of staff; at the/DT station/NN, on Sunday/NNP"""
    ),
)

HOTEL = Domain(
    wholes=_nouns("place: hotel hostel inn guesthouse"),
    parts=_nouns(
        """place: room room/s lobby bathroom/s terrace garden pool
        food: breakfast
        service: service"""
    ),
    people=_nouns("staff: receptionist porter manager staff"),
    audience=("guest", "visitor", "traveller"),
    link="of",
    origins=("near the/DT station/NN", "by the/DT lake/NN", "in the/DT old/JJ town/NN"),
    manner_verbs={},
    events=_events(
        """stay; ; for two/CD night/NNS, for a/DT week/NN, near the/DT station/NN
        reserve; a/DT room/NN; for two/CD night/NNS, in March/NNP
        leave; whole; on Sunday/NNP, before noon/NN
        see; part of place; on Monday/NNP, at noon/NN
        meet; part of staff; at the/DT door/NN, after work/NN"""
    ),
)

PHONE = Domain(
    wholes=_nouns("device: phone laptop tablet camera"),
    parts=_nouns("device: screen battery keyboard speaker/s software design charger"),
    people=(),
    audience=("user", "buyer", "reviewer", "customer"),
    link="of",
    origins=("from Japan/NNP", "with two/CD battery/NNS"),
    manner_verbs={"device": ("work", "function")},
    events=_events(
        """buy; whole; in March/NNP, at the/DT airport/NN, on Monday/NNP
        test; part of device; at home/NN, for a/DT week/NN
        return; whole; after a/DT week/NN, on Sunday/NNP
        replace; the/DT battery/NN; in two/CD day/NNS, after work/NN
        replace; the/DT screen/NN; on Sunday/NNP, at home/NN"""
    ),
)

CONCERT = Domain(
    wholes=_nouns("music: album concert show record"),
    parts=_nouns(
        """music: melody/s sound singing chorus rhythm/s
        story: lyric/s"""
    ),
    people=_nouns("artist: band singer drummer pianist"),
    audience=("critic", "listener", "fan"),
    link="of",
    origins=("about the/DT sea/NN", "from Norway/NNP"),
    manner_verbs={"music": ("begin", "end")},
    events=_events(
        """hear; whole; on Monday/NNP, on the/DT train/NN, with two/CD friend/NNS
        discover; whole; in March/NNP, after work/NN
        discuss; part of music; for an/DT hour/NN, in the/DT car/NN
        meet; part of artist; at the/DT station/NN, on Sunday/NNP"""
    ),
)

DOMAINS = (FILM, BOOK, RESTAURANT, HOTEL, PHONE, CONCERT)
