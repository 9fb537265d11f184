"""One run of a generated library, as an operation of autograd."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from graphsent.kernels.library import contiguous, needs_gradients, threads_for
from graphsent.kernels.structures import Walk, address_of
from graphsent.propagation.gradients import Plain, by_hand
from graphsent.propagation.memory import empty
from graphsent.propagation.recurrence.recurrence import Recurrence
from graphsent.propagation.schedule.schedule import Schedule
from graphsent.propagation.schedule.slots import Slots


class Given(NamedTuple):
    """The tensors of a run.

    Attributes:
        inputs: of nodes with predecessors, (num_inner, width), or (width,) for all of them.
        start: inputs of the other nodes, (num_starts, width); or parts of their states. Instead of
            the first input there may be the input, weight and bias of a linear map.
        constants: those of ``combine``, then those of ``start``.
    """

    inputs: Sequence[Tensor]
    start: Sequence[Tensor]
    constants: Sequence[Tensor]


class Plan(NamedTuple):
    """What does not change from the forward pass to the backward pass.

    Attributes:
        recurrence: of the library.
        library: its functions.
        schedule: on the CPU, of two levels at least.
        slots: of predecessors that are told apart.
        first_edge: (num_inner + 1) where the edges to each node begin; None with slots.
        leaves: (num_sources,) rows of the start, if they are shared.
        input_rows: for each input (num_inner,) its rows, if they are shared.
        num_results: parts of the states that are wanted by node; None: all of them by position.
        starts_given: whether the start is given as states.
        projected: so many outputs of the linear map are the first input, 0 without a map.
        counts: numbers of inputs, and of tensors of the start.
        plain: the same in operations of torch.
    """

    recurrence: Recurrence
    library: ctypes.CDLL
    schedule: Schedule
    slots: Slots | None
    first_edge: Tensor | None
    leaves: Tensor | None
    input_rows: Sequence[Tensor | None]
    num_results: int | None
    starts_given: bool
    projected: int
    counts: tuple[int, int]
    plain: Plain

    def divided(self, tensors: Sequence[Any]) -> Given:
        """Tensors, or what belongs to them, by kind."""
        inputs, start = self.counts
        return Given(tensors[:inputs], tensors[inputs : inputs + start], tensors[inputs + start :])


def run_generated(plan: Plan, given: Given) -> tuple[Tensor, ...]:
    """The states of all nodes."""
    tensors = (*given.inputs, *given.start, *given.constants)
    return _Generated.apply(plan, needs_gradients(*tensors), *contiguous(tensors))


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
        ends = torch.from_numpy(schedule.bounds.ends)
        self.kept += [source, ends, plan.first_edge, plan.leaves, schedule.packed]
        walk.point(level_ends=ends, source=source, first_edge=plan.first_edge)
        walk.point(leaves=plan.leaves)
        walk.point(nodes=None if plan.num_results is None else schedule.packed)
        self.numbers("input_strides", [p.shape[1] if p.dim() > 1 else 0 for p in given.inputs])
        start: Sequence[Tensor | None] = given.start
        if plan.projected:
            x, weight, bias, *others = given.start
            walk.num_projected = plan.projected
            walk.start_outputs, walk.start_feats = weight.shape
            walk.point(start_x=x, start_weight=weight, start_bias=bias)
            start = [None, *others]
        self.numbers("start_strides", [0 if part is None else part.shape[1] for part in start])
        self.tensors(input_rows=plan.input_rows, inputs=given.inputs, constants=given.constants)
        self.tensors(**{"start" if plan.starts_given else "start_inputs": start})

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


def _plain(ctx: Any, *tensors: Tensor) -> Sequence[Tensor]:
    return ctx.plan.plain(ctx.plan, ctx.plan.divided(tensors))


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
    @by_hand(_plain, num_options=2)
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        plan = ctx.plan
        *tensors, kept = contiguous(ctx.saved_tensors)
        given = plan.divided(tensors)
        like: Any = tensors[0]
        run = _Run(plan, given, keep=True)
        run.walk.point(kept=kept, places=ctx.places)
        num_inner = plan.schedule.num_nodes - plan.schedule.num_sources
        needed = plan.divided(ctx.needs_input_grad[2:])
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
        if not plan.starts_given:
            known = (*known[:3], *found.start[1:]) if plan.projected else found.start
        dstart = _made(start_shapes, needed.start, known, like)
        shapes = [part.shape for part in given.constants]
        dconstants = _made(shapes, needed.constants, found.constants, like)
        count = plan.recurrence.num_parts
        given_gradients = [*contiguous(gradients), *[None] * (count - len(gradients))]
        run.tensors(dresults=given_gradients, dinputs=dinputs, dinput_rows=shared)
        run.tensors(dconstants=dconstants)
        of_inputs = dstart
        if plan.projected:
            dx, dweight, dbias, *others = dstart
            run.walk.point(dstart_x=dx, dstart_weight=dweight, dstart_bias=dbias)
            of_inputs = [None, *others]
        run.tensors(**{"dstart" if plan.starts_given else "dstart_inputs": of_inputs})
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
