"""The fused engine of cells that have their predecessors in slots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.propagation.fused import (
    Block,
    StateGradients,
    backward_weight,
    fill_sums,
    forward_weight,
    gather,
    inner_rows,
    inputs_gradient,
    new_states,
    weight_gradient,
)
from graphsent.propagation.gradients import first_order
from graphsent.propagation.memory import empty
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
        schedule: the schedule.
        count: slots a node; no node has more predecessors.
        slots: (num_edges,) slot of each edge, different for the edges to one node. By default the
            place of the edge in the mailbox.
    """
    first = schedule.num_sources
    if slots is None:
        places = torch.arange(schedule.num_edges, device=schedule.device)
        slots = places - torch.searchsorted(schedule.target, schedule.target)
    else:
        slots = slots.to(schedule.device)[schedule.edges]
    rows = torch.add(slots, schedule.target - first, alpha=count)
    num_slots = (schedule.num_nodes - first) * count
    source = torch.full((num_slots,), schedule.num_nodes, device=schedule.device)
    source[rows] = schedule.source
    none = rows.new_full((1,), num_slots)
    return Slots(count, source, torch.cat((rows, none))[schedule.sent_to])


class SlotRule(Protocol):
    """How the state of a node follows from sums and from the states in its slots.

    The sums of a node are those of its inputs and, for each of ``products``, of a weight times the
    states of one part in all slots. All gates and states are of one size; a state has ``num_parts``
    parts. The rule itself is pointwise: it works on the rows of one level, in place.

    Attributes:
        size: of a state.
        num_parts: parts of a state, h first.
        num_kept: blocks of columns that ``forward`` keeps for ``backward``.
        order: where each gate comes from; the inputs' block of columns, and the first product's
            block of rows.
        products: for each weight, the part of the state that it sees, and where its gates are in
            its rows; they are the first gates, or all.
        direct: parts of the state that the rule itself reads.
    """

    size: int
    num_parts: int
    num_kept: int
    order: tuple[Block, ...]
    products: tuple[tuple[int, tuple[Block, ...]], ...]
    direct: tuple[int, ...]

    def forward(
        self, sums: Tensor, slots: Sequence[Tensor], states: Sequence[Tensor], kept: Tensor
    ) -> Any:
        """Fills states and kept rows.

        Args:
            sums: (nodes, gates * size); may be overwritten, and is kept.
            slots: parts of the states in the slots, (nodes, count, size); None where not gathered.
            states: parts of the new states, (nodes, size).
            kept: (nodes, num_kept * size).

        Returns:
            Anything that ``backward`` is to be given.
        """

    def backward(
        self,
        note: Any,
        saved: tuple[Tensor, Sequence[Tensor], Tensor],
        gradients: Sequence[Tensor],
        dsums: Tensor,
        dslots: Sequence[Tensor],
    ) -> None:
        """Fills the gradients of the sums, and of the parts in slots that are read directly.

        Args:
            note: what ``forward`` returned.
            saved: sums, slots and kept rows, as ``forward`` left them.
            gradients: of the parts of the new states; may be overwritten.
            dsums: to be filled.
            dslots: to be filled for the parts in ``direct``.
        """


class _Slots(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx,
        rule: SlotRule,
        schedule: Schedule,
        slots: Slots,
        inputs: Tensor,
        *tensors: Tensor,
    ) -> tuple[Tensor, ...]:
        start, weights = tensors[: rule.num_parts], tensors[rule.num_parts :]
        size, num_inner = rule.size, schedule.num_nodes - schedule.num_sources
        states = new_states(start, schedule)
        sums = empty(num_inner, len(rule.order) * size, like=inputs)
        fill_sums(sums, inputs, rule.order, size)
        kept = empty(num_inner, rule.num_kept * size, like=inputs)
        used = {*rule.direct, *(part for part, _ in rule.products)}
        gathered = [
            empty(len(slots.source), size, like=inputs) if part in used else None
            for part in range(rule.num_parts)
        ]
        products = [
            (part, forward_weight(weight, order, size))
            for weight, (part, order) in zip(weights, rule.products, strict=True)
        ]
        ctx.notes = []
        for level in schedule.levels[1:]:
            rows = inner_rows(level, schedule)
            span = slice(rows.start * slots.count, rows.stop * slots.count)
            for part, buffer in enumerate(gathered):
                if buffer is not None:
                    gather(states[part], slots.source[span], out=buffer[span])
            taken = _in_slots(gathered, span, slots.count)
            for part, weight in products:
                columns = sums[rows, : weight.shape[1]]
                columns.addmm_(taken[part].flatten(1), weight)
            new = [state[level.start : level.end] for state in states]
            ctx.notes.append(rule.forward(sums[rows], taken, new, kept[rows]))
        ctx.rule, ctx.schedule, ctx.slots = rule, schedule, slots
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(inputs, sums, kept, *gathered, *weights)
        return tuple(state[:-1] for state in states)

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        rule, schedule, slots = ctx.rule, ctx.schedule, ctx.slots
        inputs, sums, kept, *others = ctx.saved_tensors
        gathered, weights = others[: rule.num_parts], others[rule.num_parts :]
        dsums = empty(*sums.shape, like=sums)
        messages = [
            None if part is None else empty(len(part) + 1, rule.size, like=sums)
            for part in gathered
        ]
        like = sums.new_empty(rule.size)
        ends = (slots.source, slots.sent_to, schedule.num_nodes)
        states = StateGradients(gradients, messages, *ends, like)
        products = [
            (part, backward_weight(weight, order, rule.size))
            for weight, (part, order) in zip(weights, rule.products, strict=True)
        ]
        for level, note in zip(reversed(schedule.levels[1:]), reversed(ctx.notes), strict=True):
            rows = inner_rows(level, schedule)
            span = slice(rows.start * slots.count, rows.stop * slots.count)
            dslots = _in_slots(messages, span, slots.count)
            saved = (sums[rows], _in_slots(gathered, span, slots.count), kept[rows])
            rule.backward(note, saved, states.of(level), dsums[rows], dslots)
            filled = set(rule.direct)
            for part, weight in products:
                product = dslots[part].flatten(1)
                columns = dsums[rows, : len(weight)]
                product.addmm_(columns, weight, beta=int(part in filled))
                filled.add(part)
            states.sent(span)
        dstart = states.of(schedule.levels[0])
        dweights = [
            weight_gradient(
                dsums[:, : len(order) * rule.size],
                gathered[part].view(len(dsums), -1),
                order,
                weight,
                rule.size,
            )
            for weight, (part, order) in zip(weights, rule.products, strict=True)
        ]
        dinputs = inputs_gradient(((dsums, rule.order),), inputs, rule.size)
        return None, None, None, dinputs, *dstart, *dweights


def run_slots(
    rule: SlotRule,
    schedule: Schedule,
    slots: Slots,
    start: Sequence[Tensor],
    inputs: Tensor,
    weights: Sequence[Tensor],
) -> tuple[Tensor, ...]:
    """The states of all nodes, by position.

    Args:
        rule: how a state follows from others.
        schedule: of the graph; on the device of the tensors.
        slots: which node is in which slot.
        start: parts of the states of the first level, (num_sources, size).
        inputs: what the inputs contribute to the sums, (num_nodes - num_sources, blocks * size)
            by position, or one row for all nodes.
        weights: for each product (blocks * size, count * size).

    Returns:
        The parts of the states, (num_nodes, size).
    """
    if len(schedule.levels) <= 1:
        return tuple(start)
    return _Slots.apply(rule, schedule, slots, inputs, *start, *weights)


def _in_slots(buffers: Sequence[Tensor | None], rows: slice, count: int) -> list[Tensor | None]:
    """Rows of buffers as (nodes, count, size)."""
    return [
        None if buffer is None else buffer[rows].unflatten(0, (-1, count)) for buffer in buffers
    ]
