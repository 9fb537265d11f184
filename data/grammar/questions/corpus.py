"""The typed questions: six coarse classes, in three disjoint parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..core.chooser import Chooser
from ..core.derivation import Node, leaves, words
from ..core.morphology import finish
from . import forms, number_forms

SIZES = {"train": 1000, "dev": 150, "test": 300}

Form = Callable[[Chooser], forms.Question]

_FORMS: list[tuple[float, Form]] = [
    (11, forms.subject_question),
    (9, forms.object_question),
    (3, forms.in_situ_question),
    (15, forms.name_question),
    (7, forms.place_question),
    (9, forms.superlative_question),
    (4, forms.property_question),
    (7, forms.who_question),
    (5, forms.definition_question),
    (5, forms.description_question),
    (5, forms.reason_question),
    (5, forms.manner_question),
    (3, forms.expansion_question),
    (2, forms.abbreviation_question),
    (4, number_forms.count_question),
    (4, number_forms.date_question),
    (3, number_forms.money_question),
    (4, number_forms.distance_question),
    (4, number_forms.period_question),
]


@dataclass(frozen=True)
class TypedQuestion:
    """A finished question and its class, ``COARSE:fine``."""

    label: str
    node: Node

    @property
    def text(self) -> str:
        return " ".join(words(self.node))


def _repeats(node: Node) -> bool:
    """Whether a noun, a name or a main verb comes twice."""
    content = [leaf for leaf in leaves(node) if leaf.label.startswith(("NN", "VB"))]
    lemmas = [leaf.lemma for leaf in content if leaf.lemma not in ("be", "do")]
    return len(set(lemmas)) < len(lemmas)


def make_questions(seed: int) -> dict[str, list[TypedQuestion]]:
    """The parts ``train``, ``dev`` and ``test``; words of the last two occur in the first."""
    pick = Chooser(seed)
    taken: set[str] = set()
    known: set[str] = set()
    parts: dict[str, list[TypedQuestion]] = {}
    for name, size in SIZES.items():
        part: list[TypedQuestion] = []
        while len(part) < size:
            label, node = pick.weighted(_FORMS)(pick)
            question = TypedQuestion(label, finish(node))
            fresh = question.text.lower() not in taken and not _repeats(question.node)
            if fresh and (name == "train" or known.issuperset(words(question.node))):
                taken.add(question.text.lower())
                part.append(question)
        if name == "train":
            known = {form for question in part for form in words(question.node)}
        parts[name] = part
    return parts
