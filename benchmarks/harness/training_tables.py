"""Markdown tables of the section ``training``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .measuring import Row, ratios
from .tables import grid, spread, unique
from .training import DGL, EARLY, FLUSHED, PROGRAM


def training(rows: Sequence[Row]) -> str:
    """How many times as fast as others; how fast everything is; what becomes of a step."""
    parts = (speed(rows), _settings(rows), _speeds(rows), _steps(rows))
    return "\n\n".join(part for part in parts if part)


def _settings(rows: Sequence[Row]) -> str:
    """Who flushes subnormal numbers where users run it."""
    of_users = {_name(row): _is(row, True) for row in rows if row.facts["users"]}
    flush, others = (
        ", ".join(_shown(name) for name in of_users if name != EARLY and of_users[name] == each)
        for each in (True, False)
    )
    return f"As users run it, flushed: {flush or 'none'}; not flushed: {others or 'none'}."


def speed(rows: Sequence[Row]) -> str:
    """How many times as fast as others ``graphsent train`` is; empty if there are no others."""
    lines = unique((row.case["model"], _name(row)) for row in _others(rows))

    def text(model: str, other: str, size: int, flushed: bool) -> str:
        pair = [_find(rows, model, size, name, flushed) for name in (other, PROGRAM)]
        return spread(ratios(*pair), 1) if all(pair) else "-"

    corner = f"`{PROGRAM}`, times as fast as"
    return _table(corner, lines, _others(rows), "as users run it", text)


def _speeds(rows: Sequence[Row]) -> str:
    """Trees a second."""
    chosen = [row for row in rows if row.contender != EARLY and _is_compared(row, rows)]
    lines = unique((row.case["model"], _name(row)) for row in chosen)

    def text(model: str, name: str, size: int, flushed: bool) -> str:
        row = _find(rows, model, size, name, flushed, by_users=False)
        return spread([row.trees / value for value in row.taken]) if row else "-"

    return _table("trees a second", lines, chosen, "not flushed", text)


def _table(
    corner: str,
    lines: Sequence[tuple[str, str]],
    rows: Sequence[Row],
    first: str,
    text: Callable[[str, str, int, bool], str],
) -> str:
    """A line for each contender of each model; two columns for each batch size."""
    names = {f"`{model}`, {_shown(name)}": (model, name) for model, name in lines}
    columns = {
        f"batch {size}, {'flushed' if flushed else first}": (size, flushed)
        for size in unique(row.case["batch"] for row in rows)
        for flushed in (False, True)
    }
    if not names:
        return ""
    return grid(corner, names, list(columns), lambda n, c: text(*names[n], *columns[c]))


def _steps(rows: Sequence[Row]) -> str:
    """What a step of the program takes, late and early, and its subnormal numbers."""
    lines = {
        f"`{model}`, batch {size}": (model, size)
        for model, size in unique((row.case["model"], row.case["batch"]) for row in rows)
    }

    def column(model: str, size: int, name: str) -> str:
        row = _find(rows, model, size, PROGRAM)
        if name == columns[0]:
            batches = row.trees // size or 1
            return spread([1e3 * value / batches for value in row.taken], 1)
        if name == columns[1]:
            return f"{row.trees / row.median:,.0f}"
        if name == columns[2]:
            early = _find(rows, model, size, EARLY)
            return spread(ratios(row, early), 2) if early else "-"
        if name == columns[4]:
            row = _find(rows, model, size, PROGRAM, flushed=False, by_users=False)
        return "{weights:,} / {gradients:,}".format(**row.facts) if row else "-"

    columns = (
        "ms a step",
        "examples a second",
        "late / early",
        "subnormal weights / gradients",
        "the same, never flushed",
    )
    return grid(f"`{PROGRAM}`", lines, columns, lambda n, c: column(*lines[n], c))


def _shown(name: str) -> str:
    return f"`{name}`" if name in (PROGRAM, DGL) else name


def _name(row: Row) -> str:
    return row.contender.removesuffix(FLUSHED)


def _others(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if _name(row) not in (PROGRAM, EARLY)]


def _is_compared(row: Row, rows: Sequence[Row]) -> bool:
    return any(row.case["model"] == other.case["model"] for other in _others(rows))


def _find(
    rows: Sequence[Row],
    model: str,
    size: int,
    name: str,
    flushed: bool = False,
    *,
    by_users: bool = True,
) -> Row | None:
    """The row of a contender: the flushed one, or the one that users have, or the other one."""
    for row in rows:
        if (row.case["model"], row.case["batch"], _name(row)) != (model, size, name):
            continue
        if row.facts["users"] if by_users and not flushed else _is(row, flushed):
            return row
    return None


def _is(row: Row, flushed: bool) -> bool:
    return row.contender.endswith(FLUSHED) == flushed
