"""What the compiled walks over the levels of a schedule have in common."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from graphsent.propagation.compiled import Arguments, fields, kernels_for, threads_for
from graphsent.propagation.memory import empty, zeros
from graphsent.propagation.schedule import Schedule


class Walk(Arguments):
    """``struct walk`` of ``kernels/walk.h``."""

    _fields_ = fields(
        "rule has_output attentive forgets num_parts size count num_gates input_stride "
        "num_levels num_sources num_starts num_nodes num_threads",
        "level_ends source first_edge leaves input_rows places input_of inputs bias weight "
        "more_weight_0 more_weight_1 vector start_h start_c h c gates kept gathered_h gathered_c "
        "edge_gates attention pooled_0 pooled_1 dresult_h dresult_c dh dc dstart_h dstart_c "
        "dsums dinputs dbias dweight dmore_weight dedge_sums dscores message_h message_c workspace",
    )


class Plan:
    """What does not change from the forward pass to the backward pass.

    Args:
        rule: it has a compiled walk.
        schedule: on the CPU, of two levels at least.
        source: positions that the walk reads.
        leaves: (num_sources,) rows of the first level's states, if they are shared.
        input_of: the block of the inputs of each gate.
        input_rows: (num_nodes - num_sources,) rows of the inputs, if they are shared.
    """

    def __init__(
        self,
        rule: Any,
        schedule: Schedule,
        source: Tensor,
        leaves: Tensor | None,
        input_of: Sequence[int],
        input_rows: Tensor | None = None,
    ) -> None:
        self.rule, self.schedule = rule, schedule
        self.source = source.contiguous()
        self.leaves = None if leaves is None else leaves.contiguous()
        self.input_rows = None if input_rows is None else input_rows.contiguous()
        self.num_inner = schedule.num_nodes - schedule.num_sources
        self.ends = torch.from_numpy(schedule.bounds.ends[1:] - schedule.num_sources)
        self.num_blocks = 1 + max(input_of)
        self.input_of = _array_of(tuple(input_of))

    def check(self, start: Sequence[Tensor], inputs: Tensor, *others: tuple[Any, ...]) -> None:
        """Raises a ValueError unless all shapes fit: compiled code would not notice.

        Args:
            start: parts of the states of the first level.
            inputs: one row, or one for each inner node; any rows where they are shared.
            *others: tensors or None, and their shapes.
        """
        size, num_sources = self.rule.size, self.schedule.num_sources
        num_rows = num_sources if self.leaves is None else len(start[0])
        num_inputs = self.num_inner if self.input_rows is None else len(inputs)
        shapes = [
            *others,
            (inputs, (num_inputs, self.num_blocks * size)[2 - inputs.dim() :]),
            (self.input_rows, (self.num_inner,)),
            (self.leaves, (num_sources,)),
            *((part, (num_rows, size)) for part in start),
        ]
        for tensor, shape in shapes:
            if tensor is not None and tensor.shape != shape:
                raise ValueError(f"expected a tensor of shape {shape}, got {tuple(tensor.shape)}")

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
        walk.num_nodes, walk.num_threads = schedule.num_nodes, threads_for(self.num_inner)
        walk.input_of = ctypes.addressof(self.input_of)
        walk.point(level_ends=self.ends, source=self.source)
        walk.point(leaves=self.leaves, input_rows=self.input_rows)
        return walk


@functools.cache
def _array_of(numbers: tuple[int, ...]) -> ctypes.Array[ctypes.c_int64]:
    return (ctypes.c_int64 * len(numbers))(*numbers)


def has_walk(rule: Any, *tensors: Tensor | None) -> bool:
    """Whether a compiled walk does what a rule does, for these tensors.

    Rules state it with an attribute ``compiled`` of their own class: it says nothing of subclasses.
    """
    return vars(type(rule)).get("compiled", False) and kernels_for(*tensors)


def needs_gradients(*tensors: Tensor | None) -> bool:
    """Whether a backward pass may follow."""
    return torch.is_grad_enabled() and any(
        part is not None and part.requires_grad for part in tensors
    )


STATES, START, RESULTS = ("h", "c"), ("start_h", "start_c"), ("dresult_h", "dresult_c")
"""Names of the parts of states, of those of the first level, and of the gradients of results."""


def named(names: Sequence[str], tensors: Sequence[Tensor | None]) -> dict[str, Tensor | None]:
    """As many of the names as there are tensors."""
    return dict(zip(names, tensors, strict=False))


def contiguous(tensors: Sequence[Tensor | None]) -> list[Tensor | None]:
    """The tensors in the order that the kernels expect."""
    return [None if part is None else part.contiguous() for part in tensors]
