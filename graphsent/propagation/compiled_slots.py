"""The walk of ``run_slots`` in compiled code: one call for all levels."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.kernels.library import contiguous, needs_gradients
from graphsent.propagation.compiled_walk import (
    RESULTS,
    WEIGHTS,
    Plan,
    Walk,
    gradients_named,
    has_walk,
    named,
    run_plan_again,
)
from graphsent.propagation.gradients import Recur, by_hand
from graphsent.propagation.memory import empty
from graphsent.propagation.schedule.schedule import Schedule
from graphsent.propagation.starts import Start, tensors_of

if TYPE_CHECKING:
    from graphsent.propagation.fused import Block
    from graphsent.propagation.fused_slots import SlotRule
    from graphsent.propagation.schedule.slots import Slots

KINDS = ("nary", "peephole", "mixture", "squash", "composition", "lstm", "gru")
"""What rules have as ``compiled``, in the order of ``kernels/walk.h``."""


def run_compiled_slots(
    rule: SlotRule,
    schedule: Schedule,
    slots: Slots,
    start: Start,
    inputs: Tensor,
    weights: Sequence[Tensor],
    bias: Tensor | None,
    leaves: Tensor | None,
    input_rows: Tensor | None,
    num_results: int | None,
    recur: Recur | None,
) -> tuple[Tensor, ...] | None:
    """What ``run_slots`` gives; None where there is no compiled code for it."""
    tensors = (inputs, bias, *weights, *tensors_of(start))
    if not has_walk(rule, KINDS, *tensors):
        return None
    plan = _SlotPlan(rule, schedule, slots, start, leaves, input_rows, num_results, recur)
    plan.check(start, inputs, *zip((bias, *weights, slots.source), plan.shapes(), strict=True))
    return _CompiledSlots.apply(plan, needs_gradients(*tensors), *contiguous(tensors))


class _SlotPlan(Plan):
    """A plan with slots; gates in the order of the first weight's rows."""

    def __init__(
        self,
        rule: SlotRule,
        schedule: Schedule,
        slots: Slots,
        start: Start,
        leaves: Tensor | None,
        input_rows: Tensor | None,
        num_results: int | None,
        recur: Recur | None,
    ) -> None:
        gates = _input_of(rule.order)
        super().__init__(
            rule, schedule, slots.source, start, leaves, gates, input_rows, num_results, recur
        )
        self.count = slots.count
        self.num_gates = len(gates)
        self.num_recurrent = len(rule.products[0].gates)
        self.num_early = len(rule.products[1].gates) if rule.late else 0

    def shapes(self) -> list[tuple[int, ...]]:
        """Of the bias, the weights, and the positions in slots."""
        size, row = self.rule.size, self.count * self.rule.size
        shapes = [(self.num_gates * size,), (self.num_recurrent * size, row)]
        if self.num_early:
            shapes += [(self.num_early * size, row), (size, size)]
        return [*shapes, (self.num_inner * self.count,)]

    def slot_walk(self, inputs: Tensor, given: Sequence[Tensor], keep: bool) -> Walk:
        """The arguments that both passes have, but for tensors."""
        numbers = {"rule": KINDS.index(self.rule.compiled), "count": self.count}
        numbers |= {"num_gates": self.num_gates, "num_recurrent": self.num_recurrent}
        if self.num_early:
            numbers["forgets"] = self.num_early - 1
        elif self.rule.compiled == "nary":
            numbers["has_output"] = self.rule.gates.gate_output
        return self.walk(inputs, given, keep, **numbers)


@functools.cache
def _input_of(order: tuple[Block, ...]) -> tuple[int, ...]:
    """The block of the inputs of each gate, -1 for none, by its block of the weight's rows."""
    by_weight = sorted(order, key=lambda block: block.weight)
    return tuple(-1 if block.inputs is None else block.inputs for block in by_weight)


class _CompiledSlots(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, plan: _SlotPlan, keep: bool, *tensors: Tensor | None
    ) -> tuple[Tensor, ...]:
        inputs, bias, *others = tensors
        maps, given = others[: -plan.num_given], others[-plan.num_given :]
        walk, start = plan.slot_walk(inputs, given, keep), plan.start(given)
        states, results = plan.outcome(inputs)
        known = {"inputs": inputs, "bias": bias, **named(WEIGHTS, maps), **start, **states}
        walk.point(**known, **results)
        block, places = walk.run_forward("slots", inputs)
        ctx.set_materialize_grads(False)
        if keep:
            ctx.plan, ctx.walk, ctx.places, ctx.names = plan, walk, places, (*known, "block")
            ctx.save_for_backward(*known.values(), block)
        return tuple((states or results).values())

    @staticmethod
    @by_hand(run_plan_again, num_options=2)
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        plan = ctx.plan
        known = dict(zip(ctx.names, contiguous(ctx.saved_tensors), strict=True))
        inputs, bias = known["inputs"], known["bias"]
        walk = Walk.from_buffer_copy(ctx.walk)  # it knows where ctx.places are
        dinputs = empty(*inputs.shape, like=inputs)
        dbias = None if bias is None else empty(*bias.shape, like=bias)
        dmaps = [empty(*known[name].shape, like=inputs) for name in WEIGHTS if name in known]
        needed = ctx.needs_input_grad[-plan.num_given :]
        dgiven = plan.start_gradients(walk, known, needed, inputs)
        given = contiguous(gradients)
        walk.point(**known, **gradients_named(RESULTS, given), dinputs=dinputs, dbias=dbias)
        walk.point(**gradients_named(WEIGHTS, dmaps))
        walk.run_backward("slots", inputs)
        return None, None, dinputs, dbias, *dmaps, *dgiven
