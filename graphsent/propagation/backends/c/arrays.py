"""Which values of a recurrence have arrays, and which are computed where they are needed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from graphsent.propagation.recurrence.expressions import Domain, Value
from graphsent.propagation.recurrence.operations import OPERATIONS

LEAVES = ("input", "constant", "state", "gradient", "number", "degree")
"""Values that are there already."""

_ARRAYS = ("product", "back", "rowsum", "sum", "pull", "softmax", "pack")
CHEAP = 3
"""So many operations are done again where their result is needed again."""


class Unsupported(Exception):
    """Something that has an expression, but no C; the message says what."""


def choose_arrays(values: Sequence[Value], roots: Iterable[Value], known: set[Value]) -> set[Value]:
    """The values that get an array.

    Args:
        values: all that are computed, in order.
        roots: those that must have one.
        known: those that have one already.
    """
    uses = _uses(values)
    chosen = set(known) | {value for value in roots if value.op not in LEAVES}
    cost: dict[Value, int] = {}
    for value in values:
        if value.op in LEAVES or value in known:
            cost[value] = 0
            continue
        if value.domain == Domain.CONSTANT:
            raise Unsupported(f"it computes {value.op} of parameters for each node")
        made_of = sum(cost.get(ref.value, 0) for ref in value.args if ref.value not in chosen)
        cost[value] = 1 + made_of
        slow = value.op in _ARRAYS or (value.op in OPERATIONS and OPERATIONS[value.op].slow)
        if slow or _is_often_used(value, uses[value], cost[value]):
            chosen.add(value)
        if value.op == "product":
            chosen |= {term.rows for term in value.data if term.rows.op not in LEAVES}
    return chosen


def _is_often_used(value: Value, uses: list[tuple[Value, int, int]], cost: int) -> bool:
    """Whether it takes longer to do an operation again than to keep the result."""
    most = 0
    for _, first, last in uses:
        most = max(most, sum(a < last and first < b for _, a, b in uses))
    at_edges = value.domain != Domain.EDGE and any(
        user.domain == Domain.EDGE or user.op in ("sum", "pull") for user, *_ in uses
    )
    return (
        (most > 1 and cost > CHEAP) or (at_edges and cost > 1) or (value.op == "div" and most > 1)
    )


def _uses(values: Sequence[Value]) -> dict[Value, list[tuple[Value, int, int]]]:
    found: dict[Value, list[tuple[Value, int, int]]] = defaultdict(list)
    for value in values:
        for ref in value.args:
            last = ref.first + (1 if ref.spread else ref.width)
            found[ref.value].append((value, ref.first, last))
    return found


def needed(values: Iterable[Value], arrays: set[Value]) -> list[Value]:
    """What values that are computed where they are needed are made of: arrays and leaves."""
    found: dict[Value, None] = {}
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if value in arrays or value.op in LEAVES:
            found[value] = None
        else:
            waiting.extend(value.inputs())
    return list(found)
