"""The slots of a schedule, found once."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from graphsent.propagation.fused_slots import Slots, make_slots
from graphsent.propagation.schedule import Schedule


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
