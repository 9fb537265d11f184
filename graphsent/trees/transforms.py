"""Transforms that rename, drop or merge nodes. Each returns a new tree in linear time."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from graphsent._names import check_choice
from graphsent.errors import DataError
from graphsent.trees import structure
from graphsent.trees.errors import EmptyNode, InvalidStructure
from graphsent.trees.tree import Tree, TreeLike, as_tree

TRACE = "-NONE-"
_TAG_START = re.compile(r"(?<=.)[-=]")


def relabel(tree: TreeLike, mapping: Mapping[str, str] | Callable[[str], str]) -> Tree:
    """The tree with each label replaced.

    Args:
        tree: Any tree.
        mapping: Label -> new label, as a mapping or a function.

    Raises:
        DataError: A label is not in the mapping.

    Example:
        >>> print(relabel("(4 (2 a) (3 film))", {"2": "neutral", "3": "good", "4": "good"}))
        (good (neutral a) (good film))
    """
    tree = as_tree(tree)
    rename = mapping if callable(mapping) else mapping.__getitem__
    try:
        new = {label: rename(label) for label in sorted(set(tree.labels))}
    except KeyError as error:
        raise DataError(f"label {error.args[0]!r} is not in the mapping of new labels") from error
    return tree.replace(labels=[new[label] for label in tree.labels])


def map_tokens(tree: TreeLike, function: Callable[[str], str]) -> Tree:
    """The tree with ``function`` applied to each token, such as ``unescape`` or ``str.lower``.

    Example:
        >>> print(map_tokens("(NP (DT The) (NN Film))", str.lower))
        (NP (DT the) (NN film))
    """
    tree = as_tree(tree)
    tokens = (None if token is None else function(token) for token in tree.tokens)
    return tree.replace(tokens=tokens)


def base_label(label: str) -> str:
    """A Penn Treebank label without function tags and indices.

    Labels that start with a hyphen (``-NONE-``, ``-LRB-``) have none.

    Example:
        >>> [base_label(label) for label in ("NP-SBJ-1", "NP=2", "ADVP|PRT", "-NONE-")]
        ['NP', 'NP', 'ADVP|PRT', '-NONE-']
    """
    return label if label.startswith("-") else _TAG_START.split(label, maxsplit=1)[0]


def strip_function_tags(tree: TreeLike) -> Tree:
    """The tree with :func:`base_label` applied to each label: ``NP-SBJ-1`` becomes ``NP``."""
    return relabel(tree, base_label)


def strip_traces(tree: TreeLike) -> Tree:
    """The tree without ``-NONE-`` nodes, and without parents that are thereby left empty.

    Unary chains may remain where a trace was one of two children.

    Raises:
        TreeError: All tokens of the tree are traces.

    Example:
        >>> print(strip_traces("(S (NP-SBJ (-NONE- *)) (VP (VB go)))"))
        (S (VP (VB go)))
    """
    return drop_words(tree, lambda label, token: label == TRACE)


def drop_words(tree: TreeLike, is_dropped: Callable[[str, str], bool]) -> Tree:
    """The tree without some words, and without parents that are thereby left empty.

    Args:
        tree: Any tree.
        is_dropped: Whether to drop a word, from the label of its node and its token.

    Raises:
        TreeError: All words are dropped.

    Example:
        >>> tree = Tree.from_string("(S (NP (DT The) (NN film)) (VP (VBZ works)) (. .))")
        >>> print(drop_words(tree, lambda label, token: label in (".", ",", ":")))
        (S (NP (DT The) (NN film)) (VP (VBZ works)))
    """
    tree = as_tree(tree)
    pairs = zip(tree.labels, tree.tokens, strict=True)
    kept = [token is not None and not is_dropped(label, token) for label, token in pairs]
    keep = structure.has_words(tree.parents, np.array(kept))
    if not keep[0]:
        raise EmptyNode(f"nothing is left of {tree!r}: all of its words are dropped")
    return tree if keep.all() else select_nodes(tree, keep, tree.labels, tree.tokens)


def collapse_unary(
    tree: TreeLike, keep: str = "top", *, keep_tags: bool = False, separator: str = "+"
) -> Tree:
    """The tree with each unary chain merged into one node.

    With ``keep="top"``, this is the rule of Tai et al. (2015).

    Args:
        tree: Any tree.
        keep: ``"top"`` keeps the top label; ``"join"`` joins all labels with the separator, which
            :func:`expand_unary` undoes.
        keep_tags: Whether pre-terminals that are only children are kept.
        separator: Separator of joined labels.

    Raises:
        DataError: ``keep`` is unknown.
        TreeError: Joined labels could not be split again: one contains the separator.

    Example:
        >>> print(collapse_unary("(S (VP (VB go)))"))
        (S go)
        >>> print(collapse_unary("(S (VP (VB go)))", "join"))
        (S+VP+VB go)
        >>> print(collapse_unary("(S (VP (VB go)))", keep_tags=True))
        (S (VB go))
    """
    check_choice("keep", keep, ("top", "join"), DataError)
    tree = as_tree(tree)
    only_child = tree.num_children[tree.parents] == 1
    only_child[0] = False
    if keep_tags:
        only_child &= tree.num_children > 0
    # In preorder, only children follow their parents: a chain runs from a kept node to the next.
    starts = np.flatnonzero(~only_child)
    last = np.append(starts[1:], tree.num_nodes) - 1
    labels, tokens = list(tree.labels), list(tree.tokens)
    for start, end in zip(starts.tolist(), last.tolist(), strict=True):
        tokens[start] = tree.tokens[end]
        if keep == "join":
            labels[start] = _joined(tree.labels[start : end + 1], separator)
    return select_nodes(tree, ~only_child, labels, tokens)


def expand_unary(tree: TreeLike, separator: str = "+") -> Tree:
    """Inverse of ``collapse_unary(tree, "join")``.

    Raises:
        DataError: The separator is empty.

    Example:
        >>> print(expand_unary("(S+VP+VB go)"))
        (S (VP (VB go)))
    """
    if not separator:
        raise DataError("expected a separator of labels, got an empty one")
    tree = as_tree(tree)
    chains = [label.split(separator) for label in tree.labels]
    lengths = np.array([len(chain) for chain in chains])
    last = np.cumsum(lengths) - 1
    first = last - lengths + 1
    parents = np.arange(int(lengths.sum())) - 1
    parents[first] = np.append(last, structure.NO_PARENT)[tree.parents]
    tokens: list[str | None] = [None] * len(parents)
    for row, token in zip(last.tolist(), tree.tokens, strict=True):
        tokens[row] = token
    return Tree((label for chain in chains for label in chain), tokens, parents)


def _joined(labels: Sequence[str], separator: str) -> str:
    """The labels of a chain, joined by a separator at which they can be split again."""
    joined = separator.join(labels)
    if not separator or joined.split(separator) != [*labels]:
        raise InvalidStructure(
            f"label {joined!r} contains the separator {separator!r} elsewhere than between joined "
            "labels: expected another separator"
        )
    return joined


def select_nodes(
    tree: Tree, keep: np.ndarray, labels: Sequence[str], tokens: Sequence[str | None]
) -> Tree:
    """The tree of the nodes to keep, each below its nearest kept ancestor.

    Args:
        tree: Any tree.
        keep: Whether to keep each node, (N,) bool; the root is kept.
        labels: Labels of all N nodes.
        tokens: Tokens of all N nodes; every node left without children must have one.
    """
    rows: list[int] = np.flatnonzero(keep).tolist()
    parents = structure.without(tree.parents, keep)
    return Tree([labels[row] for row in rows], [tokens[row] for row in rows], parents)
