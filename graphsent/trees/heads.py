"""Lexical heads of constituents, and the dependencies between them."""

from __future__ import annotations

import numpy as np

from graphsent.trees.dependency import DependencyTree
from graphsent.trees.head_rules import COLLINS, LEFT, OTHER, HeadRule, HeadRules
from graphsent.trees.structure import NO_PARENT, children_lists
from graphsent.trees.transforms import TRACE, base_label
from graphsent.trees.tree import TreeLike, as_tree

NO_CHILD = -1
_CONJUNCTION = "CC"
# Never heads if there are other children, as in Collins, who first removes them from the tree.
_PUNCTUATION = frozenset([".", ",", ":", "``", "''", "-LRB-", "-RRB-", TRACE])


def head_children(tree: TreeLike, rules: HeadRules = COLLINS) -> np.ndarray:
    """The head child of each node, (N,) int64; -1 at nodes with a token.

    Labels are compared without function tags. Punctuation and traces are heads only if there are no
    other children. If the child found has a conjunction (CC) to its left, the child before that is
    the head instead: a coordination is headed by its first part (Collins 1999, Appendix A).

    Args:
        tree: A tree with Penn Treebank labels; under other labels, the rightmost child is the head.
        rules: The rule for each phrase label.

    Example:
        >>> head_children("(S (NP (NN Rain)) (VP (VBD fell)))").tolist()  # S: VP, NP: NN, VP: VBD
        [3, 2, -1, 4, -1]
    """
    tree = as_tree(tree)
    labels = [base_label(label) for label in tree.labels]
    heads = np.full(tree.num_nodes, NO_CHILD, np.int64)
    for node, children in enumerate(children_lists(tree.parents)):
        if children:
            candidates = [child for child in children if labels[child] not in _PUNCTUATION]
            candidates = candidates or children
            names = [labels[child] for child in candidates]
            heads[node] = candidates[_head_place(names, rules.get(labels[node], OTHER))]
    return heads


def _head_place(names: list[str], rule: HeadRule) -> int:
    """Index of the head among children with these labels."""
    place = _search(names, rule)
    if place >= 2 and names[place - 1] == _CONJUNCTION:
        place -= 2
    return place


def _search(names: list[str], rule: HeadRule) -> int:
    from_left = range(len(names))
    for search in rule.searches:
        for place in from_left if search.side == LEFT else reversed(from_left):
            if names[place] in search.labels:
                return place
    return 0 if rule.side == LEFT else len(names) - 1


def head_words(tree: TreeLike, rules: HeadRules = COLLINS) -> np.ndarray:
    """Position of the lexical head of each node, found along head children, (N,) int64.

    Example:
        >>> head_words("(S (NP (NN Rain)) (VP (VBD fell)))").tolist()
        [1, 0, 0, 1, 1]
    """
    tree = as_tree(tree)
    head = head_children(tree, rules)
    leaf = np.where(head >= 0, head, np.arange(tree.num_nodes))
    # Pointer jumping: each round doubles the number of steps; a leaf leads to itself.
    while not np.array_equal(leaf, below := leaf[leaf]):
        leaf = below
    return tree.spans[leaf, 0]


def to_dependency_tree(tree: TreeLike, rules: HeadRules = COLLINS) -> DependencyTree:
    """Converts a constituency tree into the projective dependency tree of its lexical heads.

    The head of a word is the lexical head of the smallest phrase around it with another lexical
    head. Labels of pre-terminals become ``xpos``; labels and relations stay empty.

    Example:
        >>> tree = to_dependency_tree("(S (NP (DT The) (NN rain)) (VP (VBD fell)))")
        >>> tree.heads.tolist(), tree.xpos
        ([1, 2, -1], ('DT', 'NN', 'VBD'))
    """
    tree = as_tree(tree)
    word = head_words(tree, rules)
    above = word[tree.parents]
    heads = np.full(len(tree.words), NO_PARENT, np.int64)
    governed = (word != above) & (tree.parents >= 0)
    heads[word[governed]] = above[governed]
    tags = [
        base_label(label)
        for label, token in zip(tree.labels, tree.tokens, strict=True)
        if token is not None
    ]
    return DependencyTree(tree.words, heads, xpos=tags)
