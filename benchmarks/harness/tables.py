"""Markdown tables of the results."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .measuring import Row, ratios

BASE, LIMIT = "dgl", "limit"
OURS = "levels, words"


def grid(
    corner: str, rows: Iterable[str], columns: Sequence[str], text: Callable[[str, str], str]
) -> str:
    """A table with a name for each row."""
    lines = [f"| {corner} | " + " | ".join(columns) + " |", "| --- |" + " ---: |" * len(columns)]
    for row in rows:
        lines.append(f"| {row} | " + " | ".join(text(row, column) for column in columns) + " |")
    return "\n".join(lines)


def spread(values: Sequence[float], digits: int = 0) -> str:
    """The median, and the range."""
    if not values:
        return "-"
    low, middle, high = min(values), statistics.median(values), max(values)
    if len(values) == 1:
        return f"{middle:,.{digits}f}"
    return f"{middle:,.{digits}f} ({low:,.{digits}f}-{high:,.{digits}f})"


def unique(values: Iterable[Any]) -> list[Any]:
    """Each value once, in order."""
    return list(dict.fromkeys(values))


def _one(rows: Iterable[Row], contender: str, **case: Any) -> Row | None:
    for row in rows:
        if row.contender == contender and all(row.case[key] == case[key] for key in case):
            return row
    return None


def _columns(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Kinds and batch sizes."""
    kinds = unique(row.case["what"] for row in rows)
    sizes = unique(row.case["batch"] for row in rows)
    return {
        f"{kind}, batch {size}": {"what": kind, "batch": size} for kind in kinds for size in sizes
    }


def _speeds(rows: Sequence[Row]) -> str:
    columns = _columns(rows)

    def text(contender: str, column: str) -> str:
        row = _one(rows, contender, **columns[column])
        return "-" if row is None else spread([row.trees / value for value in row.taken])

    return grid("trees a second", unique(row.contender for row in rows), list(columns), text)


def _against(rows: Sequence[Row], base: str, names: Sequence[str], corner: str) -> str:
    """How many times as fast as ``base``."""
    columns = _columns(rows)

    def text(contender: str, column: str) -> str:
        theirs = _one(rows, base, **columns[column])
        ours = _one(rows, contender, **columns[column])
        return "-" if theirs is None or ours is None else spread(ratios(theirs, ours), 2)

    return grid(corner, names, list(columns), text)


def contenders(rows: Sequence[Row]) -> str:
    """Speeds, ratios to DGL and shares of the limit, for each cell."""
    parts = []
    for cell in unique(row.case["cell"] for row in rows):
        own = [row for row in rows if row.case["cell"] == cell]
        names = unique(row.contender for row in own)
        parts += [f"**{cell}**", _speeds(own)]
        others = [name for name in names if name != BASE]
        parts.append(_against(own, BASE, others, f"times as fast as `{BASE}`"))
        ours = [name for name in ("levels", OURS) if name in names]
        parts.append(_against(own, LIMIT, ours, f"share of `{LIMIT}`"))
    return "\n\n".join(parts)


def cells(rows: Sequence[Row]) -> str:
    """Ratios to DGL, and speeds of both, cell by cell."""
    names, columns = unique(row.case["cell"] for row in rows), _columns(rows)

    def pair(cell: str, column: str) -> list[Row | None]:
        return [_one(rows, name, cell=cell, **columns[column]) for name in ("dgl", OURS)]

    def ratio(cell: str, column: str) -> str:
        theirs, ours = pair(cell, column)
        return "-" if theirs is None or ours is None else spread(ratios(theirs, ours), 1)

    def speeds(cell: str, column: str) -> str:
        return " / ".join(
            f"{row.trees / row.median:,.0f}" if row else "-" for row in pair(cell, column)
        )

    return "\n\n".join(
        (
            grid(f"`{OURS}`, times as fast as `dgl`", names, list(columns), ratio),
            grid(f"trees a second, `dgl` / `{OURS}`", names, list(columns), speeds),
        )
    )


def _growth(rows: Sequence[Row], key: str, corner: str, per: Callable[[Row], float]) -> str:
    """Milliseconds, and microseconds a unit, for sizes of something."""
    contenders, kinds = (
        unique(row.contender for row in rows),
        unique(row.case["what"] for row in rows),
    )
    columns = {f"{name}, {kind}": (name, kind) for kind in kinds for name in contenders}

    def text(size: str, column: str) -> str:
        name, kind = columns[column]
        row = _one(rows, name, **{"what": kind, key: int(size.replace(",", ""))})
        if row is None:
            return "-"
        batch = row.median / row.case.get("batches", 1)
        return f"{1e3 * batch:,.1f} ms, {1e6 * row.median / per(row):,.1f} µs"

    sizes = [f"{size:,}" for size in unique(row.case[key] for row in rows)]
    return grid(corner, sizes, list(columns), text)


def chains(rows: Sequence[Row]) -> str:
    """Time of a chain, and of each of its levels."""
    parts = []
    for count in unique(row.case["chains"] for row in rows):
        own = [row for row in rows if row.case["chains"] == count]
        title = f"depth; {count} chain{'s' if count > 1 else ''}; time in all and of a level"
        parts.append(_growth(own, "depth", title, lambda row: row.case["depth"]))
    return "\n\n".join(parts)


def stars(rows: Sequence[Row]) -> str:
    """Time of a star, and of each of its nodes."""
    return _growth(rows, "width", "children; time in all and of a node", lambda row: row.nodes)


def sizes(rows: Sequence[Row]) -> str:
    """Time of a batch, and of each of its nodes."""
    corner = "nodes, about; time of a batch and of a node"
    return _growth(rows, "nodes", corner, lambda row: row.nodes)


def threads(rows: Sequence[Row]) -> str:
    """How many times as fast two threads are as one."""
    names = unique(row.contender.rpartition(", ")[0] for row in rows)
    columns = _columns(rows)

    def text(name: str, column: str) -> str:
        one, two = (
            _one(rows, f"{name}, {count}", **columns[column]) for count in ("1 thread", "2 threads")
        )
        return "-" if one is None or two is None else spread(ratios(one, two), 2)

    return grid("two threads, times as fast as one", names, list(columns), text)


def memory(rows: Sequence[Row]) -> str:
    """Megabytes, and the ratio to DGL."""
    columns = {f"{row.case['cell']}, batch {row.case['batch']}": row.case["cell"] for row in rows}

    def text(name: str, column: str) -> str:
        row, base = (_one(rows, each, cell=columns[column]) for each in (name, "dgl"))
        if row is None:
            return "-"
        ratio = "" if base is None else f", {row.median / base.median:.2f}"
        return f"{row.median / 2**20:,.0f} MiB{ratio}"

    names = unique(row.contender for row in rows)
    return grid("beyond what was there before, ratio to `dgl`", names, list(columns), text)
