"""What the compiled walks over the levels of a schedule have in common."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from graphsent.kernels.library import (
    kernels_for,
    kernels_of,
    threads_for,
)
from graphsent.kernels.structures import Structure, fields
from graphsent.propagation.fused import in_order
from graphsent.propagation.gradients import Recur, recur_again
from graphsent.propagation.linear import FirstOutputs
from graphsent.propagation.memory import empty
from graphsent.propagation.schedule.schedule import Schedule
from graphsent.propagation.starts import LSTMStart, Start, states_of, tensors_of


class Walk(Structure):
    """``struct walk`` of ``kernels/walk.h``, which finds its own arrays in block and workspace."""

    _fields_ = fields(
        "rule has_output attentive forgets single_successor num_parts size count num_gates "
        "num_recurrent input_stride inputs_size num_levels num_sources num_starts num_nodes "
        "num_threads start_gates start_feats start_outputs keep block_size places_size "
        "workspace_size",
        "level_ends source first_edge leaves input_rows nodes input_of inputs bias weight "
        "more_weight_0 more_weight_1 vector start_sums start_inputs start_weight start_bias "
        "start_h start_c h c result_h result_c gates kept gathered edge_gates attention pooled_0 "
        "pooled_1 dresult_h dresult_c dh dc dstart_sums dstart_inputs dstart_weight dstart_bias "
        "dstart_h dstart_c dsums dinputs dbias dweight dmore_weight_0 dmore_weight_1 dedge_sums "
        "dscores message_h message_c block places workspace seen first",
    )

    def run_forward(self, name: str, like: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Calls the functions of this name.

        Returns:
            What the backward pass is to be given: numbers ``like`` these, and places, if it has
            any. Hooks may change how numbers are stored, but what is wrong with places is not
            found out.
        """
        self._measure(name, like, backward=False)
        block = empty(self.block_size, like=like) if self.keep else None
        places = None
        if self.places_size:
            places = torch.empty(self.places_size, dtype=torch.int64, device=like.device)
        self.point(block=block, places=places)
        self._call(f"{name}_forward", like)
        return block, places

    def run_backward(self, name: str, like: Tensor) -> None:
        """The same for the backward pass, for a copy of the walk that has run forward."""
        self._measure(name, like, backward=True)
        self._call(f"{name}_backward", like)

    def _measure(self, name: str, like: Tensor, *, backward: bool) -> None:
        getattr(kernels_of(like), f"{name}_sizes")(ctypes.byref(self), backward)

    def _call(self, function: str, like: Tensor) -> None:
        workspace = empty(self.workspace_size, like=like)
        self.point(workspace=workspace)
        getattr(kernels_of(like), function)(ctypes.byref(self))


class Plan:
    """What does not change from the forward pass to the backward pass.

    Args:
        rule: it has a compiled walk.
        schedule: on the CPU, of two levels at least.
        source: positions that the walk reads.
        start: of the first level.
        leaves: (num_sources,) rows of the first level's states, if they are shared.
        input_of: the block of the inputs of each gate.
        input_rows: (num_nodes - num_sources,) rows of the inputs, if they are shared.
        num_results: parts of the states that are wanted by node; None: all of them by position.
        recur: the same recursion in operations of torch, if anybody knows it.
    """

    def __init__(
        self,
        rule: Any,
        schedule: Schedule,
        source: Tensor,
        start: Start,
        leaves: Tensor | None,
        input_of: tuple[int, ...],
        input_rows: Tensor | None,
        num_results: int | None,
        recur: Recur | None,
    ) -> None:
        self.rule, self.schedule, self.recur = rule, schedule, recur
        self.source = source.contiguous()
        self.leaves = None if leaves is None else leaves.contiguous()
        self.input_rows = None if input_rows is None else input_rows.contiguous()
        self.num_results = num_results
        self.num_inner = schedule.num_nodes - schedule.num_sources
        self.ends = torch.from_numpy(schedule.bounds.ends)
        self.num_blocks = 1 + max(input_of)
        self.input_of = _array_of(input_of)
        self.start_gates = start.num_gates if isinstance(start, LSTMStart) else 0
        self.start_names = _names_of(start)
        self.num_given = len(self.start_names)

    def check(self, start: Start, inputs: Tensor, *others: tuple[Any, ...]) -> None:
        """Raises a ValueError unless all shapes fit: compiled code would not notice.

        Args:
            start: of the first level.
            inputs: one row, or one for each inner node; any rows where they are shared.
            *others: tensors or None, and their shapes.
        """
        size, num_sources = self.rule.size, self.schedule.num_sources
        given = tensors_of(start)
        num_rows = num_sources if self.leaves is None else len(given[0])
        num_inputs = self.num_inner if self.input_rows is None else len(inputs)
        shapes = [
            *others,
            (inputs, (num_inputs, self.num_blocks * size)[2 - inputs.dim() :]),
            (self.input_rows, (self.num_inner,)),
            (self.leaves, (num_sources,)),
            *zip(given, self._start_shapes(given, num_rows), strict=True),
        ]
        for tensor, shape in shapes:
            if tensor is not None and tensor.shape != shape:
                raise ValueError(f"expected a tensor of shape {shape}, got {tuple(tensor.shape)}")

    def _start_shapes(self, given: Sequence[Tensor], num_rows: int) -> list[tuple[int, ...]]:
        width = (self.start_gates or 1) * self.rule.size
        if self.start_names != AFFINE:
            return [(num_rows, width)] * len(given)
        inputs, _, bias = given
        num_outputs = max(len(bias), width)
        return [(num_rows, inputs.shape[1]), (num_outputs, inputs.shape[1]), (num_outputs,)]

    def outcome(self, like: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """What is to be filled with the states: by position, or with those wanted by node."""
        shape, by_position = (self.schedule.num_nodes, self.rule.size), self.num_results is None
        count = self.rule.num_parts if by_position else self.num_results
        tensors = [empty(*shape, like=like) for _ in range(count)]
        return (named(STATES, tensors), {}) if by_position else ({}, named(RESULTS, tensors))

    def start(self, given: Sequence[Tensor]) -> dict[str, Tensor]:
        """What the first states are, or are made of, by the names of arguments."""
        return named(self.start_names, given)

    def start_gradients(
        self, walk: Walk, known: Mapping[str, Tensor], needed: Sequence[bool], like: Tensor
    ) -> list[Tensor | None]:
        """What the walk fills with the gradients of that, as far as needed; it knows where."""
        if self.start_names == AFFINE:
            shapes = [known[name].shape for name in AFFINE]
        else:
            shapes = [(walk.num_starts, max(walk.start_gates, 1) * walk.size)] * self.num_given
            needed = [any(needed)] * self.num_given
        tensors = [
            empty(*shape, like=like) if need else None
            for shape, need in zip(shapes, needed, strict=True)
        ]
        walk.point(**gradients_named(self.start_names, tensors))
        return tensors

    def walk(self, inputs: Tensor, given: Sequence[Tensor], keep: bool, **numbers: int) -> Walk:
        """The arguments that are known, for inputs of this shape."""
        schedule = self.schedule
        walk = Walk(num_parts=self.rule.num_parts, size=self.rule.size, keep=keep, **numbers)
        walk.input_stride = inputs.shape[1] if inputs.dim() > 1 else 0
        walk.inputs_size, walk.num_starts = inputs.numel(), len(given[0])
        walk.start_gates = self.start_gates
        if self.start_names == AFFINE:
            walk.start_outputs, walk.start_feats = given[1].shape
        walk.num_levels, walk.num_sources = schedule.num_levels - 1, schedule.num_sources
        walk.single_successor = schedule.single_successor
        walk.num_nodes, walk.num_threads = schedule.num_nodes, threads_for(self.num_inner)
        walk.input_of = ctypes.addressof(self.input_of)
        walk.point(level_ends=self.ends, source=self.source)
        walk.point(leaves=self.leaves, input_rows=self.input_rows)
        walk.point(nodes=None if self.num_results is None else schedule.packed)  # they come first
        return walk


@functools.cache
def _array_of(numbers: tuple[int, ...]) -> ctypes.Array[ctypes.c_int64]:
    return (ctypes.c_int64 * len(numbers))(*numbers)


def run_plan_again(ctx: Any, inputs: Tensor, *tensors: Tensor | None) -> tuple[Tensor, ...]:
    """What a compiled walk gives, in operations of torch; ``ctx.plan`` is its plan."""
    plan: Plan = ctx.plan
    maps, given = tensors[: -plan.num_given], tensors[-plan.num_given :]
    start = states_of(_start_of(plan, given), plan.leaves)
    if plan.input_rows is not None:
        inputs = inputs.index_select(0, plan.input_rows)
    states = recur_again(plan.recur, len(start), inputs, *maps, *start)
    return in_order(states, plan.schedule, plan.num_results)


def _start_of(plan: Plan, given: Sequence[Tensor]) -> Start:
    """The start that consists of some tensors."""
    if not plan.start_gates:
        return given
    sums = given[0]
    if plan.start_names == AFFINE:
        sums = FirstOutputs(*given, plan.start_gates * plan.rule.size)
    return LSTMStart(sums, gate_output=plan.start_gates > 2)


def has_walk(rule: Any, kinds: Sequence[str], *tensors: Tensor | None) -> bool:
    """Whether a compiled walk does what a rule does, for these tensors.

    Rules state it with an attribute ``compiled`` of their own class, one of the kinds that the walk
    knows: it says nothing of subclasses.
    """
    return vars(type(rule)).get("compiled") in kinds and kernels_for(*tensors)


WEIGHTS = ("weight", "more_weight_0", "more_weight_1")
START, STATES, RESULTS = ("start_h", "start_c"), ("h", "c"), ("result_h", "result_c")
"""Names of the parts of states of the first level, of all, and of those wanted by node."""

SUMS, AFFINE = ("start_sums",), ("start_inputs", "start_weight", "start_bias")
"""Names of what the states of the first level are made of, and of what their sums are made of."""


def _names_of(start: Start) -> tuple[str, ...]:
    if not isinstance(start, LSTMStart):
        return START[: len(start)]
    return SUMS if isinstance(start.sums, Tensor) else AFFINE


def named(names: Sequence[str], tensors: Sequence[Tensor | None]) -> dict[str, Tensor | None]:
    """As many of the names as there are tensors."""
    return dict(zip(names, tensors, strict=False))


def gradients_named(
    names: Sequence[str], tensors: Sequence[Tensor | None]
) -> dict[str, Tensor | None]:
    """The gradients of as many of the names as there are tensors."""
    return {f"d{name}": tensor for name, tensor in zip(names, tensors, strict=False)}
