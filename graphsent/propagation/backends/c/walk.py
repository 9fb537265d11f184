"""The states of all nodes in compiled code, as an operation of autograd."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from graphsent.kernels.library import contiguous, needs_gradients, threads_for
from graphsent.kernels.structures import Walk, address_of
from graphsent.propagation.autocast import without_autocast
from graphsent.propagation.backends.c.plan import Given, Inputs, Plan, Start, run_plain
from graphsent.propagation.gradients import differentiable_gradients
from graphsent.propagation.memory import empty
from graphsent.propagation.recurrence.evaluation import hoisted_inputs
from graphsent.propagation.recurrence.recurrence import Recurrence
from graphsent.propagation.schedule.schedule import Schedule
from graphsent.propagation.schedule.slots import Slots
from graphsent.propagation.untraced import untraced


def run_recurrence(
    recurrence: Recurrence,
    library: Any,
    schedule: Schedule,
    slots: Slots | None,
    start: Start,
    inputs: Inputs,
    parameters: Mapping[str, Tensor],
    num_results: int | None,
) -> tuple[Tensor, ...]:
    """The states of all nodes, in compiled code.

    Args:
        recurrence: what a node computes.
        library: its compiled code.
        schedule: on the CPU, of two levels at least.
        slots: which predecessor is in which slot, where they are told apart.
        start: of nodes without predecessors.
        inputs: of the others.
        parameters: and buffers, by name.
        num_results: so many parts of the states by node; all by position if it is None.
    """
    combine, starting = recurrence.combine, recurrence.start
    constants, tensors = combine.tensors(parameters), list(inputs.tensors)
    tensors += hoisted_inputs(combine.hoisted, tensors, constants)
    starts = list(start.tensors)
    if start.given:  # nothing reads the constants of `start`
        constants += [tensors[0].new_empty(0)] * len(starting.constants)
    else:
        of_start = starting.tensors(parameters)
        starts += hoisted_inputs(starting.hoisted, starts, of_start)
        constants += of_start
    rows = [inputs.rows if part.dim() > 1 else None for part in tensors]
    counts, kept = (len(tensors), len(starts)), Start((), start.given, start.projected, start.rows)
    plan = Plan(recurrence, library, schedule, slots, kept, rows, num_results, counts)
    given = (*tensors, *starts, *constants)
    return _Generated.apply(plan, needs_gradients(*given), *contiguous(given))


def _pointers(tensors: Sequence[Tensor | None]) -> Any:
    addresses = [address_of(part) for part in tensors]
    return (ctypes.c_void_p * max(len(addresses), 1))(*addresses)


class _Run:
    """The arguments of one call, and what they point to."""

    def __init__(self, plan: Plan, given: Given, keep: bool) -> None:
        schedule = plan.schedule
        num_inner = schedule.num_nodes - schedule.num_sources
        self.plan = plan
        self.kept: list[Any] = []
        self.walk = walk = Walk(keep=keep)
        walk.num_levels, walk.num_sources = schedule.num_levels - 1, schedule.num_sources
        walk.num_starts, walk.num_nodes = len(given.start[0]), schedule.num_nodes
        walk.num_edges, walk.num_threads = schedule.num_edges, threads_for(num_inner)
        slots = plan.slots
        walk.count = 0 if slots is None else slots.count
        source = schedule.source if slots is None else slots.source
        ends = torch.from_numpy(schedule.ends)
        first_edge, leaves = plan.first_edge(), plan.start.rows
        self.kept += [source, ends, first_edge, leaves, schedule.packed]
        walk.point(level_ends=ends, source=source, first_edge=first_edge, leaves=leaves)
        walk.point(nodes=None if plan.num_results is None else schedule.packed)
        self.numbers("input_strides", [p.shape[1] if p.dim() > 1 else 0 for p in given.inputs])
        start: Sequence[Tensor | None] = given.start
        if plan.start.projected:
            x, weight, bias, *others = given.start
            walk.num_projected = plan.start.projected
            walk.start_outputs, walk.start_feats = weight.shape
            walk.point(start_x=x, start_weight=weight, start_bias=bias)
            start = [None, *others]
        self.numbers("start_strides", [0 if part is None else part.shape[1] for part in start])
        self.tensors(input_rows=plan.input_rows, inputs=given.inputs, constants=given.constants)
        self.tensors(**{"start" if plan.start.given else "start_inputs": start})

    def numbers(self, name: str, numbers: Sequence[int]) -> None:
        """Sets an array of numbers."""
        self.array(name, (ctypes.c_int64 * max(len(numbers), 1))(*numbers))

    def array(self, name: str, array: Any) -> None:
        self.kept.append(array)
        setattr(self.walk, name, ctypes.addressof(array))

    def tensors(self, **named: Sequence[Tensor | None]) -> None:
        for name, tensors in named.items():
            self.kept.append(tensors)
            self.array(name, _pointers(tensors))

    def call(self, name: str, like: Tensor) -> None:
        workspace = empty(self.walk.workspace_size, like=like)
        self.walk.point(workspace=workspace)
        getattr(self.plan.library, f"recurrence_{name}")(ctypes.byref(self.walk))

    def measure(self, *, backward: bool) -> None:
        self.plan.library.recurrence_sizes(ctypes.byref(self.walk), backward)


class _Generated(Function):
    @staticmethod
    def forward(ctx: Any, plan: Plan, keep: bool, *tensors: Tensor) -> tuple[Tensor, ...]:
        given, like = plan.divided(tensors), tensors[0]
        run = _Run(plan, given, keep)
        recurrence, num_nodes = plan.recurrence, plan.schedule.num_nodes
        count = recurrence.num_parts if plan.num_results is None else plan.num_results
        results = [empty(num_nodes, recurrence.size, like=like) for _ in range(count)]
        padding = [None] * (recurrence.num_parts - count)
        run.tensors(results=[*results, *padding])
        run.measure(backward=False)
        kept = empty(run.walk.kept_size, like=like) if keep else None
        places = torch.empty(run.walk.places_size, dtype=torch.int64, device=like.device)
        run.walk.point(kept=kept, places=places)
        run.call("forward", like)
        ctx.set_materialize_grads(False)
        if keep:
            ctx.plan, ctx.places = plan, places
            ctx.save_for_backward(*tensors, kept)
        return tuple(results)

    @staticmethod
    @untraced
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        plan, wanted = ctx.plan, ctx.needs_input_grad[2:]
        if torch.is_grad_enabled():
            tensors, plain = ctx.saved_tensors[:-1], partial(run_plain, plan)
            with without_autocast("cpu"):
                return None, None, *differentiable_gradients(plain, tensors, wanted, gradients)
        *tensors, kept = contiguous(ctx.saved_tensors)
        given = plan.divided(tensors)
        like: Any = tensors[0]
        run = _Run(plan, given, keep=True)
        run.walk.point(kept=kept, places=ctx.places)
        num_inner = plan.schedule.num_nodes - plan.schedule.num_sources
        needed = plan.divided(wanted)
        # One thread adds to rows that nodes share itself; several would meet there.
        alone = run.walk.num_threads == 1
        shared = [rows if alone else None for rows in plan.input_rows]
        shapes = [
            (num_inner, *part.shape[1:]) if part.dim() > 1 and rows is None else part.shape
            for part, rows in zip(given.inputs, shared, strict=True)
        ]
        found = plan.recurrence.differentiated
        known: Sequence[Any] = [
            "some" if rows is not None else kind
            for rows, kind in zip(shared, found.inputs, strict=True)
        ]
        dinputs = _made(shapes, needed.inputs, known, like)
        start_shapes = [part.shape for part in given.start]
        known = ("all",) * len(start_shapes)
        if not plan.start.given:
            known = (*known[:3], *found.start[1:]) if plan.start.projected else found.start
        dstart = _made(start_shapes, needed.start, known, like)
        shapes = [part.shape for part in given.constants]
        dconstants = _made(shapes, needed.constants, found.constants, like)
        count = plan.recurrence.num_parts
        given_gradients = [*contiguous(gradients), *[None] * (count - len(gradients))]
        run.tensors(dresults=given_gradients, dinputs=dinputs, dinput_rows=shared)
        run.tensors(dconstants=dconstants)
        of_inputs = dstart
        if plan.start.projected:
            dx, dweight, dbias, *others = dstart
            run.walk.point(dstart_x=dx, dstart_weight=dweight, dstart_bias=dbias)
            of_inputs = [None, *others]
        run.tensors(**{"dstart" if plan.start.given else "dstart_inputs": of_inputs})
        run.measure(backward=True)
        run.call("backward", like)
        if not alone:
            parts = zip(dinputs, plan.input_rows, given.inputs, strict=True)
            dinputs = [_summed(part, index, rows) for part, index, rows in parts]
        return None, None, *dinputs, *dstart, *dconstants


def _made(
    shapes: Sequence[Sequence[int]], needed: Sequence[bool], known: Sequence[str], like: Tensor
) -> list[Tensor | None]:
    """Tensors for gradients: those that the walk fills, or adds to; None where there are none."""
    results: list[Tensor | None] = []
    for shape, need, filled in zip(shapes, needed, known, strict=True):
        if not (need and filled):
            results.append(None)
        elif filled == "all":
            results.append(empty(*shape, like=like))
        else:
            results.append(like.new_zeros(shape))
    return results


def _summed(gradient: Tensor | None, rows: Tensor | None, like: Tensor) -> Tensor | None:
    """The gradient of rows that nodes share."""
    if gradient is None or rows is None:
        return gradient
    return torch.zeros_like(like).index_add_(0, rows, gradient)
