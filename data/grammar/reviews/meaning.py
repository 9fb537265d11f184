"""The sentiment of phrases: what words mean, and the rules that combine two meanings.

Every node of a binary tree has a meaning, computed from the meanings of its two children alone:

* a *value* from -2 to 2, either *mentioned* (nouns, modifiers) or *asserted* (verbs, clauses);
* an *operator* that waits for the value it changes ("not", "very", "than");
* a *marked* value: a phrase with the conjunction that says how it will be joined ("but dull").

The label of a node is its value plus 2; operators are neutral, 2. README.md has the rule as a
table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from ..core.derivation import BinaryTree
from ..core.morphology import inflect, plural
from .lexicon import (
    ADJECTIVES,
    DIMINISHERS,
    EFFECT_VERBS,
    FEELING_VERBS,
    INTENSIFIERS,
    MANNERS,
    QUALITIES,
    VERDICTS,
)


class Value(NamedTuple):
    """A sentiment from -2 to 2; ``mark`` is "" or the pending conjunction."""

    value: int
    asserted: bool = False
    mark: str = ""


class Operator(NamedTuple):
    """A function that waits for its argument.

    Attributes:
        name: Key of ``OPERATIONS`` or of ``JOINS``.
        asserted: The result is asserted (verbs), whatever the argument was.
        waits: Over a neutral argument it goes on waiting ("no critic", "hardly anyone").
    """

    name: str
    asserted: bool = False
    waits: bool = False


Meaning = Value | Operator


def sign(value: int) -> int:
    return (value > 0) - (value < 0)


OPERATIONS: dict[str, Callable[[int], int]] = {
    "pass": lambda value: value,
    "intensify": lambda value: 2 * sign(value),
    "diminish": lambda value: value - sign(value),
    "negate": lambda value: -sign(value),
    "reverse": lambda value: -2 * sign(value),
    "ignore": lambda value: 0,
    "demote": lambda value: value,
}


def merge(left: int, right: int) -> int:
    """Like values: the stronger one. Opposite values: their sum."""
    if left * right < 0:
        return left + right
    return max(left, right, key=abs)


def contrast(main: int, conceded: int) -> int:
    """The main part decides, unless it is neutral."""
    return main or conceded


JOINS: dict[str, Callable[[int, int], int]] = {
    "and": merge,
    "but": lambda other, marked: contrast(marked, other),
    "although": contrast,
    "nor": merge,
    "because": contrast,
}


def _apply(operator: Operator, argument: Value) -> Meaning:
    if operator.name in JOINS:
        return argument._replace(mark=operator.name)
    if operator.waits and not argument.value:
        return operator
    if operator.name == "pass":
        return argument
    if operator.name == "demote":
        return Value(argument.value)
    value = OPERATIONS[operator.name](argument.value)
    return Value(value, operator.asserted or argument.asserted)


def _join(left: Value, right: Value) -> Value:
    asserted = left.asserted or right.asserted
    if left.mark:
        left, right = right, left
    if right.mark:
        return Value(JOINS[right.mark](left.value, right.value), asserted)
    if left.asserted != right.asserted:
        main, other = (left, right) if left.asserted else (right, left)
        return Value(contrast(main.value, other.value), asserted)
    return Value(merge(left.value, right.value), asserted)


@cache
def compose(left: Meaning, right: Meaning) -> Meaning:
    """The meaning of a phrase from the meanings of its two parts.

    Raises:
        ValueError: Neither part can take the other (the grammar makes no such phrase).
    """
    if isinstance(left, Operator) and isinstance(right, Value):
        return _apply(left, right)
    if isinstance(left, Value) and isinstance(right, Operator):
        return _apply(right, left)
    if isinstance(left, Value) and isinstance(right, Value):
        return _join(left, right)
    if left == Operator("pass"):
        return right
    raise ValueError(f"{left} does not combine with {right}")


_OPERATOR_WORDS = {
    Operator("pass"): ", . ! even",
    Operator("intensify"): "complete total real so much",
    Operator("diminish"): "minor",
    Operator("negate"): "not n't never rarely without free less fewer hard neither",
    Operator("negate", waits=True): "no nobody few little hardly false wrong",
    Operator("negate", asserted=True): """could should supposed expected used hoped feared
        lack lacks lacked avoid avoids avoided fail fails failed need needs needed
        doubt doubts doubted deny denies denied""",
    Operator("reverse"): "anything far",
    Operator("ignore"): "? than whether if unless after before",
    Operator("demote"): "that who",
    Operator("and"): "and",
    Operator("nor"): "nor",
    Operator("because"): "because",
    Operator("but"): "but yet",
    Operator("although"): "although though while despite",
}

_VALUE_WORDS = {
    "best": 2,
    "better": 1,
    "worse": -1,
    "worst": -2,
}

_VERB_VALUES = {"recommend": 1}
_MODALS = ("can", "will", "would")

_NEUTRAL_VERBS = (
    "be have do seem look say think believe feel claim agree know wonder call find "
    "consider begin end work function watch see meet discuss replace leave read finish buy order "
    "sit eat stay reserve test return hear discover offer talk"
)


def _verb_forms(verb: str) -> set[str]:
    forms = ("base", "present", "past", "past participle")
    return {inflect(verb, form, number) for form in forms for number in ("singular", "plural", "I")}


def _lexical_meanings() -> dict[str, Meaning]:
    result: dict[str, Meaning] = {}

    def define(form: str, meaning: Meaning) -> None:
        if result.setdefault(form, meaning) != meaning:
            raise ValueError(f"{form!r} means both {result[form]} and {meaning}")

    for operator, forms in _OPERATOR_WORDS.items():
        for form in forms.split():
            define(form, operator)
    for name, degrees in (("intensify", INTENSIFIERS), ("diminish", DIMINISHERS)):
        for form in (*degrees["mild"], *degrees["strong"]):
            define(form, Operator(name))
    effects = {verb.lemma: verb.value for verb in EFFECT_VERBS.values()}
    for verb, value in (FEELING_VERBS | effects | _VERB_VALUES).items():
        for form in _verb_forms(verb):
            define(form, Value(value, asserted=True))
    for verb in _NEUTRAL_VERBS.split():
        for form in _verb_forms(verb):
            define(form, Value(0, asserted=True))
    for form in _MODALS:
        define(form, Value(0, asserted=True))
    for entry in (*ADJECTIVES.values(), *QUALITIES.values()):
        define(entry.form, Value(entry.value))
    for noun, value in VERDICTS.items():
        define(noun, Value(value))
        define(plural(noun), Value(value))
    for form, value in (MANNERS | _VALUE_WORDS).items():
        define(form, Value(value))
    return result


LEXICAL_MEANINGS = _lexical_meanings()


def word_meaning(form: str) -> Meaning:
    """The meaning of a word, whatever its capitals; words not listed are neutral."""
    return LEXICAL_MEANINGS.get(form.lower(), Value(0))


def label_of(meaning: Meaning) -> int:
    """The sentiment class 0-4 of a meaning."""
    return meaning.value + 2 if isinstance(meaning, Value) else 2


def meaning_of(tree: BinaryTree) -> Meaning:
    """The meaning of a binary tree."""
    if isinstance(tree, str):
        return word_meaning(tree)
    return compose(meaning_of(tree[0]), meaning_of(tree[1]))
