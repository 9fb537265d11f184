"""Scenes: the meaning of one sentence of a pair, and its realisations in English."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.chooser import Chooser
from ..core.derivation import Node, phrase, word
from ..core.verbs import verb
from . import lexicon


@dataclass(frozen=True)
class Thing:
    """A participant: a noun, perhaps with an adjective."""

    noun: str
    adjective: str = ""


@dataclass(frozen=True)
class Scene:
    """Who does what to whom, and where.

    Attributes:
        agent: Who does it.
        verb: Lemma.
        patient: Whom it is done to, if anybody.
        place: ``preposition noun``, or ``""``.
        negated: Nobody of that kind does it.
    """

    agent: Thing
    verb: str
    patient: Thing | None = None
    place: str = ""
    negated: bool = False


def canonical(name: str) -> str:
    """The word that stands for all its synonyms."""
    return lexicon.SYNONYMS.get(name, name)


def generalisations(name: str) -> list[str]:
    """The ever more general words above a word."""
    result = []
    current = canonical(name)
    while current in lexicon.HYPERNYMS:
        current = lexicon.HYPERNYMS[current]
        result.append(current)
    return result


def adjectives_of(noun: str) -> list[str]:
    """Adjectives that fit a noun."""
    for name in (canonical(noun), *generalisations(noun)):
        if name in lexicon.ADJECTIVES:
            return lexicon.ADJECTIVES[name]
    return lexicon.ADJECTIVES["thing"]


def random_thing(pick: Chooser, nouns: tuple[str, ...]) -> Thing:
    noun = pick.pick(nouns)
    return Thing(noun, pick.pick(adjectives_of(noun)) if pick.chance(0.25) else "")


def random_scene(pick: Chooser) -> Scene:
    """A positive scene."""
    action = pick.pick(lexicon.ACTIONS)
    agent = random_thing(pick, action.agents)
    patient = None
    while action.patients and (patient is None or canonical(patient.noun) == canonical(agent.noun)):
        patient = random_thing(pick, action.patients)
    place = pick.pick(action.places) if not action.patients or pick.chance(0.55) else ""
    return Scene(agent, pick.pick(action.verbs), patient, place)


def _noun_phrase(pick: Chooser, thing: Thing, determiner: str = "") -> Node:
    article = word(determiner or pick.weighted([(3, "a"), (1, "the")]), "DT").to("det")
    adjective = [word(thing.adjective, "JJ").to("amod")] if thing.adjective else []
    return phrase("NP", article, *adjective, word(thing.noun, "NN"))


def _place(scene: Scene) -> list[Node]:
    if not scene.place:
        return []
    preposition, noun = scene.place.split()
    place = phrase("NP", word("the", "DT").to("det"), word(noun, "NN"))
    return [phrase("PP", word(preposition, "IN"), place.to("pobj")).to("prep")]


def _doing(pick: Chooser, scene: Scene) -> Node:
    """*playing a guitar in the park*."""
    patient = [_noun_phrase(pick, scene.patient).to("dobj")] if scene.patient else []
    return phrase("VP", verb(scene.verb, "gerund"), *patient, *_place(scene))


def _not(scene: Scene) -> list[Node]:
    return [word("not", "RB").to("neg")] if scene.negated else []


def active(pick: Chooser, scene: Scene) -> Node:
    """*A man is playing a guitar*; *nobody is playing a guitar*."""
    auxiliary = verb("be", "present").to("aux")
    if scene.negated and scene.agent == Thing("person"):
        nobody = phrase("NP", word("nobody", "NN")).to("nsubj")
        return phrase("S", nobody, phrase("VP", auxiliary, _doing(pick, scene)))
    agent = _noun_phrase(pick, scene.agent).to("nsubj")
    return phrase("S", agent, phrase("VP", auxiliary, *_not(scene), _doing(pick, scene)))


def existential(pick: Chooser, scene: Scene) -> Node:
    """*There is no man playing a guitar*."""
    agent = _noun_phrase(pick, scene.agent, "no" if scene.negated else "a")
    doing = phrase("NP", agent, _doing(pick, scene).to("acl")).to("attr")
    there = phrase("NP", word("there", "EX")).to("expl")
    return phrase("S", there, phrase("VP", verb("be", "present"), doing))


def passive(pick: Chooser, scene: Scene) -> Node:
    """*A guitar is being played by a man*."""
    assert scene.patient is not None
    by_agent = phrase("PP", word("by", "IN"), _noun_phrase(pick, scene.agent).to("pobj"))
    participle = verb(scene.verb, "past participle")
    done = phrase("VP", participle, by_agent.to("agent"), *_place(scene))
    being = phrase("VP", verb("be", "gerund").to("auxpass"), done)
    predicate = phrase("VP", verb("be", "present").to("aux"), *_not(scene), being)
    return phrase("S", _noun_phrase(pick, scene.patient).to("nsubjpass"), predicate)


def realised(pick: Chooser, scene: Scene) -> Node:
    """One of the scene's sentences, without a full stop."""
    forms = [(0.5, active), (0.2, existential)]
    if scene.patient:
        forms.append((0.3, passive))
    return pick.weighted(forms)(pick, scene)
