"""A slow, simple reader of bracketed trees, as a reference for the fast one."""

from __future__ import annotations

import re


class BrokenError(Exception):
    """The text is not a sequence of trees."""


def read(text: str, empty_nodes: str, require_labels: bool) -> list:
    """Trees as ``(label, token, [children])``."""
    trees = []
    for group in _groups(text):
        tree = _node(group, 0, empty_nodes, require_labels)
        if tree is None:
            raise BrokenError("nothing left")
        trees.append(tree)
    return trees


def _groups(text: str) -> list:
    stack: list[list] = [[]]
    for item in re.findall(r"[()]|[^() \t\n\r\v\f]+", text):
        if item == "(":
            stack.append([])
        elif item == ")":
            group = stack.pop()
            if not stack:
                raise BrokenError("extra )")
            stack[-1].append(group)
        else:
            stack[-1].append(item)
    if len(stack) > 1 or any(isinstance(item, str) for item in stack[0]):
        raise BrokenError("unclosed, or text outside")
    return stack[0]


def _node(group: list, level: int, empty_nodes: str, require_labels: bool):
    label = group[0] if group and isinstance(group[0], str) else ""
    rest = group[1:] if label else group
    tokens = [item for item in rest if isinstance(item, str)]
    below = [item for item in rest if not isinstance(item, str)]
    if len(tokens) > 1 or (tokens and below):
        raise BrokenError("several tokens, or a token beside children")
    if tokens:
        return label, tokens[0], []
    if not below:
        if empty_nodes == "error":
            raise BrokenError("empty")
        return ("", label, []) if label and empty_nodes == "token" else None
    found = (_node(item, level + 1, empty_nodes, require_labels) for item in below)
    children = [child for child in found if child is not None]
    if not children:
        return None
    if not label and level == 0 and len(children) == 1:
        return children[0]
    if not label and require_labels:
        raise BrokenError("no label")
    return label, None, children
