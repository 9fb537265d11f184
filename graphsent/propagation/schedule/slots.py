"""The slots of a schedule: which predecessor is in which slot of a node."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphsent.kernels.library import library_for
from graphsent.propagation.schedule.indices import to_device
from graphsent.propagation.schedule.schedule import Schedule
from graphsent.propagation.untraced import untraced


class Slots(NamedTuple):
    """The predecessor in each slot; nodes are given by position, those of level 0 have no slots.

    Attributes:
        count: slots per node.
        source: (num_inner * count,) position of the node in each slot; num_nodes if it is empty.
    """

    count: int  # type: ignore[assignment]  # a method of tuples
    source: Tensor

    def to(self, device: torch.device) -> Slots:
        """The slots on a device; the host does not wait for the copy."""
        if self.source.device == device:
            return self
        return Slots(self.count, to_device(self.source, device))


def make_slots(schedule: Schedule, count: int, places: Tensor | None = None) -> Slots:
    """The slots of a schedule.

    Args:
        schedule: the schedule, on the CPU.
        count: slots per node; no node has more predecessors.
        places: (num_edges,) slot of each edge, different for the edges to one node. By default its
            place in the mailbox.

    Raises:
        ValueError: if a slot is out of range or taken twice, or the number of places differs from
            that of the edges.
    """
    if places is not None:
        if places.shape != (schedule.num_edges,):
            raise ValueError(
                f"expected one slot per edge, ({schedule.num_edges},), got {tuple(places.shape)}"
            )
        places = places.to("cpu", torch.int64)
    source = schedule.packed.new_empty((schedule.num_nodes - schedule.num_sources) * count)
    fit = fill_slots(schedule, places, count, source)
    if fit is None:
        fit = _fill(schedule, places, count, source.numpy())
    if not fit:
        raise ValueError(f"expected edges in different slots of each node, from 0 to {count - 1}")
    return Slots(count, source)


@untraced
def fill_slots(
    schedule: Schedule, places: Tensor | None, count: int, source: Tensor
) -> bool | None:
    """Fills ``source`` of :class:`Slots`, by compiled code; None if there is none.

    Returns:
        False if a slot is out of range or taken twice.
    """
    library = library_for("float")
    if library is None:
        return None
    places = None if places is None else places.contiguous()
    result = library.fill_slots(
        schedule.num_nodes,
        schedule.num_edges,
        schedule.num_sources,
        count,
        schedule.packed.data_ptr(),
        None if places is None else places.data_ptr(),
        source.data_ptr(),
    )
    return bool(result)


def _fill(schedule: Schedule, places: Tensor | None, count: int, source: np.ndarray) -> bool:
    """:func:`fill_slots` in numpy."""
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
    return True


def slots_of(schedule: Schedule, count: int, places: Tensor | None) -> Slots:
    """:func:`make_slots`, cached with the schedule until the places change."""
    known = schedule.derived.get("slots")
    if known is None or known[0] != count or not _equal(known[1], places):
        slots = make_slots(schedule, count, places)
        # A copy: numpy can change places in place without notice.
        known = count, None if places is None else places.clone(), slots
        schedule.derived["slots"] = known
    return known[2]


def _equal(first: Tensor | None, second: Tensor | None) -> bool:
    if first is None or second is None:
        return first is second
    same_kind = (first.dtype, first.device) == (second.dtype, second.device)
    return same_kind and torch.equal(first, second)
