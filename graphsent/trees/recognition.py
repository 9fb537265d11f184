"""Tells bracketed trees from raw text in brackets, where either is expected."""

from __future__ import annotations

import re
from collections.abc import Collection

__all__ = ["begins_as_tree", "may_be_tree"]

_BEGINNING = re.compile(r"\s*\(\s*([^\s()]*)\s*(.?)", re.DOTALL)
_WORDS = ("I", "A")  # words that look like labels


def may_be_tree(text: str, class_names: Collection[str] = ()) -> bool:
    """Whether a text is a tree if its brackets match; otherwise it is raw text.

    A text that begins with a bracket may be a tree if it has a second one. With a single bracket,
    as in ``(not good)``, it may be one only if it begins with a label.

    Args:
        text: The text.
        class_names: Names that are labels, besides those that look like labels of a treebank.
    """
    if not text.lstrip().startswith("("):
        return False
    if _is_nested(text):
        return True
    label, next_character = _beginning(text)
    return _is_label(label, class_names) and next_character not in ("", ")")


def begins_as_tree(text: str, class_names: Collection[str] = ()) -> bool:
    """Whether a text whose brackets do not match is a broken tree; otherwise it is raw text.

    A broken tree begins with a bracket, perhaps a label, and a second bracket: ``(S (NP film``.

    Args:
        text: The text.
        class_names: As for :func:`may_be_tree`.
    """
    if not text.lstrip().startswith("("):
        return False
    label, next_character = _beginning(text)
    return next_character == "(" and (not label or _is_label(label, class_names))


def _is_nested(text: str) -> bool:
    return text.count("(") > 1  # brackets among the words of a tree are escaped


def _beginning(text: str) -> tuple[str, str]:
    """The label after the first bracket, and the character after it."""
    found = _BEGINNING.match(text)
    assert found is not None
    return found[1], found[2]


def _is_label(label: str, class_names: Collection[str]) -> bool:
    """Whether a label is the name of a class, or looks like one of a treebank: ``NP``, ``3``."""
    if label in class_names or label.replace("_", " ") in class_names:  # as written by predict
        return True
    has_lower = any(map(str.islower, label))
    return bool(label) and label.isascii() and not has_lower and label not in _WORDS
