"""Straight-line code of operations of torch, which runs once a level or once for all levels."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from graphsent.propagation.recurrence.expressions import Domain, Ref, Value
from graphsent.propagation.recurrence.operations import copy
from graphsent.propagation.schedule.adjacency import Incoming, Outgoing

Key = tuple[Hashable, ...]
INCOMING: Key = ("incoming",)
OUTGOING: Key = ("outgoing",)


class Steps:
    """Operations, one after the other.

    They work on rows of arrays, on tensors that are the same at all levels, and on their results.

    Args:
        homes: values that are columns of an array: its name and the first column. Others are made
            where they are needed.
    """

    def __init__(self, homes: Mapping[Value, tuple[Hashable, int]]) -> None:
        self.homes = homes
        self.steps: list[tuple[Callable[..., Tensor], Key, tuple[Key, ...]]] = []
        self.made: set[Key] = set()
        self.instead: dict[Value, Key] = {}  # what holds a value in place of something else

    # Writing

    def read(self, ref: Ref) -> Key:
        """The operand that holds some columns of a value, one column if they are all the first."""
        value, width = ref.value, 1 if ref.spread else ref.width
        if value.op == "number":
            return "number", value.data
        if value.op == "constant":
            return "constant", value.data, ref.first, width
        if value in self.homes:
            array, first = self.homes[value]
            kind = "all" if value.domain == Domain.CONSTANT else "rows"
            return kind, array, first + ref.first, width
        whole = self.instead.get(value, ("made", value))
        if width == value.width:
            return whole
        part = *whole, ref.first, width
        if part not in self.made:
            self.add(_columns, part, whole, ("fixed", ref.first), ("fixed", width))
        return part

    def reuse(self, value: Value, args: Iterable[Ref], uses: Sequence[Ref]) -> None:
        """Makes a value in the place of an argument that was made and that nothing else reads.

        Without this a pass forward takes 1.08 times as long.

        Args:
            value: what is made.
            args: what its first operation reads.
            uses: all that is read, here or by others.
        """
        for ref in () if value in self.homes else args:
            fits = (ref.width, ref.value.domain) == (value.width, value.domain) and not ref.spread
            made = self.instead.get(ref.value, ("made", ref.value)) in self.made
            if fits and made and sum(map(ref.overlaps, uses)) == 1:
                self.instead[value] = self.read(ref)
                return

    def add(self, function: Callable[..., Tensor], to: Key, *args: Key) -> None:
        """Calls a function with operands, ``out`` being another one if it is there already."""
        self.steps.append((function, to, args))
        if to[0] == "made":
            self.made.add(to)

    # Running

    def link(self, wanted: Iterable[Key] = ()) -> Linked:
        """The same with numbers in place of operands, some of which are wanted in any case."""
        wanted = list(wanted)  # which may add steps
        keys = [key for _, to, args in self.steps for key in (to, *args)]
        keys = dict.fromkeys([*keys, *wanted])
        rows = [key for key in keys if key[0] == "rows"]
        made = [key for key in keys if key[0] == "made"]
        shared = [key for key in keys if key not in {INCOMING, OUTGOING, *rows, *made}]
        place = {key: n for n, key in enumerate([INCOMING, OUTGOING, *rows, *shared, *made])}
        steps = [(f, place[to], [place[arg] for arg in args]) for f, to, args in self.steps]
        return Linked(rows, shared, len(made), steps, place)


class Linked:
    """What :meth:`Steps.link` gives.

    Args:
        rows: columns of arrays.
        shared: tensors that are the same at all levels.
        num_made: so many operands are made by the steps.
        steps: functions, the number of what each makes, and those of its arguments.
        place: the number of each operand.
    """

    def __init__(
        self,
        rows: Sequence[Key],
        shared: Sequence[Key],
        num_made: int,
        steps: Sequence[tuple[Callable[..., Tensor], int, list[int]]],
        place: Mapping[Key, int],
    ) -> None:
        self.rows, self.shared, self.num_made = rows, shared, num_made
        self.steps, self.place = steps, place

    def frames(
        self,
        links: Sequence[tuple[Incoming | None, Outgoing | None]],
        columns: Callable[[Key], Sequence[Tensor]],
        tensor: Callable[[Key], Any],
    ) -> list[list[Any]]:
        """The operands of each level.

        Args:
            links: to and from the nodes of each level.
            columns: the rows of each level of some columns of an array.
            tensor: an operand that is the same at all levels.
        """
        rest = [tensor(key) for key in self.shared] + [None] * self.num_made
        split = zip(*map(columns, self.rows), strict=True) if self.rows else [()] * len(links)
        return [[*link, *rows, *rest] for link, rows in zip(links, split, strict=True)]

    def run(self, frame: list[Any]) -> None:
        """Runs the steps on the operands of a level."""
        for function, to, args in self.steps:
            frame[to] = function(*[frame[arg] for arg in args], out=frame[to])


# Functions of operands; ``out`` is None where there is no place for the result yet.


def _columns(rows: Tensor, first: int, width: int, out: None = None) -> Tensor:
    return rows.narrow(1, first, width)


def products(
    *operands: Tensor,
    places: Sequence[tuple[int, int, bool]],
    width: int,
    out: Tensor | None = None,
) -> Tensor:
    """Products of pairs of matrices.

    Args:
        *operands: the pairs, one after the other.
        places: the first column of each product, how many it has, and whether it is added to what
            is there; those with most columns come first.
        width: of all of them together.
        out: where they belong, (rows, width).
    """
    if out is None:
        out = operands[0].new_empty(len(operands[0]), width)
    for a, b, (first, count, more) in zip(operands[::2], operands[1::2], places, strict=True):
        part = out if count == width else out.narrow(1, first, count)
        torch.addmm(part, a, b, out=part) if more else torch.mm(a, b, out=part)
    return out


def minus_product(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    """``-a * b``."""
    return torch.mul(a, b, out=out).neg_()


def row_sum(rows: Tensor, out: Tensor | None = None) -> Tensor:
    """Sums of the columns, (rows, 1)."""
    return torch.sum(rows, 1, keepdim=True, out=out)


def side_by_side(*parts: Tensor, widths: Sequence[int], out: Tensor | None = None) -> Tensor:
    """Columns side by side, some of which are given once for several."""
    if out is None:
        num_rows = max(len(part) for part in parts)
        out = parts[0].new_empty(num_rows, sum(widths))
    for part, columns in zip(parts, out.split(widths, 1), strict=True):
        columns.copy_(part)
    return out


def gather(links: Incoming, rows: Tensor, out: Tensor | None = None) -> Tensor:
    """Rows of sources at the messages."""
    return torch.index_select(rows, 0, links.source, out=out)


def gather_slots(links: Incoming, rows: Tensor, out: Tensor | None = None) -> Tensor:
    """Rows of sources in the slots, side by side."""
    count = len(links.source) // (len(links.first) - 1)
    if out is not None:
        torch.index_select(rows, 0, links.source, out=out.view(-1, rows.shape[1]))
        return out
    return torch.index_select(rows, 0, links.source).view(-1, count * rows.shape[1])


def expand(links: Incoming, rows: Tensor, out: Tensor | None = None) -> Tensor:
    """Rows of targets at the messages."""
    return torch.index_select(rows, 0, links.target, out=out)


def sum_messages(links: Incoming, rows: Tensor, out: Tensor | None = None) -> Tensor:
    """Sums of rows of messages by target.

    Rounding grows with the number of messages up to ``SUMMED_AT_ONCE``, and hardly beyond.
    """
    return _summed(rows, links.rows, links, out, lambda at: rows[at])


def sum_sources(links: Incoming, rows: Tensor, out: Tensor | None = None) -> Tensor:
    """Sums of rows of sources by target, as of their messages."""
    found = lambda at: rows.index_select(0, links.source[at])  # noqa: E731
    return _summed(rows, links.source, links, out, found)


def _summed(
    rows: Tensor,
    index: Tensor,
    links: Incoming,
    out: Tensor | None,
    found: Callable[[slice], Tensor],
) -> Tensor:
    result = _bags(rows, index, links.first)
    for targets, messages in links.wide:
        parts = found(messages).unflatten(0, (targets.stop - targets.start, -1))
        torch.sum(parts, 1, out=result[targets])
    return copy(result, out)


def pull(links: Outgoing, messages: Tensor, out: Tensor | None = None) -> Tensor:
    """Sums of rows of messages by source; there is a row of zeros behind them."""
    if len(links.only) == len(links.first) - 1:
        return torch.index_select(messages, 0, links.only, out=out)
    return copy(_bags(messages, links.messages, links.first), out)


def _bags(rows: Tensor, index: Tensor, first: Tensor) -> Tensor:
    bags = torch.ops.aten._embedding_bag_forward_only
    return bags(rows, index, first, False, 0, False, None, True)[0]


def softmax(links: Incoming, scores: Tensor, out: Tensor | None = None) -> Tensor:
    """The softmax over the messages to a node."""
    num_nodes, target = len(links.first) - 1, links.target
    highest = scores.new_full((num_nodes, scores.shape[1]), -torch.inf)
    highest.scatter_reduce_(0, target.unsqueeze(1).expand_as(scores), scores, "amax")
    weights = torch.exp(scores - highest.index_select(0, target))
    totals = sum_messages(links, weights)
    return torch.div(weights, totals.index_select(0, target), out=out)
