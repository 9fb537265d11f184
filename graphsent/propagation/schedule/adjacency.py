"""The edges of a schedule by level, in both directions, as tensors to index rows with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphsent.propagation.schedule.schedule import Level, Schedule
from graphsent.propagation.schedule.slots import Slots

SUMMED_AT_ONCE = 256
"""Longer sums are made in parts: each addition to a long one costs a bit of its digits."""


class Incoming(NamedTuple):
    """The messages to some nodes: rows of edges, or of slots.

    Attributes:
        source: (num_messages,) position of the node that each comes from, num_nodes for none.
        target: (num_messages,) its target among these nodes.
        rows: (num_messages,) 0, 1, 2, ...
        first: (num_targets + 1,) where the messages to each node begin.
        wide: slices of nodes with many messages, as many each, and of these messages.
    """

    source: Tensor
    target: Tensor
    rows: Tensor
    first: Tensor
    wide: list[tuple[slice, slice]]


class Outgoing(NamedTuple):
    """The messages from some nodes.

    Attributes:
        messages: (num_messages,) their rows among all messages, by their source.
        first: (num_sources + 1,) where those from each node begin.
        only: (num_sources,) the message of each node, or the row behind the last message; no rows
            if some node of the graph sends several.
    """

    messages: Tensor
    first: Tensor
    only: Tensor


class Adjacency(NamedTuple):
    """Who sends to whom.

    Attributes:
        nodes: numbers of nodes of all levels.
        messages: numbers of messages to all levels but the first.
        incoming: for each level but the first.
        outgoing: for each level.
        all_incoming: for all levels but the first, at once.
        all_outgoing: for all levels at once.
    """

    nodes: list[int]
    messages: list[int]
    incoming: list[Incoming]
    outgoing: list[Outgoing]
    all_incoming: Incoming
    all_outgoing: Outgoing


def adjacency_of(schedule: Schedule, slots: Slots | None, device: torch.device) -> Adjacency:
    """What :func:`make_adjacency` makes, kept with the schedule."""
    known = schedule.derived.get("adjacency")
    if known is None or known[0] is not slots:
        known = schedule.derived["adjacency"] = slots, {}
    if device not in known[1]:
        known[1][device] = make_adjacency(schedule, slots, device)
    return known[1][device]


def make_adjacency(schedule: Schedule, slots: Slots | None, device: torch.device) -> Adjacency:
    """The adjacency of a schedule, on a device; the host does not wait for that.

    Args:
        schedule: on the CPU, of one level at least.
        slots: which predecessor is in which slot, on the CPU; then messages are slots.
        device: where to compute.
    """
    ends, begin = schedule.bounds.ends, schedule.num_sources
    if slots is None:
        source, degrees = schedule.source.numpy(), schedule.bounds.degrees[begin:]
        only = schedule.sent_to.numpy()
    else:
        source, degrees = slots.source.numpy(), np.full(schedule.num_nodes - begin, slots.count)
        only = slots.sent_to.numpy()
    inner = ends - begin
    nodes = np.diff(ends, prepend=0)
    first_in = np.append(0, np.cumsum(degrees))
    target = np.repeat(np.arange(len(degrees)), degrees)
    messages = np.diff(first_in[inner])
    numbers = np.bincount(source, minlength=schedule.num_nodes)[: schedule.num_nodes]
    first_out = np.append(0, np.cumsum(numbers))
    sent = np.diff(first_out[ends], prepend=0)
    everything = {
        "source": source,
        "target": target,
        "rows": np.arange(len(source)),
        "first_in": first_in,
        "order": np.argsort(source, kind="stable")[: first_out[-1]],
        "first_out": first_out,
        "only": only,
        "target_of_level": target - np.repeat(inner[:-1], messages),
        "first_in_of_level": _within(first_in, inner[:-1], inner[1:]),
        "first_out_of_level": _within(first_out, ends - nodes, ends),
    }
    moved = _on_device(everything, device)

    def split(name: str, sizes: np.ndarray) -> Sequence[Tensor]:
        return moved[name].split(sizes.tolist())

    levels = schedule.levels[1:]
    wide = [_wide(n, n.start, n.first_edge) if slots is None else [] for n in levels]
    all_wide = [pair for n in levels for pair in _wide(n, begin, 0)] if slots is None else []
    incoming = (
        split("source", messages),
        split("target_of_level", messages),
        [moved["rows"][:count] for count in messages.tolist()],
        split("first_in_of_level", nodes[1:] + 1),
    )
    outgoing = (split("order", sent), split("first_out_of_level", nodes + 1))
    singles = split("only", nodes) if len(only) else [moved["only"]] * len(nodes)
    return Adjacency(
        nodes.tolist(),
        messages.tolist(),
        list(map(Incoming, *incoming, wide)),
        list(map(Outgoing, *outgoing, singles)),
        Incoming(*(moved[name] for name in ("source", "target", "rows", "first_in")), all_wide),
        Outgoing(moved["order"], moved["first_out"], moved["only"]),
    )


def _within(first: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Where the messages of each node begin, and those of a level end, within their level."""
    levels = zip(starts, ends, strict=True)
    return np.concatenate([first[a : b + 1] - first[a] for a, b in levels] or [first[:0]])


def _on_device(arrays: dict[str, np.ndarray], device: torch.device) -> dict[str, Tensor]:
    """Arrays of whole numbers as tensors, in one transfer."""
    packed = torch.from_numpy(np.concatenate(list(arrays.values())))
    if device.type == "cuda":
        packed = packed.pin_memory()
    parts = packed.to(device, non_blocking=True).split([len(part) for part in arrays.values()])
    return dict(zip(arrays, parts, strict=True))


def _wide(level: Level, start: int, first_edge: int) -> list[tuple[slice, slice]]:
    """The nodes of a level with many edges, counted from a node and an edge."""
    return [
        (
            slice(bucket.start - start, bucket.end - start),
            slice(bucket.first_edge - first_edge, bucket.last_edge - first_edge),
        )
        for bucket in level.buckets
        if bucket.degree > SUMMED_AT_ONCE
    ]
