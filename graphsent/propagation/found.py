"""What a cell runs: its recurrence, and the code compiled for it, or why there is none."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from graphsent.propagation.autocast import autocast_enabled
from graphsent.propagation.backends.c.library import generated_library
from graphsent.propagation.recurrence.modules import parameters_of, recurrence_of
from graphsent.propagation.recurrence.recurrence import Recurrence


class Found(NamedTuple):
    """What a cell runs.

    Attributes:
        recurrence: what was traced.
        library: its compiled code, or why there is none.
        parameters: and buffers, by name.
        dtype: theirs, in which the compiled code computes.
    """

    recurrence: Recurrence
    library: ctypes.CDLL | str
    parameters: dict[str, Tensor]
    dtype: torch.dtype

    def linear(self) -> tuple[Tensor, Tensor] | None:
        """Weight and bias of the projection, if it is a linear map; without one, zeros."""
        if self.recurrence.projection is None:
            return None
        weight, bias = self.recurrence.projection
        zeros = self.parameters[weight].new_zeros(self.recurrence.input_widths[0])
        return self.parameters[weight], zeros if bias is None else self.parameters[bias]


def find_recurrence(
    cell: nn.Module, like: Tensor, extra: Mapping[str, Tensor], num_slots: int | None
) -> Found | str:
    """The recurrence that a cell runs for some inputs, or why it cannot be traced.

    Args:
        cell: the cell.
        like: of the type of the inputs and where they are.
        extra: inputs after x, (num_nodes, width) each.
        num_slots: of predecessors that are told apart; None if they are not.
    """
    extra_widths = [values.shape[1] if values.dim() == 2 else 0 for values in extra.values()]
    if 0 in extra_widths:
        return "an input is not a row of numbers for each node"
    types = _types((like, *extra.values()))
    if len(types) > 1:
        return "inputs are of different types"
    parameters = parameters_of(cell)
    kinds = {(part.dtype, part.device) for part in parameters.values()}
    if len(kinds) > 1:
        return "parameters are of different types or on different devices"
    dtype = next(iter(kinds))[0] if kinds else like.dtype
    recurrence = recurrence_of(cell, dtype, extra_widths, num_slots)
    if isinstance(recurrence, str):
        return recurrence
    return Found(recurrence, _library(recurrence, like, types, dtype), parameters, dtype)


def _types(inputs: Sequence[Tensor]) -> set[torch.dtype]:
    """The types of inputs, but for those that autocast lets stand beside any other."""
    types = {values.dtype for values in inputs}
    if inputs[0].is_cpu and autocast_enabled("cpu"):
        types -= {torch.bfloat16, torch.float16}
    return types


def _library(
    recurrence: Recurrence, like: Tensor, types: set[torch.dtype], dtype: torch.dtype
) -> ctypes.CDLL | str:
    if not like.is_cpu:
        return f"there is no compiled code for {like.device}"
    if types - {dtype}:
        return "parameters and inputs are of different types"
    return generated_library(recurrence, dtype)
