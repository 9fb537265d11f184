"""The walk of ``run_slots`` on a GPU: a product and a Triton kernel for each level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.propagation.compiled import contiguous
from graphsent.propagation.gradients import Recur, by_hand, recur_again
from graphsent.propagation.schedule import Schedule
from graphsent.propagation.slots import Slots, slots_of
from graphsent.propagation.triton_launch import (
    compare,
    has_triton_walk,
    is_right,
    kernels,
    launch,
    numbers,
    on_device_of,
)
from graphsent.propagation.triton_walk import Successors, fit, row_stride, small_schedule

if TYPE_CHECKING:
    from graphsent.propagation.fused_lstm import NaryLSTM
    from graphsent.propagation.fused_slots import SlotRule


def run_triton_slots(
    rule: SlotRule,
    schedule: Schedule,
    slots: Slots,
    start: Sequence[Tensor],
    inputs: Tensor,
    weights: Sequence[Tensor],
    bias: Tensor | None,
    leaves: Tensor | None,
    recur: Recur | None = None,
) -> tuple[Tensor, ...] | None:
    """What ``run_slots`` gives; None where there is no Triton kernel for it."""
    if not has_triton_walk(rule, inputs, bias, *weights, *start):
        return None
    if leaves is not None:
        start = [part.index_select(0, leaves) for part in start]
    walk = _Walk(rule, schedule, slots)
    tensors = (inputs, bias, *weights, *start)
    if not fit(*zip(tensors, walk.shapes(inputs.dim()), strict=True)):
        return None
    if not _is_right(rule, inputs, bias is not None):
        return None
    return _TritonSlots.apply(walk, recur, *contiguous(tensors))


def runs_in_triton(dtype: torch.dtype, device: torch.device) -> bool:
    """Whether N-ary Tree-LSTMs do so there; builds kernels, if need be."""
    from graphsent.propagation.fused_lstm import NaryLSTM

    if device.type == "cuda" and not torch.cuda.is_available():
        return False
    rule, like = NaryLSTM(16, 2), torch.empty(0, dtype=dtype, device=device)
    return has_triton_walk(rule, like) and _is_right(rule, like, True)


@dataclass(frozen=True)
class _Walk:
    """What does not change from the forward pass to the backward pass."""

    rule: NaryLSTM
    schedule: Schedule
    slots: Slots

    @property
    def num_gates(self) -> int:
        return len(self.rule.order)

    @property
    def forget(self) -> int:
        """The number of the first forget gate."""
        return self.num_gates - self.rule.count

    @property
    def shared(self) -> bool:
        """Whether all forget gates have one block of the inputs."""
        return max(block.inputs for block in self.rule.order) == self.forget

    def shapes(self, input_dim: int) -> Iterator[tuple[int, ...]]:
        """Of inputs, bias, weight, and the states of the first level."""
        size, first = self.rule.size, self.schedule.num_sources
        num_blocks = self.forget + (1 if self.shared else self.rule.count)
        yield (self.schedule.num_nodes - first, num_blocks * size)[2 - input_dim :]
        yield (self.num_gates * size,)
        yield (self.num_gates * size, self.rule.count * size)
        yield from [(first, size)] * 2

    def by_level(self, *tensors: Tensor) -> list[tuple[Any, ...]]:
        """For each level but the first, its first row, and the rows of tensors."""
        levels, first = self.schedule.levels[1:], self.schedule.num_sources
        parts = [part.split([level.end - level.start for level in levels]) for part in tensors]
        rows = (level.start - first for level in levels)
        return list(zip(rows, *parts, strict=True))

    @property
    def constants(self) -> dict[str, int]:
        """Of the kernels of both passes."""
        rule = self.rule
        return {"size": rule.size, "COUNT": rule.count, "OUTPUT": int(rule.gates.gate_output)}


def _run_again(ctx: Any, *tensors: Tensor | None) -> tuple[Tensor, ...]:
    return recur_again(ctx.recur, ctx.walk.rule.num_parts, *tensors)


class _TritonSlots(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, walk: _Walk, recur: Recur | None, *tensors: Tensor | None
    ) -> tuple[Tensor, ...]:
        inputs, bias, weight, *start = tensors
        rule, schedule, source = walk.rule, walk.schedule, walk.slots.source.contiguous()
        size, first, num_nodes = rule.size, schedule.num_sources, schedule.num_nodes
        num_inner = num_nodes - first
        successors = Successors.of(source, walk.slots.sent_to, num_nodes)
        h, c = (inputs.new_empty(num_nodes, size) for _ in range(2))
        gates = inputs.new_empty(num_inner, walk.num_gates * size)  # sums before
        slots_h = inputs.new_zeros(num_inner, rule.count * size)
        transposed = weight.t()
        with on_device_of(inputs):
            launch(kernels().start, first, *start, h, c, slots_h, *successors, size=size)
            given = (gates, inputs, bias, source, h, c, slots_h, *successors)
            ends = (first, num_nodes, row_stride(inputs))
            kernel, constants = kernels().nary, {**walk.constants, "SHARED": int(walk.shared)}
            for row, sums, rows in walk.by_level(gates, slots_h):
                torch.mm(rows, transposed, out=sums)
                launch(kernel, len(sums), *given, row, *ends, **constants)
        ctx.walk, ctx.recur = walk, recur
        ctx.save_for_backward(*tensors, c, gates, slots_h, source, *successors)
        return h, c

    @staticmethod
    @by_hand(_run_again, num_options=2)
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        walk, rule, schedule = ctx.walk, ctx.walk.rule, ctx.walk.schedule
        inputs, bias, weight, *saved = contiguous(ctx.saved_tensors)
        c, gates, slots_h, source, *successors = saved[rule.num_parts :]
        messages = [torch.empty_like(slots_h) for _ in range(2)]
        collected = (*contiguous(gradients), *messages, *successors)
        dsums = torch.empty_like(gates)
        dstart = [c.new_empty(schedule.num_sources, rule.size) for _ in range(2)]
        given = (*collected, gates, source, c, dsums)
        ends = (schedule.num_sources, schedule.num_nodes)
        with on_device_of(c):
            kernel, constants = kernels().nary_gradient, walk.constants
            for row, level_dsums, message in reversed(walk.by_level(dsums, messages[0])):
                launch(kernel, len(level_dsums), *given, row, *ends, **constants)
                torch.mm(level_dsums, weight, out=message)
            launch(kernels().start_gradient, ends[0], *collected, *dstart, size=rule.size)
        dweight = torch.mm(dsums.t(), slots_h)
        total = dsums.sum(0) if bias is not None or inputs.dim() == 1 else None
        dinputs = dsums if inputs.dim() > 1 else total
        if walk.shared:
            dinputs = _with_one_forget(dinputs, walk.forget, rule.count)
        return None, None, dinputs, total if bias is not None else None, dweight, *dstart


def _with_one_forget(dsums: Tensor, forget: int, count: int) -> Tensor:
    """Gradients of inputs that have one block for all forget gates."""
    gates = dsums.unflatten(-1, (forget + count, -1))
    others, several = gates.split((forget, count), -2)
    return torch.cat((others, several.sum(-2, keepdim=True)), -2).flatten(-2)


def _is_right(rule: NaryLSTM, like: Tensor, has_bias: bool) -> bool:
    key = (type(rule), rule.size, rule.order, has_bias, like.dtype, like.device)
    return is_right(key, lambda: _try(rule, like, has_bias))


def _try(rule: NaryLSTM, like: Tensor, has_bias: bool) -> None:
    """Runs the walk over a small graph, and compares it with that in torch."""
    from graphsent.propagation.fused_slots import _Slots

    schedule = small_schedule(rule.count)
    slots = slots_of(schedule, rule.count, None, like.device)
    schedule = schedule.to(like.device)
    walk = _Walk(rule, schedule, slots)
    made = [numbers(*shape, like=like) for shape in walk.shapes(2)]
    made[2] /= rule.size**0.5
    if not has_bias:
        made[1] = None

    def in_torch(inputs: Tensor, bias: Tensor | None, *others: Tensor) -> tuple[Tensor, ...]:
        return _Slots.apply(rule, schedule, slots, None, inputs, bias, *others)

    compare(lambda *tensors: _TritonSlots.apply(walk, None, *tensors), in_torch, made)
