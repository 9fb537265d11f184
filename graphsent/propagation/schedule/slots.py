"""The slots of a schedule: which predecessor is in which slot of a node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from graphsent._derived import Unchanging
from graphsent.propagation.schedule.schedule import Schedule, to_device


@dataclass(frozen=True, eq=False)
class Slots(Unchanging):
    """The predecessor in each slot; nodes are given by ordinal, those of level 0 have no slots.

    Attributes:
        count: Slots per node.
        source: (num_inner * count,) ordinal of the node in each slot; num_nodes if it is empty.
    """

    count: int
    source: Tensor

    @torch.inference_mode(False)
    def to(self, device: torch.device) -> Slots:
        """The slots on a device, cached; the host does not wait for the copy."""
        if self.source.device == device:
            return self
        if device not in self.derived:
            self.derived[device] = Slots(self.count, to_device(self.source, device))
        return self.derived[device]


@torch.inference_mode(False)  # they are cached, and gradients may need them later
def make_slots(schedule: Schedule, count: int, edge_slots: Tensor | None = None) -> Slots:
    """The slots of a schedule.

    Args:
        schedule: The schedule, on the CPU.
        count: Slots per node; no node has more predecessors.
        edge_slots: (num_edges,) slot of each edge, different for the edges to one node. By default
            its index among those of its target.

    Raises:
        ValueError: If a slot is out of range, taken twice or not an integer, or their number
            differs from that of the edges.
    """
    if edge_slots is None:
        slot = schedule.mailbox_slots
    elif edge_slots.shape != (schedule.num_edges,) or edge_slots.is_floating_point():
        raise ValueError("expected one slot per edge, an integer")
    else:
        slot = edge_slots.to("cpu", torch.int64).numpy()[schedule.edges.numpy()]
    index = (schedule.target.numpy() - schedule.num_leaves) * count + slot
    exist = slot.min(initial=0) >= 0 and slot.max(initial=0) < count
    if not exist or np.bincount(index).max(initial=0) > 1:
        raise ValueError(f"expected edges in different slots of each node, from 0 to {count - 1}")
    source = np.full(schedule.num_inner * count, schedule.num_nodes, np.int64)
    source[index] = schedule.source.numpy()
    return Slots(count, torch.from_numpy(source))


def slots_of(schedule: Schedule, count: int, edge_slots: Tensor | None) -> Slots:
    """:func:`make_slots`, cached with the schedule until the slots of edges change."""
    known = schedule.derived.get("slots")
    if known is None or known[0] != count or not _equal(known[1], edge_slots):
        slots = make_slots(schedule, count, edge_slots)
        # A copy: numpy can change slots in place without notice.
        known = count, None if edge_slots is None else edge_slots.clone(), slots
        schedule.derived["slots"] = known
    return known[2]


def _equal(first: Tensor | None, second: Tensor | None) -> bool:
    if first is None or second is None:
        return first is second
    same_kind = (first.dtype, first.device) == (second.dtype, second.device)
    return same_kind and torch.equal(first, second)
