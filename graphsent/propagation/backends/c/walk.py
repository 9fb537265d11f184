"""The states of all nodes by compiled code, as an operation of autograd."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from graphsent.kernels.library import contiguous, needs_gradients, threads_for
from graphsent.kernels.structures import Linear, Walk, address_of
from graphsent.propagation.backends.levels import plain_gradients
from graphsent.propagation.backends.plan import Given, Plan
from graphsent.propagation.gradients import ReverseMode, check_not_batched, save, saved
from graphsent.propagation.memory import empty
from graphsent.propagation.untraced import untraced


def run_compiled(plan: Plan, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The states of all nodes, by compiled code; the schedule is on the CPU."""
    return _Generated.apply(plan, needs_gradients(*tensors), *contiguous(tensors))


class _Call:
    """The argument of one call, ``struct walk``, and the memory that it points to."""

    def __init__(self, plan: Plan, given: Given, keep: bool) -> None:
        schedule, slots = plan.schedule, plan.slots
        self.plan = plan  # keeps the indices
        self.kept: list[Any] = []
        self.walk = walk = Walk(keep=keep)
        walk.num_levels, walk.num_leaves = schedule.num_levels - 1, schedule.num_leaves
        walk.num_starts, walk.num_nodes = len(given.start[0]), schedule.num_nodes
        walk.num_edges, walk.num_threads = schedule.num_edges, threads_for(schedule.num_inner)
        source = schedule.source if slots is None else slots.source
        ends, leaf_rows = torch.from_numpy(schedule.ends), plan.leaf_rows
        first_edge = schedule.first_edge if slots is None else None
        walk.point(level_ends=ends, source=source, first_edge=first_edge, leaf_rows=leaf_rows)
        walk.point(nodes=schedule.nodes)
        start: Sequence[Tensor | None] = given.start
        if plan.projected:
            x, weight, bias, *others = given.start
            first, last = plan.recurrence.columns
            sizes = len(x), x.shape[1], len(weight), walk.num_threads
            self.projection = Linear(*sizes, first, last - first)
            self.projection.point(inputs=x, weight=weight, bias=bias)
            walk.projection = ctypes.addressof(self.projection)
            start = [None, *others]
        strides = [part.shape[1] if part.dim() > 1 else 0 for part in given.inputs]
        self._point("input_strides", ctypes.c_int64, strides)
        self.tensors(input_rows=plan.input_rows, inputs=given.inputs, constants=given.constants)
        self.tensors(start_inputs=start)

    def _point(self, name: str, kind: Any, numbers: Sequence[int | None]) -> None:
        # At least one number of each part of the states; those that are not given are NULL.
        array = (kind * max(len(numbers), self.plan.recurrence.num_parts))(*numbers)
        self.kept.append(array)
        setattr(self.walk, name, ctypes.addressof(array))

    def tensors(self, **named: Sequence[Tensor | None]) -> None:
        """Points to arrays of pointers to tensors."""
        for name, tensors in named.items():
            self.kept.append(tensors)
            self._point(name, ctypes.c_void_p, [address_of(part) for part in tensors])

    def run(self, name: str, like: Tensor) -> None:
        """Runs a pass, ``"forward"`` or ``"backward"``."""
        workspace = empty(self.walk.workspace_size, like=like)
        self.walk.point(workspace=workspace)
        getattr(self.plan.library, f"recurrence_{name}")(ctypes.byref(self.walk))

    def measure(self, *, backward: bool) -> None:
        """Sets the sizes of the memory that a pass needs."""
        self.plan.library.recurrence_sizes(ctypes.byref(self.walk), backward)


class _Generated(ReverseMode):
    @staticmethod
    def forward(ctx: Any, plan: Plan, keep: bool, *tensors: Tensor) -> tuple[Tensor, ...]:
        given, like = plan.divided(tensors), tensors[0]
        call = _Call(plan, given, keep)
        shape = plan.schedule.num_nodes, plan.recurrence.size
        results = [empty(*shape, like=like) for _ in range(plan.num_results)]
        call.tensors(results=results)
        call.measure(backward=False)
        kept = empty(call.walk.kept_size, like=like) if keep else None
        places = torch.empty(call.walk.places_size, dtype=torch.int64, device=like.device)
        call.walk.point(kept=kept, places=places)
        call.run("forward", like)
        ctx.set_materialize_grads(False)
        if keep:
            ctx.plan, ctx.places = plan, places
            save(ctx, *tensors, kept)
        return tuple(results)

    @staticmethod
    @untraced
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        check_not_batched(*gradients)
        plan, wanted = ctx.plan, ctx.needs_input_grad[2:]
        tensors: Any = saved(ctx)
        if torch.is_grad_enabled():
            return None, None, *plain_gradients(plan, tensors[:-1], wanted, gradients)
        *tensors, kept = contiguous(tensors)
        call = _Call(plan, plan.divided(tensors), keep=True)
        call.walk.point(kept=kept, places=ctx.places)
        memory = plan.gradient_memory(tensors, wanted)
        call.tensors(dresults=contiguous(gradients), dinputs=memory.inputs)
        of_start = memory.start
        if plan.projected:
            dx, dweight, dbias, *others = of_start
            call.projection.point(dinputs=dx, dweight=dweight, dbias=dbias)
            of_start = [None, *others]
        call.tensors(dstart_inputs=of_start, dconstants=memory.constants)
        call.measure(backward=True)
        call.run("backward", tensors[0])
        return None, None, *plan.gradients(tensors, memory)
