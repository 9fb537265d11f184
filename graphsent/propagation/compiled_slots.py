"""The walk of ``run_slots`` in compiled code: one call for all levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.propagation.compiled_walk import Plan, Walk, contiguous, has_walk, needs_gradients
from graphsent.propagation.gradients import first_order
from graphsent.propagation.memory import empty
from graphsent.propagation.schedule import Schedule

if TYPE_CHECKING:
    from graphsent.propagation.fused_slots import SlotRule, Slots


def run_compiled_slots(
    rule: SlotRule,
    schedule: Schedule,
    slots: Slots,
    start: Sequence[Tensor],
    inputs: Tensor,
    weights: Sequence[Tensor],
    bias: Tensor | None,
    leaves: Tensor | None,
) -> tuple[Tensor, ...] | None:
    """What ``run_slots`` gives; None where there is no compiled code for it."""
    tensors = (inputs, bias, *weights, *start)
    if not has_walk(rule, *tensors):
        return None
    gates = [0] * len(rule.order)
    for block in rule.order:
        gates[block.weight] = block.inputs
    plan = Plan(rule, schedule, slots.source, leaves, gates)
    width, row = len(gates) * rule.size, slots.count * rule.size
    source = (slots.source, (plan.num_inner * slots.count,))
    plan.check(start, inputs, (bias, (width,)), (weights[0], (width, row)), source)
    return _CompiledSlots.apply(plan, slots.count, needs_gradients(*tensors), *tensors)


def _walk(plan: Plan, count: int, inputs: Tensor) -> Walk:
    rule = plan.rule
    numbers = {"has_output": rule.gates.gate_output, "num_gates": len(rule.order)}
    return plan.walk(inputs, count=count, **numbers)


class _CompiledSlots(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx,
        plan: Plan,
        count: int,
        keep: bool,
        *tensors: Tensor | None,
    ) -> tuple[Tensor, ...]:
        inputs, bias, weight, *start = contiguous(tensors)
        size, num_nodes = plan.rule.size, plan.schedule.num_nodes
        h, c = (empty(num_nodes, size, like=weight) for _ in range(2))
        widths = (len(plan.rule.order) * size, size, count * size)
        kept = [empty(plan.num_inner, width, like=weight) if keep else None for width in widths]
        walk = _walk(plan, count, inputs)
        walk.point(inputs=inputs, bias=bias, weight=weight, start_h=start[0], start_c=start[1])
        walk.point(h=h, c=c, gates=kept[0], kept=kept[1], gathered=kept[2])
        walk.run("slots", weight, backward=False)
        ctx.plan, ctx.count = plan, count
        ctx.set_materialize_grads(False)
        if keep:
            ctx.save_for_backward(inputs, bias, weight, *start, h, c, *kept)
        return h, c

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        inputs, bias, weight, *start, h, c, gates, kept, gathered = ctx.saved_tensors
        walk = _walk(ctx.plan, ctx.count, inputs)
        given = contiguous(gradients)
        dh, dc, dsums = (empty(*part.shape, like=part) for part in (h, c, gates))
        dstart = [torch.zeros_like(part) for part in start]
        dinputs, dbias = torch.zeros_like(inputs), weight.new_zeros(len(weight))
        dweight = empty(*weight.shape, like=weight)
        walk.point(weight=weight, start_h=start[0], start_c=start[1], h=h, c=c)
        walk.point(gates=gates, kept=kept, gathered=gathered)
        walk.point(dresult_h=given[0], dresult_c=given[1], dh=dh, dc=dc)
        walk.point(dstart_h=dstart[0], dstart_c=dstart[1], dsums=dsums)
        walk.point(dinputs=dinputs, dbias=dbias, dweight=dweight)
        walk.run("slots", weight, backward=True)
        return None, None, None, dinputs, None if bias is None else dbias, dweight, *dstart
