"""The slots of a schedule: which predecessor is in which place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphsent.propagation.schedule.indices import fill_slots
from graphsent.propagation.schedule.schedule import Schedule


class Slots(NamedTuple):
    """Which node is in which slot; nodes by position, those of the first level have no slots.

    Attributes:
        count: slots a node.
        source: (num_inner * count,) position of the node in each slot, num_nodes where there is
            none.
        sent_to: (num_nodes,) slot of each node, num_inner * count where it is in none; no rows if
            some node is in several.
    """

    count: int
    source: Tensor
    sent_to: Tensor


def make_slots(schedule: Schedule, count: int, places: Tensor | None = None) -> Slots:
    """The slots of a schedule.

    Args:
        schedule: the schedule, on the CPU.
        count: slots a node; no node has more predecessors.
        places: (num_edges,) slot of each edge, different for the edges to one node. By default its
            place in the mailbox.

    Raises:
        ValueError: if an edge is in no slot that there is, or in one with another edge, or slots
            are of another number of edges.
    """
    if places is not None:
        if places.shape != (schedule.num_edges,):
            raise ValueError(
                f"expected a slot of each edge, {schedule.num_edges}, got {tuple(places.shape)}"
            )
        places = places.to("cpu", torch.int64)
    num_slots = (schedule.num_nodes - schedule.num_sources) * count
    num_sent = schedule.num_nodes if schedule.single_successor else 0
    source, sent_to = schedule.packed.new_empty(num_slots), schedule.packed.new_empty(num_sent)
    fit = fill_slots(schedule, places, count, source, sent_to)
    if fit is None:
        fit = _fill(schedule, places, count, source.numpy(), sent_to.numpy())
    if not fit:
        raise ValueError(f"expected edges in different slots of each node, from 0 to {count - 1}")
    return Slots(count, source, sent_to)


def _fill(
    schedule: Schedule,
    places: Tensor | None,
    count: int,
    source: np.ndarray,
    sent_to: np.ndarray,
) -> bool:
    """What ``fill_slots`` does, in numpy."""
    target = schedule.target.numpy()
    if places is None:
        place = np.arange(len(target)) - np.searchsorted(target, target)
    else:
        place = places.numpy()[schedule.edges.numpy()]
    if place.min(initial=0) < 0 or place.max(initial=0) >= count:
        return False
    rows = (target - schedule.num_sources) * count + place
    if rows.min(initial=0) < 0 or np.bincount(rows).max(initial=0) > 1:
        return False
    source[:] = schedule.num_nodes
    source[rows] = schedule.source.numpy()
    sent_to[:] = np.append(rows, len(source))[schedule.sent_to.numpy()]
    return True


class _Known(NamedTuple):
    places: Tensor | None  # a copy, for who changes them by numpy tells nobody
    count: int
    by_device: dict[torch.device, Slots]


def slots_of(schedule: Schedule, count: int, places: Tensor | None, device: torch.device) -> Slots:
    """What :func:`make_slots` makes, on a device; the host does not wait for that.

    Args:
        schedule: on the CPU.
        count: slots a node.
        places: (num_edges,) slot of each edge; by default its place in the mailbox.
        device: where to compute.
    """
    known = schedule.derived.get("slots")
    if known is None or known.count != count or not _equal(known.places, places):
        slots = make_slots(schedule, count, places)
        copied = None if places is None else places.clone()
        known = _Known(copied, count, {schedule.device: slots})
        schedule.derived["slots"] = known
    if device not in known.by_device:
        known.by_device[device] = _moved(known.by_device[schedule.device], device)
    return known.by_device[device]


def _equal(first: Tensor | None, second: Tensor | None) -> bool:
    if first is None or second is None:
        return first is second
    same_kind = (first.dtype, first.device) == (second.dtype, second.device)
    return same_kind and torch.equal(first, second)


def _moved(slots: Slots, device: torch.device) -> Slots:
    if device.type == "cpu":
        return slots
    packed = torch.cat((slots.source, slots.sent_to))
    if device.type == "cuda":
        packed = packed.pin_memory()
    packed = packed.to(device, non_blocking=True)
    return Slots(slots.count, *packed.split((len(slots.source), len(slots.sent_to))))
