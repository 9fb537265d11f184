"""Which of the grammar's sentences a person might write; the others are thrown away."""

from __future__ import annotations

from collections.abc import Iterator

from ..core.derivation import BinaryTree, Node, binary, leaves
from ..core.lists import listed
from .lexicon import ADJECTIVES, DIMENSIONS, THINGS
from .meaning import Meaning, Operator, Value, compose, sign, word_meaning

# Words that sound right only with a good (1) or a bad (-1) argument: "lacks charm".
_WANTED_SIGN = {
    **dict.fromkeys(listed("hoped supposed should lack lacks lacked fail fails failed"), 1),
    **dict.fromkeys(listed("feared free avoid avoids avoided"), -1),
}
# More charm, less noise.
_NEEDED = {"more": 1, "less": -1, "fewer": -1}
_REPEATABLE = frozenset(
    listed(
        """be have do not never no say think first would could should can always rarely hardly"""
    )
)
_OPEN_CLASSES = ("NN", "JJ", "VB", "RB", "CD")


class UnnaturalError(ValueError):
    """A phrase that the grammar can make and nobody would say."""


def _check_join(left: Value, right: Value) -> None:
    """But joins opposites, and joins likes; a noun's own modifiers agree."""
    mark = left.mark or right.mark
    product = left.value * right.value
    marked = left if left.mark else right
    if (mark == "although" and product >= 0) or (
        mark == "but" and (product > 0 or not marked.value)
    ):
        raise UnnaturalError("a contrast without an opposition")
    if mark in ("and", "because") and product < 0:
        raise UnnaturalError("an opposition without a contrast")
    if not mark and not left.asserted and not right.asserted and product < 0:
        raise UnnaturalError("a noun with contradictory modifiers")


def checked_meaning(tree: BinaryTree) -> Meaning:
    """The meaning of a tree all of whose phrases are natural.

    Raises:
        ValueError: Some phrase has no meaning, or an unnatural one.
    """
    if isinstance(tree, str):
        return word_meaning(tree)
    left, right = checked_meaning(tree[0]), checked_meaning(tree[1])
    if isinstance(left, Value) and isinstance(right, Value):
        _check_join(left, right)
    first = tree[0].lower() if isinstance(tree[0], str) else ""
    if isinstance(right, Value):
        if first in _WANTED_SIGN and sign(right.value) != _WANTED_SIGN[first]:
            raise UnnaturalError(f"{first} with the wrong kind of thing")
        if first in ("need", "needs", "needed") and not _needs_well(tree[1]):
            raise UnnaturalError("a need for something bad")
    return compose(left, right)


def _needs_well(tree: BinaryTree) -> bool:
    amount, noun = tree[0], tree[1]
    meaning = word_meaning(noun)
    return isinstance(meaning, Value) and sign(meaning.value) == _NEEDED[amount]


def _clauses(node: Node) -> Iterator[list[Node]]:
    """The words of every clause, those of embedded clauses apart."""
    own: list[Node] = []
    inner: list[Node] = []

    def visit(current: Node) -> None:
        for child in current.children:
            if child.slot == "clause" or child.label in ("S", "SBAR"):
                inner.append(child)
            elif child.children:
                visit(child)
            else:
                own.append(child)

    visit(node)
    yield own
    for child in inner:
        yield from _clauses(child)


def _clashes(clause: list[Node]) -> bool:
    """Two verdicts, two words of one dimension, or two contrasts in one clause."""
    adjectives = [leaf.form for leaf in clause if leaf.form in ADJECTIVES]
    contrasts = sum(leaf.form in ("but", "yet") for leaf in clause)
    if contrasts > 1 or len(adjectives) < 2:
        return contrasts > 1
    verdicts = sum(ADJECTIVES[form].sorts >= THINGS for form in adjectives)
    return verdicts > 1 or any(len(group.intersection(adjectives)) > 1 for group in DIMENSIONS)


def _family(lemma: str) -> str:
    """The same for *enjoy* and *enjoyable*, *thriller* and *thrilling*."""
    return lemma[:5]


def _repeats(node: Node, allowed: str) -> bool:
    """Whether a content word, or one of its family, comes twice."""
    seen = {_family(allowed)}
    for leaf in leaves(node):
        content = leaf.label.startswith(_OPEN_CLASSES) or leaf.form in ("I", "we")
        if content and leaf.lemma not in _REPEATABLE and leaf.lemma != allowed:
            if _family(leaf.lemma) in seen:
                return True
            seen.add(_family(leaf.lemma))
    return False


def _mentions(node: Node) -> int:
    """How often the thing reviewed is named with a noun."""
    own = node.slot.startswith("noun phrase") and node.children[0].label != "PRP"
    return own + sum(map(_mentions, node.children))


def natural_meaning(node: Node, noun: str) -> Value | None:
    """The meaning of a sentence worth keeping; nothing if it is not.

    Args:
        node: The derivation.
        noun: Lemma of the thing reviewed, the one word that may come twice.
    """
    if _repeats(node, noun) or _mentions(node) > 1 or any(map(_clashes, _clauses(node))):
        return None
    tree = binary(node)
    try:
        meaning = checked_meaning(tree)
    except ValueError:
        return None
    if isinstance(meaning, Operator):
        return None
    return None if tree[1] == "!" and abs(meaning.value) < 2 else meaning
