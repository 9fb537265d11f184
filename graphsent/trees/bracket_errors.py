"""Finds errors in bracketed text."""

from __future__ import annotations

import numpy as np

from graphsent._names import quoted
from graphsent.trees.bracket_items import ATOM, CLOSE, OPEN, Items
from graphsent.trees.errors import (
    EmptyNode,
    ExtraCloseBracket,
    MixedChildren,
    SeveralTokens,
    TextOutsideTree,
    TreeError,
    UnclosedTree,
)

_SHOWN = 30  # characters of a line in a message


def check_items(items: Items, *, allow_empty: bool) -> None:
    """Raises the error of the first item that may not follow the items before it.

    Args:
        items: The items of the whole text.
        allow_empty: Whether ``()`` and ``(atom)`` are allowed.

    Raises:
        TreeError: The text is malformed; the subclass says how.
    """
    kinds, level = items.kinds, items.level
    last, second_last = items.before(1), items.before(2)
    is_atom, is_open, is_close = kinds == ATOM, kinds == OPEN, kinds == CLOSE
    after_label = (last == ATOM) & (second_last == OPEN)
    after_token = (last == ATOM) & (second_last != OPEN)
    faults: list[tuple[type[TreeError], np.ndarray]] = [
        (ExtraCloseBracket, is_close & (level == 0)),
        (TextOutsideTree, is_atom & (level == 0)),
        (SeveralTokens, is_atom & after_token),
        (MixedChildren, (is_atom & (last == CLOSE)) | (is_open & after_token)),
    ]
    if not allow_empty:
        faults.append((EmptyNode, is_close & ((last == OPEN) | after_label)))

    found = [(int(np.argmax(mask)), error) for error, mask in faults if mask.any()]
    if found:
        # min() keeps the first in the list of several faults at the same item.
        item, error = min(found, key=lambda fault: fault[0])
        item, message = _describe(error, items, item)
        raise items.error(error, message, int(items.offsets[item]))
    if items.final_level:
        raise _unclosed(items)


def _unclosed(items: Items) -> TreeError:
    outermost = int(np.flatnonzero((items.level == 0) & (items.kinds == OPEN))[-1])
    last_line = items.line_of(len(items.data.rstrip()))
    message = (
        f"the bracket {_excerpt(items, outermost)} is not closed: expected "
        f"{items.final_level} more ')' before the end of the text in line {last_line}"
    )
    return items.error(UnclosedTree, message, int(items.offsets[outermost]))


def _describe(error: type[TreeError], items: Items, item: int) -> tuple[int, str]:
    """The offending item, and what is wrong with it."""
    found = items.text(item)
    if error is ExtraCloseBracket:
        return item, "')' closes nothing: expected '(' or the end of the text"
    if error is TextOutsideTree:
        return item, f"{quoted(found)} is outside of any tree: expected '('"
    if error is SeveralTokens:
        token = quoted(items.text(item - 1))
        return item, f"token {quoted(found)} follows token {token} in one node: expected ')'"
    if error is MixedChildren:
        if found == "(":
            token = items.text(item - 1)
            return item, f"a child node follows token {token!r}: expected ')'"
        return item, f"token {found!r} follows a child node: expected '(' or ')'"
    opening = item - 1 if items.kinds[item - 1] == OPEN else item - 2
    lone = items.text(item - 1) if opening == item - 2 else ""
    return opening, (
        f"node ({lone}) has neither a token nor children: expected '(label token)' "
        "(empty_nodes='drop' or 'token' accepts such nodes)"
    )


def _excerpt(items: Items, item: int) -> str:
    start = int(items.offsets[item])
    line = items.data[start : start + 4 * _SHOWN].decode("utf-8", "ignore").partition("\n")[0]
    return quoted(line.rstrip(), _SHOWN)
