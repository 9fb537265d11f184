"""The walk of ``run_slots`` in compiled code: one call for all levels."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.propagation.compiled import Arguments, fields, kernels_for
from graphsent.propagation.gradients import first_order
from graphsent.propagation.memory import empty
from graphsent.propagation.schedule import Schedule

if TYPE_CHECKING:
    from graphsent.propagation.fused_slots import SlotRule, Slots


class _Walk(Arguments):
    """``struct walk`` of ``kernels/walk.h``."""

    _fields_ = fields(
        "has_output size count num_gates input_stride num_levels num_sources num_nodes num_threads",
        "level_ends source leaves place input_of inputs bias weight start_h start_c h c "
        "gates kept gathered dresult_h dresult_c dh dc dstart_h dstart_c "
        "dsums dinputs dbias dweight workspace",
    )


def run_compiled(
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
    if not getattr(rule, "compiled", False) or not kernels_for(*tensors):
        return None
    plan = _Plan(rule, schedule, slots, leaves)
    plan.check(*tensors)
    keep = torch.is_grad_enabled() and any(
        part is not None and part.requires_grad for part in tensors
    )
    return _CompiledSlots.apply(plan, keep, *tensors)


class _Plan:
    """What does not change from one walk to the other."""

    def __init__(self, rule: Any, schedule: Schedule, slots: Slots, leaves: Tensor | None) -> None:
        self.rule, self.schedule, self.slots = rule, schedule, slots
        self.leaves = None if leaves is None else leaves.contiguous()
        self.num_inner = schedule.num_nodes - schedule.num_sources
        levels, first = schedule.levels[1:], schedule.num_sources
        self.ends = (ctypes.c_int64 * len(levels))(*(level.end - first for level in levels))
        self.blocks = (ctypes.c_int64 * len(rule.order))()
        for block in rule.order:
            self.blocks[block.weight] = block.inputs

    def check(self, inputs: Tensor, bias: Tensor | None, weight: Tensor, *start: Tensor) -> None:
        """Raises a ValueError unless all shapes fit: compiled code would not notice."""
        size, num_gates = self.rule.size, len(self.rule.order)
        blocks = 1 + max(block.inputs for block in self.rule.order)
        num_rows = self.schedule.num_sources if self.leaves is None else len(start[0])
        shapes = [
            (inputs, (self.num_inner, blocks * size)[2 - inputs.dim() :]),
            (bias, (num_gates * size,)),
            (weight, (num_gates * size, self.slots.count * size)),
            (self.slots.source, (self.num_inner * self.slots.count,)),
            (self.leaves, (self.schedule.num_sources,)),
            *((part, (num_rows, size)) for part in start),
        ]
        for tensor, shape in shapes:
            if tensor is not None and tuple(tensor.shape) != shape:
                raise ValueError(f"expected a tensor of shape {shape}, got {tuple(tensor.shape)}")

    def walk(self, inputs: Tensor) -> _Walk:
        """The arguments that are known, for inputs of this shape."""
        rule, schedule = self.rule, self.schedule
        walk = _Walk(rule.gates.gate_output, rule.size, self.slots.count, len(rule.order))
        walk.input_stride = inputs.shape[1] if inputs.dim() > 1 else 0
        walk.num_levels, walk.num_sources = len(self.ends), schedule.num_sources
        walk.num_nodes, walk.num_threads = schedule.num_nodes, torch.get_num_threads()
        walk.level_ends = ctypes.addressof(self.ends)
        walk.input_of = ctypes.addressof(self.blocks)
        walk.point(source=self.slots.source, leaves=self.leaves)
        return walk


class _CompiledSlots(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx,
        plan: _Plan,
        keep: bool,
        inputs: Tensor,
        bias: Tensor | None,
        weight: Tensor,
        *start: Tensor,
    ) -> tuple[Tensor, ...]:
        size, num_nodes = plan.rule.size, plan.schedule.num_nodes
        inputs, weight, *start = (part.contiguous() for part in (inputs, weight, *start))
        bias = None if bias is None else bias.contiguous()
        h, c = (empty(num_nodes, size, like=weight) for _ in range(2))
        widths = (len(plan.rule.order) * size, size, plan.slots.count * size)
        kept = [empty(plan.num_inner, width, like=weight) if keep else None for width in widths]
        walk = plan.walk(inputs)
        walk.point(inputs=inputs, bias=bias, weight=weight, start_h=start[0], start_c=start[1])
        walk.point(h=h, c=c, gates=kept[0], kept=kept[1], gathered=kept[2])
        walk.run("slots", weight, backward=False)
        ctx.plan = plan
        ctx.set_materialize_grads(False)
        if keep:
            ctx.save_for_backward(inputs, bias, weight, *start, h, c, *kept)
        return h, c

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        inputs, bias, weight, *start, h, c, gates, kept, gathered = ctx.saved_tensors
        walk = ctx.plan.walk(inputs)
        given = [None if part is None else part.contiguous() for part in gradients]
        dh, dc, dsums = (
            empty(*h.shape, like=h),
            empty(*c.shape, like=c),
            empty(*gates.shape, like=h),
        )
        dstart = [torch.zeros_like(part) for part in start]
        dinputs, dbias = torch.zeros_like(inputs), weight.new_zeros(len(weight))
        dweight = empty(*weight.shape, like=weight)
        walk.point(weight=weight, start_h=start[0], start_c=start[1], h=h, c=c)
        walk.point(gates=gates, kept=kept, gathered=gathered)
        walk.point(dresult_h=given[0], dresult_c=given[1], dh=dh, dc=dc)
        walk.point(dstart_h=dstart[0], dstart_c=dstart[1], dsums=dsums)
        walk.point(dinputs=dinputs, dbias=dbias, dweight=dweight)
        walk.run("slots", weight, backward=True)
        return None, None, dinputs, None if bias is None else dbias, dweight, *dstart
