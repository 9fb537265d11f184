"""The walk of ``run_slots`` in compiled code: one call for all levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.propagation.compiled_walk import (
    RESULTS,
    START,
    STATES,
    Plan,
    Walk,
    contiguous,
    has_walk,
    named,
    needs_gradients,
)
from graphsent.propagation.gradients import first_order
from graphsent.propagation.memory import empty, zeros
from graphsent.propagation.schedule import Schedule

if TYPE_CHECKING:
    from graphsent.propagation.fused_slots import SlotRule
    from graphsent.propagation.slots import Slots

KINDS = ("nary", "peephole", "mixture", "squash", "composition")
"""What rules have as ``compiled``, in the order of ``kernels/walk.h``."""

_KEPT = {
    "nary": ("gates", "kept"),
    "peephole": ("gates", "kept"),
    "mixture": ("gates",),
    "squash": (),
    "composition": ("gates", "kept"),
}
_DWEIGHTS = ("dweight", "dmore_weight")


def run_compiled_slots(
    rule: SlotRule,
    schedule: Schedule,
    slots: Slots,
    start: Sequence[Tensor],
    inputs: Tensor,
    weights: Sequence[Tensor],
    bias: Tensor | None,
    leaves: Tensor | None,
    input_rows: Tensor | None,
) -> tuple[Tensor, ...] | None:
    """What ``run_slots`` gives; None where there is no compiled code for it."""
    tensors = (inputs, bias, *weights, *start)
    if not has_walk(rule, *tensors):
        return None
    plan = _SlotPlan(rule, schedule, slots, leaves, input_rows)
    plan.check(start, inputs, *zip((bias, *weights, slots.source), plan.shapes(), strict=True))
    return _CompiledSlots.apply(plan, needs_gradients(*tensors), *tensors)


class _SlotPlan(Plan):
    """A plan with slots; gates in the order of the first weight's rows."""

    def __init__(
        self,
        rule: SlotRule,
        schedule: Schedule,
        slots: Slots,
        leaves: Tensor | None,
        input_rows: Tensor | None,
    ) -> None:
        gates = [0] * len(rule.order)
        for block in rule.order:
            gates[block.weight] = block.inputs
        super().__init__(rule, schedule, slots.source, leaves, gates, input_rows)
        self.count = slots.count
        self.num_gates = len(gates)
        self.num_early = len(rule.products[1].gates) if rule.late else 0

    def shapes(self) -> list[tuple[int, ...]]:
        """Of the bias, the weights, and the positions in slots."""
        size, row = self.rule.size, self.count * self.rule.size
        shapes = [(self.num_gates * size,), (self.num_gates * size, row)]
        if self.num_early:
            shapes += [(self.num_early * size, row), (size, size)]
        return [*shapes, (self.num_inner * self.count,)]

    def slot_walk(self, inputs: Tensor, maps: Sequence[Tensor], start: Sequence[Tensor]) -> Walk:
        """The arguments that both passes have; ``maps`` are the weights."""
        numbers = {"rule": KINDS.index(self.rule.compiled), "count": self.count}
        numbers |= {"num_gates": self.num_gates, "num_starts": len(start[0])}
        if self.num_early:
            numbers["forgets"] = self.num_early - 1
        elif self.rule.compiled == "nary":
            numbers["has_output"] = self.rule.gates.gate_output
        walk = self.walk(inputs, **numbers)
        names = ("weight", "more_weight_0", "more_weight_1")
        walk.point(inputs=inputs, **named(START, start), **named(names, maps))
        return walk

    def kept(self, like: Tensor) -> dict[str, Tensor]:
        """What the walk keeps for the backward pass, by the names of its arguments."""
        widths = {"gates": self.num_gates, "kept": 1}
        size = self.rule.size
        return {
            name: empty(self.num_inner, widths[name] * size, like=like)
            for name in _KEPT[self.rule.compiled]
        }

    def places(self, num_starts: int) -> Tensor:
        """Room for what ``places.h`` finds out."""
        return torch.empty(self.count * (2 + 5 * self.num_inner + num_starts), dtype=torch.int64)


class _CompiledSlots(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, plan: _SlotPlan, keep: bool, *tensors: Tensor | None
    ) -> tuple[Tensor, ...]:
        inputs, bias, *others = contiguous(tensors)
        num_parts = plan.rule.num_parts
        maps, start = others[:-num_parts], others[-num_parts:]
        walk = plan.slot_walk(inputs, maps, start)
        shape = (plan.schedule.num_nodes, plan.rule.size)
        states = [empty(*shape, like=inputs) for _ in start]
        kept = plan.kept(inputs) if keep else {}
        places = plan.places(len(start[0]))
        walk.point(bias=bias, places=places, **named(STATES, states), **kept)
        walk.run("slots", inputs, backward=False)
        ctx.plan, ctx.places, ctx.names = plan, places, tuple(kept)
        ctx.set_materialize_grads(False)
        if keep:
            ctx.save_for_backward(inputs, bias, *maps, *start, *states, *kept.values())
        return tuple(states)

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        plan, num_parts = ctx.plan, ctx.plan.rule.num_parts
        inputs, bias, *saved = ctx.saved_tensors
        saved, kept = saved[: len(saved) - len(ctx.names)], saved[len(saved) - len(ctx.names) :]
        saved, states = saved[:-num_parts], saved[-num_parts:]
        maps, start = saved[:-num_parts], saved[-num_parts:]
        walk = plan.slot_walk(inputs, maps, start)
        given = contiguous(gradients)
        dstates = [empty(*part.shape, like=part) for part in states]
        wanted = any(ctx.needs_input_grad[-num_parts:])
        dstart = [zeros(*part.shape, like=part) if wanted else None for part in start]
        num_pairs = int(ctx.places[plan.count - 1])
        dsums = empty(plan.num_inner + num_pairs, plan.num_gates * plan.rule.size, like=inputs)
        dinputs, dbias = plan.inputs_gradient(inputs), None
        if bias is not None or inputs.dim() == 1:
            dbias = inputs.new_zeros(dsums.shape[1])
        dmaps = [empty(*weight.shape, like=inputs) for weight in maps[:2]]
        walk.point(places=ctx.places, **named(STATES, states), **named(ctx.names, kept))
        walk.point(**named(RESULTS, given), **named(("dh", "dc"), dstates))
        walk.point(**named(("dstart_h", "dstart_c"), dstart), **named(_DWEIGHTS, dmaps))
        walk.point(dsums=dsums, dinputs=dinputs, dbias=dbias)
        walk.run("slots", inputs, backward=True)
        if plan.num_early:
            c = states[1][plan.schedule.num_sources :]
            dmaps.append(dsums[: plan.num_inner, -plan.rule.size :].t() @ c)
        return None, None, dinputs, None if bias is None else dbias, *dmaps, *dstart
