"""Derivations: one tree a sentence, from which all its annotations are read off.

A derivation says of every child how it relates to its phrase: it is the head, or it depends on
the head by a named relation. Three trees follow from it:

* the *phrase-structure tree*, with many children a node, by dissolving the groups (nodes without
  a label) into their parents;
* the *binary tree*, by keeping the groups and collapsing unary chains;
* the *dependency tree*, by attaching every non-head child's head word to its phrase's head word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

HEAD = "head"
# A preposition whose complement stands in front ("what does it stand *for*"), and that complement.
STRANDED = "stranded"
FRONTED = "fronted "

BinaryTree = str | tuple["BinaryTree", "BinaryTree"]


class Node(NamedTuple):
    """A word or a phrase.

    Attributes:
        label: Penn Treebank tag or category; ``""`` for a group.
        children: Subtrees, left to right; empty for a word.
        form: The word; ``""`` for a phrase.
        lemma: Its dictionary form.
        relation: ``"head"``, or the dependency relation to the head of the enclosing phrase.
        slot: Subtrees whose slots are compatible may change places (see ``twins``); ``""``: never.
    """

    label: str
    children: tuple[Node, ...] = ()
    form: str = ""
    lemma: str = ""
    relation: str = HEAD
    slot: str = ""

    def to(self, relation: str) -> Node:
        """This subtree as a dependent of its phrase's head."""
        return self._replace(relation=relation)

    def at(self, slot: str) -> Node:
        """This subtree in an exchangeable position."""
        return self._replace(slot=slot)


def word(form: str, tag: str, lemma: str = "", relation: str = HEAD, slot: str = "") -> Node:
    """A leaf. The lemma is the form unless given."""
    return Node(tag, form=form, lemma=lemma or form, relation=relation, slot=slot)


def phrase(label: str, *children: Node) -> Node:
    """A phrase; one child (or one group among the children) holds the head."""
    return Node(label, children)


def group(*children: Node) -> Node:
    """A bracket of the binary tree that the other trees do not have."""
    return Node("", children)


def leaves(node: Node) -> list[Node]:
    """The words of a subtree, left to right."""
    if not node.children:
        return [node]
    return [leaf for child in node.children for leaf in leaves(child)]


def words(node: Node) -> list[str]:
    """The forms of a subtree's words."""
    return [leaf.form for leaf in leaves(node)]


def with_forms(node: Node, forms: Iterator[str]) -> Node:
    """The same derivation with the next ``forms`` at its leaves."""
    if not node.children:
        return node._replace(form=next(forms))
    return node._replace(children=tuple(with_forms(child, forms) for child in node.children))


def dissolved(node: Node) -> list[Node]:
    """The children of a phrase, groups replaced by their own children."""
    result: list[Node] = []
    for child in node.children:
        result.extend([child] if child.label else dissolved(child))
    return result


def binary(node: Node) -> BinaryTree:
    """The unlabelled binary tree: a word, or a pair of binary trees.

    Raises:
        ValueError: A node has more than two children.
    """
    if not node.children:
        return node.form
    if len(node.children) == 1:
        return binary(node.children[0])
    if len(node.children) > 2:
        raise ValueError(f"{node.label} has {len(node.children)} children: {words(node)}")
    return binary(node.children[0]), binary(node.children[1])


@dataclass(frozen=True)
class Token:
    """A word of a dependency tree; ``head`` counts from 1, 0 is the root's."""

    leaf: Node
    head: int
    relation: str


def dependencies(node: Node) -> list[Token]:
    """The dependency tree of a derivation, in sentence order."""
    leaf_list = list(leaves(node))
    heads = [0] * len(leaf_list)
    relations = ["root"] * len(leaf_list)
    position = iter(range(len(leaf_list)))

    def head_of(current: Node) -> int:
        if not current.children:
            return next(position)
        children = dissolved(current)
        centres = [head_of(child) for child in children]
        (head,) = (
            at for at, child in zip(centres, children, strict=True) if child.relation == HEAD
        )
        for at, child in zip(centres, children, strict=True):
            if child.relation != HEAD:
                heads[at], relations[at] = head + 1, child.relation
        return head

    head_of(node)
    for i, relation in enumerate(relations):
        if relation.startswith(FRONTED):
            heads[i] = 1 + [leaf.slot for leaf in leaf_list].index(STRANDED)
            relations[i] = relation.removeprefix(FRONTED)
    return [Token(*columns) for columns in zip(leaf_list, heads, relations, strict=True)]
