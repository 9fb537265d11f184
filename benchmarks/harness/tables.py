"""Markdown tables of the results."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .measuring import Row, ratios
from .options import DGL, FIRST, PROGRAM

BASE, OURS = "dgl", "levels, words"
MS = " (ms)"
LATE = "time relative to first steps"


def grid(
    corner: str, rows: Iterable[str], columns: Sequence[str], text: Callable[[str, str], str]
) -> str:
    """A table with named rows and columns."""
    lines = [f"| {corner} | " + " | ".join(columns) + " |", "| --- |" + " ---: |" * len(columns)]
    for row in rows:
        lines.append(f"| {row} | " + " | ".join(text(row, column) for column in columns) + " |")
    return "\n".join(lines)


def spread(values: Sequence[float], digits: int = 0) -> str:
    """The median and the range."""
    if not values:
        return "-"
    low, middle, high = (f"{f(values):,.{digits}f}" for f in (min, statistics.median, max))
    return middle if len(values) == 1 else f"{middle} ({low}-{high})"


def compared(rows: Mapping[str, Mapping[str, Sequence[float]]], ratio: str) -> str:
    """Milliseconds of two contenders, and the ratio of the second's to the first's.

    All are medians over the rounds.

    Args:
        rows: Setting -> contender -> seconds in each round.
        ratio: The name of the last column.
    """

    def text(setting: str, column: str) -> str:
        seconds = rows[setting]
        if column != ratio:
            return f"{1000 * statistics.median(seconds[column.removesuffix(MS)]):.2f}"
        rounds = zip(*seconds.values(), strict=True)
        return f"{statistics.median(second / first for first, second in rounds):.2f}"

    names = next(iter(rows.values()))
    return grid("", rows, [*(f"{name}{MS}" for name in names), ratio], text) + "\n"


def unique(values: Iterable[Any]) -> list[Any]:
    """Each value once, in order."""
    return list(dict.fromkeys(values))


def _one(rows: Iterable[Row], contender: str, case: dict[str, Any]) -> Row | None:
    for row in rows:
        if row.contender == contender and case.items() <= row.case.items():
            return row
    return None


def _columns(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Kinds and batch sizes."""
    kinds = unique(row.case["what"] for row in rows)
    sizes = unique(row.case["batch"] for row in rows)
    return {
        f"{kind}, batch {size}": {"what": kind, "batch": size} for kind in kinds for size in sizes
    }


def _times_as_fast(base: Row | None, row: Row | None, digits: int) -> str:
    return spread(ratios(base, row), digits) if base and row else "-"


def training(rows: Sequence[Row]) -> str:
    """Speedups over others, speeds of all, and the time of a step."""
    compared = [row for row in rows if row.contender != FIRST]
    parts = (speed(compared), _settings(compared), _speeds(compared), _steps(rows))
    return "\n\n".join(filter(None, parts))


def speed(rows: Sequence[Row]) -> str:
    """Speedups of ``graphsent train`` over others; empty if there are no others."""

    def text(other: str, **case: Any) -> str:
        return _times_as_fast(*(_trained(rows, name, **case) for name in (other, PROGRAM)), 1)

    others = [row for row in rows if row.contender not in (PROGRAM, FIRST)]
    return _training_table(f"speedup of `{PROGRAM}` over", others, "as users run it", text)


def _settings(rows: Sequence[Row]) -> str:
    """Which contenders flush subnormal numbers as users run them."""
    flushed, others = (
        ", ".join(unique(_shown(row) for row in rows if row.users and row.case["flushed"] == each))
        for each in (True, False)
    )
    return f"As users run it, flushed: {flushed or 'none'}; not flushed: {others or 'none'}."


def _speeds(rows: Sequence[Row]) -> str:
    """Examples per second, of models with contenders."""
    compared = {row.case["model"] for row in rows if row.contender != PROGRAM}

    def text(name: str, flushed: bool | None, **case: Any) -> str:
        row = _trained(rows, name, flushed=bool(flushed), **case)
        return spread([row.trees / value for value in row.taken]) if row else "-"

    chosen = [row for row in rows if row.case["model"] in compared]
    return _training_table("examples/s", chosen, "not flushed", text)


def _training_table(corner: str, rows: Sequence[Row], first: str, text: Callable[..., str]) -> str:
    """One line per contender and model: two columns for each batch size.

    Models that were timed at one batch size are in a table of their own, where lines name it.
    """
    sizes: dict[str, set[int]] = {}
    for row in rows:
        sizes.setdefault(row.case["model"], set()).add(row.case["batch"])
    tables = []
    for alone in (False, True):
        own = [row for row in rows if (len(sizes[row.case["model"]]) == 1) == alone]
        lines, columns = {}, {}
        for row in own:
            model, batch = row.case["model"], f"batch {row.case['batch']}, "
            lines[f"`{model}`, {batch if alone else ''}{_shown(row)}"] = row
            for flushed, name in ((None, first), (True, "flushed")):
                case = {"flushed": flushed} if alone else {**row.case, "flushed": flushed}
                columns[f"{'' if alone else batch}{name}"] = case

        def cell(line: str, column: str, lines: dict = lines, columns: dict = columns) -> str:
            row = lines[line]
            case = {"batch": row.case["batch"], **columns[column], "model": row.case["model"]}
            return text(row.contender, **case)

        if lines:
            tables.append(grid(corner, lines, list(columns), cell))
    return "\n\n".join(tables)


def _trained(rows: Sequence[Row], name: str, flushed: bool | None, **case: Any) -> Row | None:
    """The row of a contender, as users run it unless ``flushed`` is given."""
    if flushed is None:
        return _one([row for row in rows if row.users], name, case)
    return _one(rows, name, {**case, "flushed": flushed})


def _steps(rows: Sequence[Row]) -> str:
    """The time of a step of the program, also relative to one before training."""
    own = [row for row in rows if row.users and row.contender == PROGRAM]
    lines = {f"`{row.case['model']}`, batch {row.case['batch']}": row for row in own}

    def text(line: str, column: str) -> str:
        row = lines[line]
        if column == "examples/s":
            return f"{row.trees / row.median:,.0f}"
        if column == LATE:
            first = _one(rows, FIRST, {name: row.case[name] for name in ("model", "batch")})
            return spread(ratios(row, first), 2) if first else "-"
        batches = row.trees // row.case["batch"] or 1
        return spread([1e3 * value / batches for value in row.taken], 1)

    return grid(f"`{PROGRAM}`", lines, ["ms/step", "examples/s", LATE], text)


def _shown(row: Row) -> str:
    return f"`{row.contender}`" if row.contender in (PROGRAM, DGL) else row.contender


def contenders(rows: Sequence[Row]) -> str:
    """Speeds and speedups over DGL, for each cell."""
    parts = []
    for cell in unique(row.case["cell"] for row in rows):
        own = [row for row in rows if row.case["cell"] == cell]
        names, columns = unique(row.contender for row in own), _columns(own)

        def speed(name: str, column: str, own: list[Row] = own, columns: dict = columns) -> str:
            row = _one(own, name, columns[column])
            return spread([row.trees / value for value in row.taken]) if row else "-"

        def ratio(name: str, column: str, own: list[Row] = own, columns: dict = columns) -> str:
            return _times_as_fast(*(_one(own, each, columns[column]) for each in (BASE, name)), 2)

        others = [name for name in names if name != BASE]
        parts += [f"**{cell}**", grid("trees/s", names, list(columns), speed)]
        parts.append(grid(f"speedup over `{BASE}`", others, list(columns), ratio))
    return "\n\n".join(parts)


def cells(rows: Sequence[Row]) -> str:
    """Speedups over DGL, and speeds of both, for each cell."""
    names, columns = unique(row.case["cell"] for row in rows), _columns(rows)

    def pair(cell: str, column: str) -> list[Row | None]:
        return [_one(rows, name, {"cell": cell, **columns[column]}) for name in (BASE, OURS)]

    def ratio(cell: str, column: str) -> str:
        return _times_as_fast(*pair(cell, column), 1)

    def speeds(cell: str, column: str) -> str:
        return " / ".join(
            f"{row.trees / row.median:,.0f}" if row else "-" for row in pair(cell, column)
        )

    ratio_table = grid(f"speedup of `{OURS}` over `{BASE}`", names, list(columns), ratio)
    return f"{ratio_table}\n\n" + grid(
        f"trees/s, `{BASE}` / `{OURS}`", names, list(columns), speeds
    )


def _growth(rows: Sequence[Row], key: str, corner: str, per: Callable[[Row], float]) -> str:
    """Milliseconds per batch and microseconds per unit, by size."""
    names = unique(row.contender for row in rows)
    kinds = unique(row.case["what"] for row in rows)
    columns = {f"{name}, {kind}": (name, kind) for kind in kinds for name in names}
    sizes = {f"{size:,}": size for size in unique(row.case[key] for row in rows)}

    def text(size: str, column: str) -> str:
        name, kind = columns[column]
        row = _one(rows, name, {"what": kind, key: sizes[size]})
        if row is None:
            return "-"
        batch = row.median / row.case.get("batches", 1)
        return f"{1e3 * batch:,.1f} ms, {1e6 * row.median / per(row):,.1f} µs"

    return grid(corner, sizes, list(columns), text)


def chains(rows: Sequence[Row]) -> str:
    """Time per batch of chains, and per level."""
    parts = []
    for count in unique(row.case["chains"] for row in rows):
        own = [row for row in rows if row.case["chains"] == count]
        title = f"depth, {count} chain{'s' if count > 1 else ''}; time in total, per level"
        parts.append(_growth(own, "depth", title, lambda row: row.case["depth"]))
    return "\n\n".join(parts)


def stars(rows: Sequence[Row]) -> str:
    """Time per star, and per node."""
    return _growth(rows, "width", "children; time in total, per node", lambda row: row.nodes)


def sizes(rows: Sequence[Row]) -> str:
    """Time per batch, and per node."""
    corner = "nodes, approximately; time per batch, per node"
    return _growth(rows, "nodes", corner, lambda row: row.nodes)


def threads(rows: Sequence[Row]) -> str:
    """Speedups of two threads over one."""
    names, columns = unique(row.contender.rpartition(", ")[0] for row in rows), _columns(rows)

    def text(name: str, column: str) -> str:
        pair = (f"{name}, 1 thread", f"{name}, 2 threads")
        return _times_as_fast(*(_one(rows, each, columns[column]) for each in pair), 2)

    return grid("speedup of two threads over one", names, list(columns), text)


def memory(rows: Sequence[Row]) -> str:
    """Megabytes, and the ratio to DGL."""
    columns = {f"{row.case['cell']}, batch {row.case['batch']}": row.case["cell"] for row in rows}

    def text(name: str, column: str) -> str:
        row, base = (_one(rows, each, {"cell": columns[column]}) for each in (name, BASE))
        if row is None:
            return "-"
        ratio = "" if base is None else f", {row.median / base.median:.2f}"
        return f"{row.median / 2**20:,.0f} MiB{ratio}"

    names = unique(row.contender for row in rows)
    return grid(f"additional memory, ratio to `{BASE}`", names, list(columns), text)
