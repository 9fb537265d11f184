"""What the compiled walks over the levels of a schedule have in common."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from graphsent.propagation.compiled import Arguments, fields, kernels_for, threads_for
from graphsent.propagation.compiled_leaves import Leaves
from graphsent.propagation.memory import empty, zeros
from graphsent.propagation.schedule import Schedule
from graphsent.propagation.starts import LSTMStart, Start, tensors_of


class Walk(Arguments):
    """``struct walk`` of ``kernels/walk.h``."""

    _fields_ = fields(
        "rule has_output attentive forgets single_successor num_parts size count num_gates "
        "input_stride num_levels num_sources num_starts num_nodes num_threads",
        "level_ends source first_edge leaves input_rows nodes first places seen input_of inputs "
        "bias weight more_weight_0 more_weight_1 vector start_h start_c h c result_h result_c "
        "gates kept gathered_h gathered_c edge_gates attention pooled_0 pooled_1 dresult_h "
        "dresult_c dh dc dstart_h dstart_c dsums dinputs dbias dweight dmore_weight dedge_sums "
        "dscores message_h message_c workspace",
    )

    def make_first(self, leaves: Leaves | None) -> None:
        """Lets the threads of the walk make the states of the first level, or their gradients."""
        if leaves is not None:
            self.first, self.leaves_of_first = ctypes.addressof(leaves), leaves  # kept


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
    """

    def __init__(
        self,
        rule: Any,
        schedule: Schedule,
        source: Tensor,
        start: Start,
        leaves: Tensor | None,
        input_of: Sequence[int],
        input_rows: Tensor | None,
        num_results: int | None,
    ) -> None:
        self.rule, self.schedule = rule, schedule
        self.source = source.contiguous()
        self.leaves = None if leaves is None else leaves.contiguous()
        self.input_rows = None if input_rows is None else input_rows.contiguous()
        self.num_results = num_results
        self.num_inner = schedule.num_nodes - schedule.num_sources
        self.ends = torch.from_numpy(schedule.bounds.ends[1:] - schedule.num_sources)
        self.num_blocks = 1 + max(input_of)
        self.input_of = _array_of(tuple(input_of))
        self.gate_output = start.gate_output if isinstance(start, LSTMStart) else None
        self.num_given = len(tensors_of(start))

    def check(self, start: Start, inputs: Tensor, *others: tuple[Any, ...]) -> None:
        """Raises a ValueError unless all shapes fit: compiled code would not notice.

        Args:
            start: of the first level.
            inputs: one row, or one for each inner node; any rows where they are shared.
            *others: tensors or None, and their shapes.
        """
        size, num_sources = self.rule.size, self.schedule.num_sources
        given, width = tensors_of(start), size
        if self.gate_output is not None:
            width *= 2 + self.gate_output
        num_rows = num_sources if self.leaves is None else len(given[0])
        num_inputs = self.num_inner if self.input_rows is None else len(inputs)
        shapes = [
            *others,
            (inputs, (num_inputs, self.num_blocks * size)[2 - inputs.dim() :]),
            (self.input_rows, (self.num_inner,)),
            (self.leaves, (num_sources,)),
            *((part, (num_rows, width)) for part in given),
        ]
        for tensor, shape in shapes:
            if tensor is not None and tensor.shape != shape:
                raise ValueError(f"expected a tensor of shape {shape}, got {tuple(tensor.shape)}")

    def first_states(
        self, given: Sequence[Tensor], keep: bool
    ) -> tuple[Leaves | None, list[Tensor], list[Tensor]]:
        """What makes the states of the first level, the states, and what it is to keep."""
        if self.gate_output is None:
            return None, list(given), []
        leaves, (h, c, *kept) = Leaves.forward(self.gate_output, *given, keep)
        return leaves, [h, c], kept

    def first_gradients(
        self, kept: Sequence[Tensor], dstart: Sequence[Tensor | None]
    ) -> tuple[Leaves | None, list[Tensor | None]]:
        """What makes the gradients of what is given from those of the states, and the former."""
        if self.gate_output is None or dstart[0] is None:
            return None, list(dstart[: self.num_given])
        leaves, dsums = Leaves.backward(*kept, *dstart)
        return leaves, [dsums]

    def new_states(self, like: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """What is to be filled with states by position, and with those wanted by node."""
        shape, num_parts = (self.schedule.num_nodes, self.rule.size), self.rule.num_parts
        states = [empty(*shape, like=like) for _ in range(num_parts)]
        return states, [empty(*shape, like=like) for _ in range(self.num_results or 0)]

    def inputs_gradient(self, inputs: Tensor) -> Tensor:
        """What the walk fills with the gradient of the inputs, or adds it to, if nodes share it."""
        if inputs.dim() == 1 or self.input_rows is not None:
            return zeros(*inputs.shape, like=inputs)
        return empty(*inputs.shape, like=inputs)

    def walk(self, inputs: Tensor, **numbers: int) -> Walk:
        """The arguments that are known, for inputs of this shape."""
        schedule = self.schedule
        walk = Walk(num_parts=self.rule.num_parts, size=self.rule.size, **numbers)
        walk.input_stride = inputs.shape[1] if inputs.dim() > 1 else 0
        walk.num_levels, walk.num_sources = len(self.ends), schedule.num_sources
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


def has_walk(rule: Any, *tensors: Tensor | None) -> bool:
    """Whether a compiled walk does what a rule does, for these tensors.

    Rules state it with an attribute ``compiled`` of their own class: it says nothing of subclasses.
    """
    return vars(type(rule)).get("compiled", False) and kernels_for(*tensors)


WEIGHTS = ("weight", "more_weight_0", "more_weight_1")
START, STATES, RESULTS = ("start_h", "start_c"), ("h", "c"), ("result_h", "result_c")
"""Names of the parts of states of the first level, of all, and of those wanted by node."""


def named(names: Sequence[str], tensors: Sequence[Tensor | None]) -> dict[str, Tensor | None]:
    """As many of the names as there are tensors."""
    return dict(zip(names, tensors, strict=False))


def gradients_named(
    names: Sequence[str], tensors: Sequence[Tensor | None]
) -> dict[str, Tensor | None]:
    """The gradients of as many of the names as there are tensors."""
    return {f"d{name}": tensor for name, tensor in zip(names, tensors, strict=False)}
