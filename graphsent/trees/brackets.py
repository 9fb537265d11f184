"""Parses bracketed text into the fields of trees, without a loop over characters or nodes.

The text is split into *items*: brackets, and the atoms between brackets and ASCII whitespace. Which
atoms are labels and which are tokens, and whether the text is well-formed, follows from each item,
the two before it and the number of open brackets; all of these are arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphsent._names import check_choice
from graphsent.errors import DataError
from graphsent.trees import structure
from graphsent.trees.bracket_errors import check_items
from graphsent.trees.bracket_items import ATOM, OPEN, Items
from graphsent.trees.errors import EmptyNode, MissingLabel, WrongTreeCount

EMPTY_NODES = ("error", "drop", "token")
_NOTHING = -1


class TreeFields(NamedTuple):
    """Labels, tokens and parents of the nodes of one tree, in preorder, as in a ``Tree``."""

    labels: tuple[str, ...]
    tokens: tuple[str | None, ...]
    parents: np.ndarray


class ParsedText(NamedTuple):
    """Trees, and the offsets of their first and last brackets in the text, int64."""

    trees: list[TreeFields]
    items: Items
    first: np.ndarray
    last: np.ndarray


class _Nodes(NamedTuple):
    """One row per opening bracket of the text; atoms by index, -1 for none."""

    parent: np.ndarray
    label: np.ndarray
    token: np.ndarray
    offset: np.ndarray

    def keep(self, keep: np.ndarray) -> _Nodes:
        parent = structure.without(self.parent, keep)
        return _Nodes(parent, *(column[keep] for column in self[1:]))


def parse(
    text: str, source: str, empty_nodes: str, require_labels: bool, first_line: int = 1
) -> ParsedText:
    """All trees of a text; see ``parse_trees`` in :mod:`graphsent.trees.bracket_files`."""
    check_choice("empty_nodes", empty_nodes, EMPTY_NODES, DataError)
    items = Items(text, source, first_line)
    check_items(items, allow_empty=empty_nodes != "error")

    nodes = _nodes(items, lone_atom_is_token=empty_nodes == "token")
    first = nodes.offset[nodes.parent < 0]
    closes_tree = (items.level == 1) & (np.append(items.level[1:], 0) == 0)
    last = items.offsets[closes_tree]
    if empty_nodes != "error":
        nodes = _drop_empty(nodes, items)
    nodes = _take_off_outer_brackets(nodes)
    if require_labels:
        _check_labels(nodes, items)
    return ParsedText(_fields(nodes, items.atoms), items, first, last)


def parse_one(text: str, empty_nodes: str, require_labels: bool) -> TreeFields:
    """The only tree of a text.

    Raises:
        TreeError: The text is malformed, or holds no tree or several.
    """
    parsed = parse(text, "<string>", empty_nodes, require_labels)
    if len(parsed.trees) == 1:
        return parsed.trees[0]
    offset = int(parsed.first[1]) if parsed.trees else 0
    message = f"expected one tree, found {len(parsed.trees)}"
    raise parsed.items.error(WrongTreeCount, message, offset)


def _nodes(items: Items, lone_atom_is_token: bool) -> _Nodes:
    rows = np.flatnonzero(items.kinds == OPEN)
    # A closing bracket follows every opening one, so the first lookahead stays in range; the second
    # is only used after an atom.
    kinds = np.append(items.kinds, OPEN)
    has_atom = kinds[rows + 1] == ATOM
    has_second = has_atom & (kinds[np.minimum(rows + 2, len(items.kinds))] == ATOM)
    atom = np.cumsum(items.kinds == ATOM)[rows]  # index of the next atom
    label = np.where(has_atom, atom, _NOTHING)
    token = np.where(has_second, atom + 1, _NOTHING)
    parent = structure.parents_from_depths(items.level[rows])
    if lone_atom_is_token:
        is_leaf = structure.num_children(parent) == 0
        lone = is_leaf & has_atom & ~has_second
        label, token = np.where(lone, _NOTHING, label), np.where(lone, label, token)
    return _Nodes(parent, label, token, items.offsets[rows])


def _drop_empty(nodes: _Nodes, items: Items) -> _Nodes:
    """Drops nodes without a token in their subtree."""
    keep = structure.has_words(nodes.parent, nodes.token >= 0)
    empty_roots = np.flatnonzero((nodes.parent < 0) & ~keep)
    if empty_roots.size:
        offset = int(nodes.offset[empty_roots[0]])
        raise items.error(EmptyNode, "the tree has no token: expected at least one", offset)
    return nodes if keep.all() else nodes.keep(keep)


def _take_off_outer_brackets(nodes: _Nodes) -> _Nodes:
    """Drops roots without a label and with one child, as in ``( (S ...))``."""
    outer = (nodes.parent < 0) & (nodes.label < 0) & (structure.num_children(nodes.parent) == 1)
    return nodes.keep(~outer) if outer.any() else nodes


def _check_labels(nodes: _Nodes, items: Items) -> None:
    unlabelled = np.flatnonzero((nodes.label < 0) & (nodes.token < 0))
    if unlabelled.size:
        message = (
            "the node has no label: expected one after '(' "
            "(only an outer bracket around a single node may lack it)"
        )
        raise items.error(MissingLabel, message, int(nodes.offset[unlabelled[0]]))


def _fields(nodes: _Nodes, atoms: list[str]) -> list[TreeFields]:
    labels = list(map([*atoms, ""].__getitem__, nodes.label.tolist()))
    tokens = list(map([*atoms, None].__getitem__, nodes.token.tolist()))
    starts = np.flatnonzero(nodes.parent < 0)
    ends = np.append(starts[1:], len(nodes.parent))[: len(starts)]
    parent = nodes.parent - np.repeat(starts, ends - starts)
    parent[starts] = structure.NO_PARENT
    return [
        TreeFields(tuple(labels[start:end]), tuple(tokens[start:end]), parent[start:end].copy())
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
