"""The slots of a schedule: which predecessor is in which place."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from graphsent.propagation.schedule import Schedule


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


def make_slots(schedule: Schedule, count: int, slots: Tensor | None = None) -> Slots:
    """The slots of a schedule.

    Args:
        schedule: the schedule, on the CPU.
        count: slots a node; no node has more predecessors.
        slots: (num_edges,) slot of each edge, different for the edges to one node. By default the
            place of the edge in the mailbox.
    """
    source, target = schedule.source.numpy(), schedule.target.numpy()
    if slots is None:
        places = np.arange(len(target)) - np.searchsorted(target, target)
    else:
        places = slots.numpy(force=True)[schedule.edges.numpy()]
    rows = (target - schedule.num_sources) * count + places
    num_slots = (schedule.num_nodes - schedule.num_sources) * count
    source_of = np.full(num_slots, schedule.num_nodes)
    source_of[rows] = source
    sent_to = np.append(rows, num_slots)[schedule.sent_to.numpy()]
    return Slots(count, torch.from_numpy(source_of), torch.from_numpy(sent_to))


class _Known(NamedTuple):
    places: Tensor | None  # kept, so that it stays the only one at its address
    version: int
    count: int
    by_device: dict[torch.device, Slots]


_known: WeakKeyDictionary[Schedule, _Known] = WeakKeyDictionary()


def slots_of(schedule: Schedule, count: int, places: Tensor | None, device: torch.device) -> Slots:
    """What :func:`make_slots` makes, on a device; the host does not wait for that.

    Args:
        schedule: on the CPU.
        count: slots a node.
        places: (num_edges,) slot of each edge; by default its place in the mailbox.
        device: where to compute.
    """
    if places is not None and places.is_inference():  # it does not tell when it is changed
        return _moved(make_slots(schedule, count, places), device)
    version = 0 if places is None else places._version
    known = _known.get(schedule)
    if known is None or known.places is not places or known[1:3] != (version, count):
        slots = make_slots(schedule, count, places)
        known = _known[schedule] = _Known(places, version, count, {schedule.device: slots})
    if device not in known.by_device:
        known.by_device[device] = _moved(known.by_device[schedule.device], device)
    return known.by_device[device]


def _moved(slots: Slots, device: torch.device) -> Slots:
    if device.type == "cpu":
        return slots
    packed = torch.cat((slots.source, slots.sent_to))
    if device.type == "cuda":
        packed = packed.pin_memory()
    packed = packed.to(device, non_blocking=True)
    return Slots(slots.count, *packed.split((len(slots.source), len(slots.sent_to))))
