"""The walk of ``run_edges`` on a GPU: a product and a Triton kernel for each level.

The weights of edges and nodes are applied to each edge together, in one product, and the kernel
adds up what comes to a node. That is more arithmetic than to add states before, but there are two
launches a level instead of four.
"""

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
    from graphsent.propagation.fused_edges import EdgeRule
    from graphsent.propagation.fused_lstm import ChildSumLSTM


def run_triton_edges(
    rule: EdgeRule,
    schedule: Schedule,
    start: Sequence[Tensor],
    inputs: Tensor,
    edge_weight: Tensor,
    weights: Sequence[Tensor],
    vectors: Sequence[Tensor],
    leaves: Tensor | None,
    recur: Recur | None = None,
) -> tuple[Tensor, ...] | None:
    """What ``run_edges`` gives; None where there is no Triton kernel for it."""
    if not has_triton_walk(rule, inputs, edge_weight, *weights, *vectors, *start):
        return None
    if leaves is not None:
        start = [part.index_select(0, leaves) for part in start]
    walk = _Walk(rule, schedule)
    tensors = (inputs, *weights, edge_weight, *vectors, *start)
    if not fit(*zip(tensors, walk.shapes(inputs.dim()), strict=True)):
        return None
    key = (type(rule), rule.size, rule.order, inputs.dtype, inputs.device)
    if not is_right(key, lambda: _try(rule, inputs)):
        return None
    tensors = (inputs, torch.cat((*weights, edge_weight)), *start)
    return _TritonEdges.apply(walk, recur, *contiguous(tensors))


@dataclass(frozen=True)
class _Walk:
    """What does not change from the forward pass to the backward pass."""

    rule: ChildSumLSTM
    schedule: Schedule

    @property
    def num_gates(self) -> int:
        """Gates of a node, without f."""
        return len(self.rule.order)

    def shapes(self, input_dim: int) -> Iterator[tuple[int, ...]]:
        """Of inputs, weight, weight of the edges, and the states of the first level."""
        size, first = self.rule.size, self.schedule.num_sources
        width = (self.num_gates + 1) * size
        yield (self.schedule.num_nodes - first, width)[2 - input_dim :]
        yield (self.num_gates * size, size)
        yield (size, size)
        yield from [(first, size)] * 2

    def by_level(self, sums: Tensor, states: Tensor) -> Iterator[tuple[int, int, Tensor, Tensor]]:
        """The first row and number of nodes, and the rows of edges, of each level but the first."""
        levels, first = self.schedule.levels[1:], self.schedule.num_sources
        sizes = [level.last_edge - level.first_edge for level in levels]
        for level, *rows in zip(levels, sums.split(sizes), states.split(sizes), strict=True):
            yield level.start - first, level.end - level.start, *rows

    @property
    def constants(self) -> dict[str, int]:
        """Of the kernels of both passes."""
        return {"size": self.rule.size, "OUTPUT": int(self.rule.gates.gate_output)}


def _run_again(ctx: Any, inputs: Tensor, weight: Tensor, *start: Tensor) -> tuple[Tensor, ...]:
    weight, edge_weight = weight.split((len(weight) - ctx.walk.rule.size, ctx.walk.rule.size))
    return recur_again(ctx.recur, len(start), inputs, edge_weight, weight, *start)


class _TritonEdges(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, walk: _Walk, recur: Recur | None, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        inputs, weight, *start = tensors
        schedule, size = walk.schedule, walk.rule.size
        first, num_nodes, source = schedule.num_sources, schedule.num_nodes, schedule.source
        inner = torch.arange(first, num_nodes + 1, device=inputs.device)
        first_edge = torch.searchsorted(schedule.target, inner)
        successors = Successors.of(source, schedule.sent_to, num_nodes)
        h, c = (inputs.new_empty(num_nodes, size) for _ in range(2))
        gates = inputs.new_empty(num_nodes - first, walk.num_gates * size)
        sums = inputs.new_empty(schedule.num_edges, (walk.num_gates + 1) * size)
        edges_h = inputs.new_empty(schedule.num_edges, size)
        transposed = weight.t()
        with on_device_of(inputs):
            launch(kernels().start, first, *start, h, c, edges_h, *successors, size=size)
            given = (sums, inputs, first_edge, source, h, c, gates, edges_h, *successors)
            ends = (first, row_stride(inputs))
            kernel, constants = kernels().child_sum, walk.constants
            for row, num_rows, level_sums, rows in walk.by_level(sums, edges_h):
                torch.mm(rows, transposed, out=level_sums)
                launch(kernel, num_rows, *given, row, *ends, **constants)
        ctx.walk, ctx.recur = walk, recur
        ctx.save_for_backward(*tensors, c, gates, sums, edges_h, first_edge, *successors)
        return h, c

    @staticmethod
    @by_hand(_run_again, num_options=2)
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        walk, schedule, size = ctx.walk, ctx.walk.schedule, ctx.walk.rule.size
        inputs, weight, *saved = contiguous(ctx.saved_tensors)
        c, gates, sums, edges_h, first_edge, *successors = saved[walk.rule.num_parts :]
        messages = [torch.empty_like(edges_h) for _ in range(2)]
        collected = (*contiguous(gradients), *messages, *successors)
        dsums, dinputs = torch.empty_like(sums), c.new_empty(len(gates), sums.shape[1])
        dstart = [c.new_empty(schedule.num_sources, size) for _ in range(2)]
        given = (*collected, gates, sums, first_edge, schedule.source, c, dsums, dinputs)
        first = schedule.num_sources
        with on_device_of(c):
            kernel, constants = kernels().child_sum_gradient, walk.constants
            levels = list(walk.by_level(dsums, messages[0]))
            for row, num_rows, level_dsums, message in reversed(levels):
                launch(kernel, num_rows, *given, row, first, **constants)
                torch.mm(level_dsums, weight, out=message)
            launch(kernels().start_gradient, first, *collected, *dstart, size=size)
        dweight = torch.mm(dsums.t(), edges_h)
        dinputs = dinputs if inputs.dim() > 1 else dinputs.sum(0)
        return None, None, dinputs, dweight, *dstart


def _try(rule: ChildSumLSTM, inputs: Tensor) -> None:
    """Runs the walk over a small graph, and compares it with that in torch."""
    from graphsent.propagation.fused_edges import _Edges

    schedule = small_schedule(2).to(inputs.device)
    walk = _Walk(rule, schedule)
    made = [numbers(*shape, like=inputs) for shape in walk.shapes(2)]
    for weight in made[1:3]:
        weight /= rule.size**0.5

    def in_triton(inputs: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        return _TritonEdges.apply(walk, None, inputs, torch.cat(tensors[:2]), *tensors[2:])

    def in_torch(inputs: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        weight, edge_weight, *start = tensors
        return _Edges.apply(rule, schedule, None, inputs, edge_weight, weight, *start)

    compare(in_triton, in_torch, made)
