"""Finds the label and text columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphsent._names import listed, nearest
from graphsent.errors import DataError

__all__ = ["Columns", "find_columns", "is_text_name"]

_SHOWN = 30  # characters of a name in a message
_MOST_LISTED = 20  # names in a message
# Common column names, looked for in this order, ignoring case.
_LABELS = ("label", "class", "category", "target", "sentiment", "score", "rating", "stars")
_TEXTS = ("text", "sentence", "review", "content", "phrase", "question", "tweet", "comment")
_USUAL = frozenset((*_LABELS, *_TEXTS))
_PAIRS = (
    ("sentence1", "sentence2"),
    ("sentence_1", "sentence_2"),
    ("sentence_a", "sentence_b"),
    ("text1", "text2"),
    ("text_1", "text_2"),
    ("text_a", "text_b"),
    ("question1", "question2"),
    ("premise", "hypothesis"),
    ("first", "second"),
)


@dataclass(frozen=True)
class Columns:
    """The columns of a table.

    Attributes:
        names: Names of all columns in order; their numbers from 1 if the table has no header.
        label: Index of the label column; None if labels come from elsewhere.
        texts: Indices of the text columns: one, or two for pairs.
        has_header: Whether the first row names the columns.
    """

    names: tuple[str, ...]
    label: int | None
    texts: tuple[int, ...]
    has_header: bool


def find_columns(
    first: Sequence[str],
    text_columns: Sequence[str] = (),
    label_column: str | None = None,
    *,
    where: str,
    may_lack_header: bool = False,
    with_label: bool = True,
) -> Columns:
    """Finds the columns of a table from its first row.

    Args:
        first: The cells of the first row.
        text_columns: Names of the text columns, one or two; by default, common names are looked
            for. A number that is not a name counts columns from 1. If only numbers are given, the
            table has no header, unless they all are names.
        label_column: As ``text_columns``, for the label column.
        where: File and line, for errors.
        may_lack_header: Whether a first row of two cells without common names is an example,
            label and text, rather than a header. With only one common name, it may be either.
        with_label: Whether a label column is required. If not, a common name of a text column,
            beside a cell without spaces, is enough for a header.

    Raises:
        DataError: A column does not exist or is ambiguous, or none has a common name; or the first
            row may be an example as well as a header.
    """
    names = tuple(name.strip() for name in first)
    given = (*text_columns, *([label_column] if label_column else ()))
    # Examples may hold numbers, too, such as labels; a header of numbers has no cell with a space.
    by_number = all(_is_number(name, names) for name in given) and (
        not set(given) <= set(names) or any(" " in name for name in names)
    )
    if given and by_number:
        positions = {name: int(name) - 1 for name in given}
        chosen = [names[place].lower() for place in positions.values()]
        if all(cell in _USUAL for cell in chosen):
            raise DataError(
                f"{where}: {_listed(names)} looks like a header, but columns given by number mean "
                "that there is none: give their names"
            )
        names = tuple(map(str, range(1, len(names) + 1)))
        has_header = False
    else:
        positions = {name: _find(name, names, where) for name in given}
        if may_lack_header and not given and _is_example(names, where, with_label):
            return Columns(("1", "2"), 0 if with_label else None, (1,), False)
        has_header = True
    label = positions[label_column] if label_column else None
    texts = tuple(positions[name] for name in text_columns)
    if label is None and with_label:
        label = _other_label(names, texts, where)
    if not texts:
        texts = _other_texts(names, label, where)
    if label in texts or len(set(texts)) < len(texts):
        twice = names[label] if label in texts else names[texts[0]]
        raise DataError(f"{where}: the column {twice!r} is named twice: expected different columns")
    return Columns(names, label, texts, has_header)


def _is_example(names: Sequence[str], where: str, with_label: bool) -> bool:
    """Whether a first row is an example of two cells; an error if it may be a header, too."""
    usual_label, usual_texts = _usual_label(names), _usual_texts(names)
    has_text = bool(usual_texts) and " " not in names[-1]
    usual = (usual_label is not None and bool(usual_texts)) or (has_text and not with_label)
    if len(names) != 2 or usual:
        return False
    if usual_label is not None or has_text:
        header, example = (
            ("--label-column NAME --text-column NAME", "--label-column 1 --text-column 2")
            if with_label
            else ("--text-column NAME", "--text-column 2")
        )
        raise DataError(
            f"{where}: {_listed(names)}: a header or an example? For a header, add {header}; for "
            f"an example, {example}"
        )
    return True


def is_text_name(cell: str) -> bool:
    """Whether a cell is a common name of a text column."""
    return cell.strip().lower() in _TEXTS


def _find(name: str, names: Sequence[str], where: str) -> int:
    for known, wanted in ((list(names), name), (_lower(names), name.lower())):
        if known.count(wanted) > 1:
            raise DataError(f"{where}: the column {name!r} occurs {known.count(wanted)} times")
        if wanted in known:
            return known.index(wanted)
    if _is_number(name, names):
        return int(name) - 1
    raise DataError(
        f"{where}: no column {name!r}: expected one of {_listed(names)}{nearest(name, names)}"
    )


def _is_number(name: str, names: Sequence[str]) -> bool:
    return name.isascii() and name.isdigit() and 1 <= int(name) <= len(names)


def _other_label(names: Sequence[str], texts: Sequence[int], where: str) -> int:
    label = _usual_label(names)
    if label is not None and label not in texts:
        return _find(names[label], names, where)
    if len(names) == 2 and len(texts or _usual_texts(names)) == 1:
        return 1 - (texts or _usual_texts(names))[0]
    raise DataError(
        f"{where}: which column holds the label? Name one of {_listed(names)} with --label-column, "
        "or give its number if this is not a header"
    )


def _other_texts(names: Sequence[str], label: int | None, where: str) -> tuple[int, ...]:
    texts = tuple(index for index in _usual_texts(names) if index != label)
    others = [name for index, name in enumerate(names) if index != label]
    if len(set(_lower(others)) & set(_TEXTS)) > 1:
        raise DataError(
            f"{where}: which column holds the text? Name one of {_listed(others)} with "
            "--text-column, or two for pairs"
        )
    if texts:
        return tuple(_find(names[index], names, where) for index in texts)
    if len(names) == 2 and label is not None:
        return (1 - label,)
    raise DataError(
        f"{where}: which column holds the text? Name one of {_listed(names)}, or two for pairs, "
        "with --text-column, or give its number if this is not a header"
    )


def _usual_label(names: Sequence[str]) -> int | None:
    lower = _lower(names)
    return next((lower.index(name) for name in _LABELS if name in lower), None)


def _usual_texts(names: Sequence[str]) -> tuple[int, ...]:
    lower = _lower(names)
    for name in _TEXTS:
        if name in lower:
            return (lower.index(name),)
    for pair in _PAIRS:
        if all(name in lower for name in pair):
            return tuple(map(lower.index, pair))
    return ()


def _lower(names: Sequence[str]) -> list[str]:
    return [name.lower() for name in names]


def _listed(names: Sequence[str]) -> str:
    return listed([repr(name[:_SHOWN]) for name in names], _MOST_LISTED)
