"""What all runs of a traced recurrence have in common: its graph, and its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from graphsent.propagation.memory import empty
from graphsent.propagation.recurrence.evaluation import hoisted_inputs
from graphsent.propagation.recurrence.recurrence import Recurrence
from graphsent.propagation.schedule.schedule import Schedule
from graphsent.propagation.schedule.slots import Slots


class Found(NamedTuple):
    """A recurrence, ready to run.

    Attributes:
        recurrence: Traced from the cell.
        library: Its compiled code, or why there is none.
        parameters: Parameters and buffers by name.
        dtype: Their dtype, in which compiled code computes.
    """

    recurrence: Recurrence
    library: Any
    parameters: dict[str, Tensor]
    dtype: torch.dtype

    def linear(self) -> tuple[Tensor, Tensor] | None:
        """Weight (width, in_feats) and bias (width,) of the projection if it is a linear map."""
        if self.recurrence.projection is None:
            return None
        name, of_bias = self.recurrence.projection
        weight = self.parameters[name]
        bias = weight.new_zeros(len(weight)) if of_bias is None else self.parameters[of_bias]
        return weight, bias


class Deferred(NamedTuple):
    """The outputs of a linear map, to be computed by a walk.

    Attributes:
        rows: (num_rows, in_feats).
        weight: (out_feats, in_feats).
        bias: (out_feats,).
    """

    rows: Tensor
    weight: Tensor
    bias: Tensor


class Given(NamedTuple):
    """The tensors of a run; constants are those of ``combine``, then those of ``start``."""

    inputs: Sequence[Tensor]
    start: Sequence[Tensor]
    constants: Sequence[Tensor]


class Plan(NamedTuple):
    """What the forward and the backward pass have in common.

    Attributes:
        recurrence: The recurrence of a node.
        library: Its compiled code, or why there is none.
        schedule: On the device, with at least two levels.
        slots: The predecessor in each slot, if predecessors are ordered.
        projected: Whether the first input of the start is deferred: its place is taken by the rows,
            weight and bias of the linear map.
        leaf_rows: (num_leaves,) the row of each leaf in the start, if leaves share rows.
        input_rows: For each input (num_inner,) the row of each node, if nodes share rows.
        num_results: Number of parts of the states to return.
        counts: The numbers of inputs and of tensors of the start.
    """

    recurrence: Recurrence
    library: Any
    schedule: Schedule
    slots: Slots | None
    projected: bool
    leaf_rows: Tensor | None
    input_rows: Sequence[Tensor | None]
    num_results: int
    counts: tuple[int, int]

    def divided(self, tensors: Sequence[Any]) -> Given:
        """Splits a flat sequence of tensors, or of something for each of them."""
        inputs, start = self.counts
        return Given(tensors[:inputs], tensors[inputs : inputs + start], tensors[inputs + start :])

    def gradient_memory(self, tensors: Sequence[Tensor], wanted: Sequence[bool]) -> Given:
        """Memory for those gradients that are wanted and computed; zeros if they are added to it.

        Those of inputs have a row for each node, see :meth:`gradients`.

        Args:
            tensors: The tensors of the run.
            wanted: For each of them, whether its gradient is.
        """
        inputs, start = self.counts
        of_inputs, of_constants = self.recurrence.combine.differentiated
        of_start, others = self.recurrence.start.differentiated
        if self.projected:  # the input, weight and bias in place of the first input
            of_start = [True, True, True, *of_start[1:]]
        computed = (*of_inputs, *of_start, *of_constants, *others)
        found: list[Tensor | None] = []
        for n, (part, *needed) in enumerate(zip(tensors, wanted, computed, strict=True)):
            of_nodes = n < inputs and part.dim() > 1
            shape = (self.schedule.num_inner, *part.shape[1:]) if of_nodes else part.shape
            memory = empty(*shape, like=part) if all(needed) else None
            if memory is not None and not of_nodes and not inputs <= n < inputs + start:
                memory.zero_()
            found.append(memory)
        return self.divided(found)

    def gradients(self, tensors: Sequence[Tensor], computed: Given) -> list[Tensor | None]:
        """The gradients of the tensors of a run, added up where nodes share rows of inputs."""
        found: list[Any] = [*computed.inputs, *computed.start, *computed.constants]
        for n, rows in enumerate(self.input_rows):
            if rows is not None and found[n] is not None:
                found[n] = torch.zeros_like(tensors[n]).index_add_(0, rows, found[n])
        return found


def planned(
    found: Found,
    schedule: Schedule,
    slots: Slots | None,
    starts: Sequence[Tensor | Deferred],
    leaf_rows: Tensor | None,
    inputs: Sequence[Tensor],
    input_rows: Tensor | None,
    num_results: int,
) -> tuple[Plan, list[Tensor]]:
    """The plan of a run and its tensors, in order.

    Args not described in :class:`Plan`:
        found: The recurrence.
        starts: inputs of ``start``, (num_rows, width) each; the first may be deferred.
        inputs: of inner nodes, (num_inner, width), or (width,) for all of them.
        input_rows: (num_inner,) the row of each node, if nodes share rows.
    """
    recurrence, library, parameters, _ = found
    combine, starting = recurrence.combine, recurrence.start
    tensors, dtype = list(inputs), inputs[0].dtype
    constants = combine.tensors(parameters)
    if any(part.dtype != dtype for part in constants):  # under autocast
        constants = [part.to(dtype) for part in constants]
    tensors += hoisted_inputs(combine.hoisted, tensors, constants)
    of_start = starting.tensors(parameters)
    first, *others = starts
    projected = isinstance(first, Deferred)
    given = [*(first if projected else [first]), *others]
    given += hoisted_inputs(starting.hoisted, given, of_start)
    constants += of_start
    rows = [input_rows if part.dim() > 1 else None for part in tensors]
    counts = len(tensors), len(given)
    start = projected, leaf_rows
    plan = Plan(recurrence, library, schedule, slots, *start, rows, num_results, counts)
    return plan, [*tensors, *given, *constants]
