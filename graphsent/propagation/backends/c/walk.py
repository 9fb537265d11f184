"""The states of all nodes by compiled code, as an operation of autograd."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional

from graphsent.kernels.library import contiguous, needs_gradients, threads_for
from graphsent.kernels.structures import Walk, address_of
from graphsent.propagation.autocast import without_autocast
from graphsent.propagation.backends.levels import run_traced
from graphsent.propagation.gradients import check_not_batched, differentiable_gradients
from graphsent.propagation.memory import empty
from graphsent.propagation.recurrence.evaluation import Evaluation, hoisted_inputs
from graphsent.propagation.recurrence.recurrence import Recurrence
from graphsent.propagation.schedule.schedule import Schedule
from graphsent.propagation.schedule.slots import Slots
from graphsent.propagation.untraced import untraced


class Start(NamedTuple):
    """The states of leaves, or the inputs of ``start``.

    Attributes:
        tensors: inputs, (num_rows, width), or parts of states, (num_rows, size).
        given: whether these are parts of states.
        projected: number of outputs of a linear map that are the first input: its place is taken
            by the input, weight and bias of this map. 0 if the first input is there itself.
        rows: (num_leaves,) the row of each node, if nodes share rows.
    """

    tensors: Sequence[Tensor]
    given: bool
    projected: int
    rows: Tensor | None


def run_recurrence(
    recurrence: Recurrence,
    library: Any,
    schedule: Schedule,
    slots: Slots | None,
    start: Start,
    inputs: Sequence[Tensor],
    input_rows: Tensor | None,
    parameters: Mapping[str, Tensor],
    num_results: int | None,
) -> tuple[Tensor, ...]:
    """The states of all nodes, by compiled code.

    Args:
        recurrence: the recurrence of a node.
        library: its compiled code.
        schedule: on the CPU, with at least two levels.
        slots: the predecessor in each slot, if predecessors are ordered.
        start: states or inputs of the leaves.
        inputs: of inner nodes, (num_inner, width), or (width,) for all of them.
        input_rows: (num_inner,) the row of each node, if nodes share rows.
        parameters: parameters and buffers by name.
        num_results: number of parts of the states to return, by node; None: all, by ordinal.
    """
    combine, starting = recurrence.combine, recurrence.start
    constants, tensors = combine.tensors(parameters), list(inputs)
    tensors += hoisted_inputs(combine.hoisted, tensors, constants)
    starts = list(start.tensors)
    if start.given:  # nothing reads the constants of `start`
        constants += [tensors[0].new_empty(0)] * len(starting.constants)
    else:
        of_start = starting.tensors(parameters)
        starts += hoisted_inputs(starting.hoisted, starts, of_start)
        constants += of_start
    rows = [input_rows if part.dim() > 1 else None for part in tensors]
    counts, kept = (len(tensors), len(starts)), start._replace(tensors=())
    plan = _Plan(recurrence, library, schedule, slots, kept, rows, num_results, counts)
    given = (*tensors, *starts, *constants)
    return _Generated.apply(plan, needs_gradients(*given), *contiguous(given))


class _Given(NamedTuple):
    """The tensors of a run; constants are those of ``combine``, then those of ``start``."""

    inputs: Sequence[Tensor]
    start: Sequence[Tensor]
    constants: Sequence[Tensor]


class _Plan(NamedTuple):
    """What the forward and the backward pass have in common: arguments of :func:`run_recurrence`.

    ``start`` is without its tensors, ``input_rows`` has an entry for each input, and ``counts`` are
    the numbers of inputs and of tensors of the start.
    """

    recurrence: Recurrence
    library: Any
    schedule: Schedule
    slots: Slots | None
    start: Start
    input_rows: Sequence[Tensor | None]
    num_results: int | None
    counts: tuple[int, int]

    def divided(self, tensors: Sequence[Any]) -> _Given:
        """Splits a flat sequence of tensors, or of something for each of them."""
        inputs, start = self.counts
        return _Given(tensors[:inputs], tensors[inputs : inputs + start], tensors[inputs + start :])


def _run_plain(plan: _Plan, *tensors: Tensor) -> tuple[Tensor, ...]:
    """The same run by operations of torch, which autograd differentiates."""
    recurrence, schedule, given = plan.recurrence, plan.schedule, plan.divided(tensors)
    inputs = [
        part.expand(schedule.num_inner, -1) if rows is None else part.index_select(0, rows)
        for part, rows in zip(given.inputs, plan.input_rows, strict=True)
    ]
    split = len(recurrence.combine.constants)
    constants, of_start = given.constants[:split], given.constants[split:]
    states = list(given.start)
    start, count = plan.start, plan.start.projected
    if count:
        x, weight, bias, *others = states
        made = functional.linear(x, weight[:count], bias[:count])
        states = [recurrence.placed(made), *others]
    if not start.given:
        states = Evaluation(recurrence.start.results, of_start).at(states)
    if start.rows is not None:
        states = [part.index_select(0, start.rows) for part in states]
    results = run_traced(recurrence, schedule, states, inputs, constants, plan.slots)
    if plan.num_results is None:
        return results
    return tuple(map(schedule.by_node, results[: plan.num_results]))


class _Run:
    """The argument of one call, ``struct walk``, and the memory that it points to."""

    def __init__(self, plan: _Plan, given: _Given, keep: bool) -> None:
        schedule, slots = plan.schedule, plan.slots
        self.plan = plan
        self.kept: list[Any] = []
        self.walk = walk = Walk(keep=keep)
        walk.num_levels, walk.num_leaves = schedule.num_levels - 1, schedule.num_leaves
        walk.num_starts, walk.num_nodes = len(given.start[0]), schedule.num_nodes
        walk.num_edges, walk.num_threads = schedule.num_edges, threads_for(schedule.num_inner)
        walk.count = 0 if slots is None else slots.count
        source = schedule.source if slots is None else slots.source
        ends, leaf_rows = torch.from_numpy(schedule.ends), plan.start.rows
        first_edge = schedule.first_edge if slots is None else None
        self.kept += [source, ends, first_edge, leaf_rows, schedule.packed]
        walk.point(level_ends=ends, source=source, first_edge=first_edge, leaf_rows=leaf_rows)
        walk.point(nodes=None if plan.num_results is None else schedule.packed)
        start: Sequence[Tensor | None] = given.start
        if plan.start.projected:
            x, weight, bias, *others = given.start
            walk.num_projected = plan.start.projected
            walk.start_outputs, walk.start_feats = weight.shape
            walk.point(start_x=x, start_weight=weight, start_bias=bias)
            start = [None, *others]
        strides = [part.shape[1] if part.dim() > 1 else 0 for part in given.inputs]
        self._point("input_strides", ctypes.c_int64, strides)
        strides = [0 if part is None else part.shape[1] for part in start]
        self._point("start_strides", ctypes.c_int64, strides)
        self.tensors(input_rows=plan.input_rows, inputs=given.inputs, constants=given.constants)
        self.tensors(**{"start" if plan.start.given else "start_inputs": start})

    def _point(self, name: str, kind: Any, numbers: Sequence[int | None]) -> None:
        array = (kind * max(len(numbers), 1))(*numbers)
        self.kept.append(array)
        setattr(self.walk, name, ctypes.addressof(array))

    def tensors(self, **named: Sequence[Tensor | None]) -> None:
        """Points to arrays of pointers to tensors."""
        for name, tensors in named.items():
            self.kept.append(tensors)
            self._point(name, ctypes.c_void_p, [address_of(part) for part in tensors])

    def call(self, name: str, like: Tensor) -> None:
        """Runs a pass, ``"forward"`` or ``"backward"``."""
        workspace = empty(self.walk.workspace_size, like=like)
        self.walk.point(workspace=workspace)
        getattr(self.plan.library, f"recurrence_{name}")(ctypes.byref(self.walk))

    def measure(self, *, backward: bool) -> None:
        """Sets the sizes of the memory that a pass needs."""
        self.plan.library.recurrence_sizes(ctypes.byref(self.walk), backward)


class _Generated(Function):
    @staticmethod
    def forward(ctx: Any, plan: _Plan, keep: bool, *tensors: Tensor) -> tuple[Tensor, ...]:
        given, like = plan.divided(tensors), tensors[0]
        run = _Run(plan, given, keep)
        recurrence, num_nodes = plan.recurrence, plan.schedule.num_nodes
        count = recurrence.num_parts if plan.num_results is None else plan.num_results
        results = [empty(num_nodes, recurrence.size, like=like) for _ in range(count)]
        run.tensors(results=[*results, *[None] * (recurrence.num_parts - count)])
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
        check_not_batched(*gradients)
        plan, wanted = ctx.plan, ctx.needs_input_grad[2:]
        if torch.is_grad_enabled():
            tensors, plain = ctx.saved_tensors[:-1], partial(_run_plain, plan)
            with without_autocast("cpu"):
                return None, None, *differentiable_gradients(plain, tensors, wanted, gradients)
        *tensors, kept = contiguous(ctx.saved_tensors)
        given, needed = plan.divided(tensors), plan.divided(wanted)
        like: Any = tensors[0]
        run = _Run(plan, given, keep=True)
        run.walk.point(kept=kept, places=ctx.places)
        # A single thread adds directly to rows that nodes share; several threads would race.
        alone = run.walk.num_threads == 1
        shared = [rows if alone else None for rows in plan.input_rows]
        found = plan.recurrence.differentiated
        dinputs = []
        inputs = zip(given.inputs, shared, needed.inputs, found.inputs, strict=True)
        for part, rows, need, kind in inputs:
            own = part.dim() > 1 and rows is None  # a row for each node
            shape = (plan.schedule.num_inner, *part.shape[1:]) if own else part.shape
            dinputs.append(_gradient(shape, need, kind if rows is None else "some", like))
        kinds: Sequence[str] = ("all",) * len(given.start)
        if not plan.start.given:
            kinds = (*kinds[:3], *found.start[1:]) if plan.start.projected else found.start
        starts = zip(given.start, needed.start, kinds, strict=True)
        dstart = [_gradient(part.shape, need, kind, like) for part, need, kind in starts]
        constants = zip(given.constants, needed.constants, found.constants, strict=True)
        dconstants = [_gradient(part.shape, need, kind, like) for part, need, kind in constants]
        missing = plan.recurrence.num_parts - len(gradients)
        run.tensors(dresults=[*contiguous(gradients), *[None] * missing])
        run.tensors(dinputs=dinputs, dinput_rows=shared, dconstants=dconstants)
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
            dinputs = [
                part
                if part is None or rows is None
                else torch.zeros_like(like).index_add_(0, rows, part)
                for part, rows, like in parts
            ]
        return None, None, *dinputs, *dstart, *dconstants


def _gradient(shape: Sequence[int], needed: bool, kind: str, like: Tensor) -> Tensor | None:
    """Memory for a gradient, if any: uninitialized if the walk fills it, zeros if it adds to it."""
    if not (needed and kind):
        return None
    return empty(*shape, like=like) if kind == "all" else like.new_zeros(shape)
