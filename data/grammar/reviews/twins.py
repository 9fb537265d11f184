"""Twins: two sentences of the same words whose labels differ.

Subtrees in compatible positions of one derivation change places: two adjectives, two clauses, a
verb here and a verb there. A model that sees only which words occur cannot tell twins apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ..core.derivation import Node, leaves
from .lexicon import ADJECTIVES, EFFECT_VERBS, QUALITIES
from .phrases import fits

Path = tuple[int, ...]


def _slots(node: Node, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    if node.slot:
        yield path, node
    for i, child in enumerate(node.children):
        yield from _slots(child, (*path, i))


def _fits_slot(node: Node, slot: str) -> bool:
    """Whether a word can stand in a slot ``kind/sort/requirement`` of its own kind."""
    kind, sort, requirement = slot.split("/")
    if kind == "adjective":
        return fits(ADJECTIVES[node.form], sort, requirement)
    entry = EFFECT_VERBS[node.lemma] if kind == "effect" else QUALITIES[node.form]
    return node.label == requirement and sort in entry.sorts


def exchangeable(first: Node, second: Node) -> bool:
    """Whether two subtrees of a derivation can change places."""
    kind = first.slot.partition("/")[0]
    if kind not in ("adjective", "effect", "quality") or not second.slot.startswith(kind + "/"):
        return first.slot == second.slot
    return _fits_slot(first, second.slot) and _fits_slot(second, first.slot)


def _placed(node: Node, path: Path, new: Node) -> Node:
    """The tree with ``new`` at the path; the position keeps its label, relation and slot."""
    if not path:
        return new._replace(label=node.label, relation=node.relation, slot=node.slot)
    children = list(node.children)
    children[path[0]] = _placed(children[path[0]], path[1:], new)
    return node._replace(children=tuple(children))


def exchanges(node: Node) -> list[tuple[int, Path, Path]]:
    """Where two subtrees can change places: how many words move, and the two positions."""
    result = []
    for (path, first), (other, second) in combinations(_slots(node), 2):
        nested = other[: len(path)] == path
        if not nested and first != second and exchangeable(first, second):
            result.append((len(leaves(first)) + len(leaves(second)), path, other))
    return result


def _subtree(node: Node, path: Path) -> Node:
    for child in path:
        node = node.children[child]
    return node


def exchanged(node: Node, path: Path, other: Path) -> Node:
    """The derivation with the subtrees at two positions exchanged."""
    first, second = _subtree(node, path), _subtree(node, other)
    return _placed(_placed(node, path, second), other, first)


def same_words(first: Node, second: Node) -> bool:
    """Whether two derivations use the same words equally often, capitals aside."""
    forms = [sorted(leaf.form.lower() for leaf in leaves(node)) for node in (first, second)]
    return forms[0] == forms[1]
