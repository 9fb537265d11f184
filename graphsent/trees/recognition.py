"""Tells bracketed trees from raw text in brackets, where either is expected."""

from __future__ import annotations

import re
from collections.abc import Collection

from graphsent.trees.escapes import as_label

__all__ = ["begins_as_tree", "may_be_tree", "may_continue"]

_BEGINNING = re.compile(r"\s*([(\s]+)([^\s()]*)\s*(.?)", re.DOTALL)
_AFTER_WORD = ("", ")")
_WORDS = ("I", "A")  # words that look like labels


def may_be_tree(text: str, class_names: Collection[str] = ()) -> bool:
    """Whether a text is a tree if its brackets match; otherwise it is raw text.

    A text that begins with a bracket may be a tree if it has a second one. With a single bracket,
    as in ``(not good)``, or several at the beginning, as in ``((not good))``, it may be one only if
    a label follows, or a single word in brackets: ``((not) (good))``.

    Args:
        text: The text.
        class_names: Names that are labels, besides those that look like labels of a treebank.
    """
    if not text.lstrip().startswith("("):
        return False
    brackets, label, following = _beginning(text)
    if brackets > 1:  # whether words follow an inner label, the parser decides
        return following in (*_AFTER_WORD, "(") or _is_label(label, class_names)
    is_nested = text.count("(") > 1  # brackets among the words of a tree are escaped
    return is_nested or (_is_label(label, class_names) and following not in _AFTER_WORD)


def begins_as_tree(text: str, class_names: Collection[str] = ()) -> bool:
    """Whether a text whose brackets do not match is a broken tree; otherwise it is raw text.

    A broken tree begins with a bracket, perhaps a label, and a second bracket: ``(S (NP film``.

    Args:
        text: The text.
        class_names: As for :func:`may_be_tree`.
    """
    if not text.lstrip().startswith("("):
        return False
    brackets, label, following = _beginning(text)
    if brackets > 1:
        return following in _AFTER_WORD or _is_label(label, class_names)
    return following == "(" and _is_label(label, class_names)


def may_continue(text: str, class_names: Collection[str] = ()) -> bool:
    """Whether a line with more opening than closing brackets may be the first one of a tree.

    Before its end or second bracket, there is nothing but a label: ``(S``, ``(S (NP film)``. Where
    a word follows, as in ``(NN film``, the label must have a letter or digit: ``(: happy film`` is
    raw text.

    Args:
        text: The line, which begins with a bracket.
        class_names: As for :func:`may_be_tree`.
    """
    brackets, label, following = _beginning(text)
    if following in ("", "(") or (brackets > 1 and following == ")"):
        return True
    return _is_label(label, class_names) and any(map(str.isalnum, label))


def _beginning(text: str) -> tuple[int, str, str]:
    """The number of brackets at the beginning, the label or word after it, and what follows."""
    found = _BEGINNING.match(text)
    assert found is not None
    return found[1].count("("), found[2], found[3]


def _is_label(label: str, class_names: Collection[str]) -> bool:
    """Whether a label is the name of a class, or looks like one of a treebank: ``NP``, ``3``."""
    if label in class_names or label in map(as_label, class_names):
        return True
    has_lower = any(map(str.islower, label))
    return bool(label) and label.isascii() and not has_lower and label not in _WORDS
