"""Noun and adjective phrases of the reviews."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ..core.chooser import Chooser
from ..core.derivation import HEAD, Node, group, phrase, word
from ..core.morphology import plural
from .domains import Domain, Noun
from .lexicon import ADJECTIVES, DIMINISHERS, INTENSIFIERS, THINGS, Adjective


@dataclass(frozen=True)
class Setting:
    """What one sentence is about.

    Attributes:
        domain: Its domain.
        noun: The thing reviewed, one of the domain's wholes.
        tense: ``"present"`` or ``"past"``.
    """

    domain: Domain
    noun: Noun
    tense: str


@dataclass(frozen=True)
class Subject:
    """A noun phrase with what the verb must know.

    Attributes:
        node: The phrase.
        number: ``"singular"``, ``"plural"`` or ``"I"``.
        sort: What it names; ``""`` for people with an opinion.
        is_whole: Whether it is the thing reviewed itself.
    """

    node: Node
    number: str
    sort: str
    is_whole: bool = False


_PENN_RELATIONS = {"DT": "det", "CD": "nummod", "JJ": "amod", "NN": "compound", "PRP$": "poss"}


def branching(*children: Node) -> Node:
    """Right-branching group of several subtrees."""
    if len(children) == 1:
        return children[0]
    return group(children[0], branching(*children[1:]))


def flat(label: str, *children: Node) -> Node:
    """A phrase of several children, right-branching in the binary tree."""
    if len(children) < 3:
        return phrase(label, *children)
    return phrase(label, children[0], branching(*children[1:]))


def fixed_noun_phrase(spec: str) -> Node:
    """``"two/CD sister/NNS"`` (lemmas with tags, the head last) as a noun phrase."""
    children = []
    entries = [entry.split("/") for entry in spec.split()]
    for i, (lemma, tag) in enumerate(entries):
        form = plural(lemma) if tag == "NNS" else lemma
        leaf = word(form, tag, lemma)
        children.append(leaf if i == len(entries) - 1 else leaf.to(_PENN_RELATIONS[tag]))
    return flat("NP", *children)


def prepositional(preposition: str, complement: Node) -> Node:
    return phrase("PP", word(preposition, "IN"), complement.to("pobj"))


def fixed_prepositional(spec: str) -> Node:
    """``"about two/CD sister/NNS"`` as a prepositional phrase."""
    preposition, _, rest = spec.partition(" ")
    return prepositional(preposition, fixed_noun_phrase(rest))


def clause(subject: Node, predicate: Node) -> Node:
    """Subject and predicate as a sentence that may change places with another."""
    return phrase("S", subject.to("nsubj"), predicate).at("clause")


def opened(sentence: Node) -> Node:
    """A clause without its bracket in the phrase-structure tree."""
    return sentence._replace(label="", relation=HEAD)


def coordinated(label: str, first: Node, conjunction: str, second: Node) -> Node:
    """Two phrases joined by a conjunction; bare words among them get the phrase's label."""
    if first.children or second.children:
        first, second = (node if node.children else phrase(label, node) for node in (first, second))
    marked = group(word(conjunction, "CC").to("cc"), second.to("conj"))
    return phrase(label, first, marked)


def is_specific(adjective: Adjective) -> bool:
    """Whether it names a trait (*funny*), not only a verdict (*good*)."""
    return not adjective.sorts >= THINGS


def fits(adjective: Adjective, sort: str, kind: str) -> bool:
    """Whether an adjective can be said of a sort in a context.

    Args:
        adjective: The adjective.
        sort: What it is said of.
        kind: ``"any"``, ``"mild"`` (after "very"), ``"strong"`` (after "absolutely"),
            ``"graded"`` (after "more"), ``"specific"`` (no mere verdict: before a noun that is
            judged by its predicate) or ``"trait"`` (usually neutral).
    """
    if sort not in adjective.sorts:
        return False
    if not adjective.value or kind == "trait":
        return kind in ("trait", "specific") and (not adjective.value or is_specific(adjective))
    if kind == "graded":
        return adjective.graded
    if kind == "specific":
        return is_specific(adjective)
    return kind == "any" or (kind == "mild") == (abs(adjective.value) == 1)


@cache
def _fitting(sort: str, kind: str) -> tuple[str, ...]:
    neutral = kind == "trait"
    return tuple(
        entry.form
        for entry in ADJECTIVES.values()
        if fits(entry, sort, kind) and neutral == (not entry.value)
    )


def adjective(pick: Chooser, sort: str, kind: str = "any") -> Node:
    """An adjective that fits."""
    return word(pick.pick(_fitting(sort, kind)), "JJ", slot=f"adjective/{sort}/{kind}")


def adjective_phrase(pick: Chooser, sort: str, diminished: float = 0.35) -> Node:
    """An adjective, in two of five cases with a degree word.

    Args:
        pick: The source of chance.
        sort: What the adjective is said of.
        diminished: Share of diminishers ("slightly") among the degree words. If there are none,
            the degree word does not change places either ("not slightly dull").
    """
    if pick.chance(0.6):
        return adjective(pick, sort)
    kind = "mild" if pick.chance(0.7) else "strong"
    degrees = DIMINISHERS if pick.chance(diminished) else INTENSIFIERS
    slot = f"degree/{kind}" if diminished else ""
    degree = word(pick.pick(degrees[kind]), "RB", slot=slot).to("advmod")
    return phrase("ADJP", degree, adjective(pick, sort, kind))


def described(pick: Chooser, noun: Node, sort: str) -> Node:
    """A noun, at times after a sentiment adjective or a neutral one, without its article."""
    nominal = noun
    if pick.chance(0.15) and sort != "service":
        nominal = group(adjective(pick, sort, "trait").to("amod"), nominal)
    if pick.chance(0.25):
        nominal = group(adjective(pick, sort, "specific").to("amod"), nominal)
    return nominal


def determined(determiner: str, nominal: Node) -> Node:
    return phrase("NP", word(determiner, "DT").to("det"), nominal)


def noun_leaf(noun: Noun) -> Node:
    if noun.plural:
        return word(plural(noun.lemma), "NNS", noun.lemma)
    return word(noun.lemma, "NN")


def whole(pick: Chooser, setting: Setting, described_too: bool = True) -> Subject:
    """The thing reviewed: *the film*, *this dull film*, *the new film from France*."""
    noun = setting.noun
    nominal = noun_leaf(noun)
    if described_too:
        nominal = described(pick, nominal, noun.sort)
    node = determined("this" if pick.chance(0.2) else "the", nominal)
    if described_too and pick.chance(0.12):
        node = phrase("NP", node, fixed_prepositional(pick.pick(setting.domain.origins)).to("prep"))
    return Subject(node.at(f"noun phrase/{noun.sort}"), "singular", noun.sort, True)


def part(pick: Chooser, setting: Setting, sort: str = "") -> Subject:
    """A part of it or a person who works on it, at times *of the film*; of one sort if given."""
    domain = setting.domain
    if sort:
        nouns = [entry for entry in (*domain.people, *domain.parts) if entry.sort == sort]
    else:
        nouns = domain.people if domain.people and pick.chance(0.2) else domain.parts
    noun = pick.pick(nouns)
    node = determined("the", described(pick, noun_leaf(noun), noun.sort))
    number = "plural" if noun.plural else "singular"
    if pick.chance(0.15):
        owner = determined("the", noun_leaf(setting.noun))
        node = phrase("NP", node, prepositional(domain.link, owner).to("prep"))
    return Subject(node, number, noun.sort)


def topic(pick: Chooser, setting: Setting) -> Subject:
    """The subject of a verdict: the whole, a part, or *it*."""
    draw = pick.weighted([(0.42, "whole"), (0.48, "part"), (0.1, "it")])
    if draw == "it":
        pronoun = phrase("NP", word("it", "PRP"))
        return Subject(pronoun, "singular", setting.noun.sort, True)
    return whole(pick, setting) if draw == "whole" else part(pick, setting)
