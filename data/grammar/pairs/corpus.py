"""The sentence pairs: a scene, a changed scene, and a sentence for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..core.chooser import Chooser
from ..core.derivation import Node, words
from ..core.morphology import finish
from . import lexicon
from .relatedness import judgment, score
from .scenes import Scene, Thing, adjectives_of, canonical, generalisations, random_scene, realised

SIZES = {"train": 1000, "dev": 150, "test": 300}

Change = Callable[[Chooser, Scene], "Scene | None"]


def _synonym(pick: Chooser, name: str) -> str:
    group = [word for word, base in lexicon.SYNONYMS.items() if base == canonical(name)]
    others = [word for word in (*group, canonical(name)) if word != name]
    return pick.pick(others) if others else name


def _action_of(pick: Chooser, scene: Scene) -> lexicon.Action | None:
    """An action of the scene's kind, if the lexicon has one for these very words."""
    patient = scene.patient.noun if scene.patient else None
    actions = [
        action
        for action in lexicon.ACTIONS
        if scene.verb in action.verbs
        and scene.agent.noun in action.agents
        and (patient in action.patients if patient else not action.patients)
    ]
    return pick.pick(actions) if actions else None


def reworded(pick: Chooser, scene: Scene) -> Scene:
    """Synonyms here and there; the meaning stays."""

    def swap(name: str) -> str:
        return _synonym(pick, name) if name and pick.chance(0.6) else name

    def thing(current: Thing) -> Thing:
        return Thing(swap(current.noun), swap(current.adjective))

    patient = thing(scene.patient) if scene.patient else None
    return replace(scene, agent=thing(scene.agent), verb=swap(scene.verb), patient=patient)


def generalised(pick: Chooser, scene: Scene) -> Scene | None:
    """A more general word or fewer details."""
    options = []
    for slot in ("agent", "patient"):
        thing = getattr(scene, slot)
        if thing and generalisations(thing.noun):
            general = Thing(generalisations(thing.noun)[0])
            options.append(replace(scene, **{slot: general}))
        if thing and thing.adjective:
            options.append(replace(scene, **{slot: Thing(thing.noun)}))
    if generalisations(scene.verb):
        options.append(replace(scene, verb=generalisations(scene.verb)[0]))
    if scene.place and scene.patient:
        options.append(replace(scene, place=""))
    return pick.pick(options) if options else None


def specialised(pick: Chooser, scene: Scene) -> Scene | None:
    """More details: *in the park*, *red*."""
    action = _action_of(pick, scene)
    if action and not scene.place:
        return replace(scene, place=pick.pick(action.places))
    if scene.patient and not scene.patient.adjective:
        red = pick.pick(adjectives_of(scene.patient.noun))
        return replace(scene, patient=Thing(scene.patient.noun, red))
    return None


def negated(pick: Chooser, scene: Scene) -> Scene:
    return replace(scene, negated=True)


def opposed(pick: Chooser, scene: Scene) -> Scene | None:
    """The opposite action: *opening*, *closing*."""
    pairs = lexicon.ANTONYMS | {second: first for first, second in lexicon.ANTONYMS.items()}
    verb = pairs.get(canonical(scene.verb))
    return replace(scene, verb=verb) if verb else None


def exchanged(pick: Chooser, scene: Scene) -> Scene | None:
    """Agent and patient change roles."""
    action = _action_of(pick, scene)
    if action is None or scene.patient is None or scene.patient.noun not in action.agents:
        return None
    return replace(scene, agent=scene.patient, patient=scene.agent)


def changed(pick: Chooser, scene: Scene) -> Scene | None:
    """One slot filled otherwise: another agent, verb, patient or place."""
    action = _action_of(pick, scene)
    if action is None:
        return None
    slot = pick.pick(("agent", "verb", "patient", "place"))
    if slot == "agent":
        new = replace(scene, agent=Thing(pick.pick(action.agents)))
    elif slot == "verb":
        new = replace(scene, verb=pick.pick(action.verbs))
    elif slot == "patient" and scene.patient:
        new = replace(scene, patient=Thing(pick.pick(action.patients)))
    else:
        new = replace(scene, place=pick.pick(action.places))
    clash = new.patient and canonical(new.patient.noun) == canonical(new.agent.noun)
    return None if clash else new


def same_participant(pick: Chooser, scene: Scene) -> Scene | None:
    """Another scene with the same agent."""
    other = random_scene(pick)
    new = replace(other, agent=scene.agent)
    clash = other.patient and canonical(other.patient.noun) == canonical(scene.agent.noun)
    return new if _action_of(pick, new) and not clash else None


def unrelated(pick: Chooser, scene: Scene) -> Scene:
    return random_scene(pick)


_CHANGES: list[tuple[float, tuple[Change, ...]]] = [
    (12, (reworded,)),
    (10, (generalised,)),
    (5, (generalised, reworded)),
    (3, (generalised, generalised)),
    (6, (specialised,)),
    (8, (negated,)),
    (4, (reworded, negated)),
    (4, (generalised, negated)),
    (4, (opposed,)),
    (12, (exchanged,)),
    (12, (changed,)),
    (9, (changed, changed)),
    (7, (same_participant,)),
    (8, (unrelated,)),
]


@dataclass(frozen=True)
class Pair:
    """Two finished sentences with their scenes."""

    nodes: tuple[Node, Node]
    scenes: tuple[Scene, Scene]

    @property
    def texts(self) -> tuple[str, str]:
        first, second = (" ".join(words(node)) for node in self.nodes)
        return first, second

    @property
    def score(self) -> float:
        return score(*self.scenes)

    @property
    def judgment(self) -> str:
        return judgment(*self.scenes)


def _draw(pick: Chooser) -> Pair | None:
    first = random_scene(pick)
    second: Scene | None = first
    for change in pick.weighted(_CHANGES):
        second = change(pick, second) if second else None
    if second is None:
        return None
    if pick.chance(0.4):
        first, second = second, first
    nodes = (finish(realised(pick, first)), finish(realised(pick, second)))
    pair = Pair(nodes, (first, second))
    return None if pair.texts[0] == pair.texts[1] else pair


def make_pairs(seed: int) -> dict[str, list[Pair]]:
    """The parts ``train``, ``dev`` and ``test``.

    No sentence is in two of them; all words of the last two occur in the first.
    """
    pick = Chooser(seed)
    known: set[str] = set()
    elsewhere: set[str] = set()
    parts: dict[str, list[Pair]] = {}
    for name, size in SIZES.items():
        part: dict[tuple[str, str], Pair] = {}
        while len(part) < size:
            pair = _draw(pick)
            if pair is None or elsewhere.intersection(pair.texts):
                continue
            if name == "train" or known.issuperset(" ".join(pair.texts).split()):
                part[pair.texts] = pair
        elsewhere.update(text for texts in part for text in texts)
        if name == "train":
            known = set(" ".join(elsewhere).split())
        parts[name] = list(part.values())
    return parts
