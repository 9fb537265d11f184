"""Finds the recurrence of a cell, and its compiled code or the reason why there is none."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from graphsent.kernels.library import is_plain
from graphsent.propagation.autocast import autocast_enabled
from graphsent.propagation.backends.c.library import TOO_LONG, generated_library
from graphsent.propagation.backends.cuda.library import CudaLibrary, cuda_library
from graphsent.propagation.backends.plan import Found
from graphsent.propagation.recurrence.modules import parameters_of, recurrence_of
from graphsent.propagation.recurrence.symbols import leaves


def find_recurrence(
    cell: nn.Module,
    like: Tensor,
    extra: Mapping[str, Tensor],
    num_slots: int | None,
    initial: Tensor | Sequence[Tensor] | None = None,
) -> Found | str:
    """The recurrence of a cell for inputs like a tensor, or why it cannot be traced.

    ``extra`` are the inputs after x, (num_nodes, width) each; ``num_slots`` is None if predecessors
    are unordered. With ``initial`` states, those of leaves are given.
    """
    for name, values in extra.items():
        if values.dim() != 2 or not values.shape[1]:
            shape = tuple(values.shape)
            return f"its input {name} has the shape {shape}: (num_nodes, width) can be traced"
    extra_widths = [values.shape[1] for values in extra.values()]
    types = {values.dtype for values in (like, *extra.values())}
    if autocast_enabled(like.device.type):  # which casts them
        types -= {torch.bfloat16, torch.float16}
    if len(types) > 1:
        named = {"feat": like, **extra}
        found = ", ".join(f"{name} {values.dtype}" for name, values in named.items())
        return f"inputs have different dtypes: {found}"
    parameters = parameters_of(cell)
    if any(map(is_lazy, parameters.values())):
        return "parameters are not initialized yet"
    given = leaves((like, extra, parameters, initial))
    if not all(is_plain(part) for part in given if isinstance(part, Tensor)):
        return "parameters or inputs are sparse, or tensors of a class derived from Tensor"
    real = [part for part in parameters.values() if part.is_floating_point()]
    places = {(part.dtype, part.device) for part in real}  # other buffers may be counts
    if len(places) > 1 or any(device != like.device for _, device in places):
        return "parameters have different dtypes, or are not all on the device of the inputs"
    dtype = next(iter(places))[0] if places else like.dtype
    if not dtype.is_floating_point:  # sums, quotients and comparisons may have another dtype
        return f"its states are of {dtype}"
    recurrence = recurrence_of(cell, dtype, extra_widths, num_slots)
    if isinstance(recurrence, str):
        return recurrence
    recurrence = recurrence if initial is None else recurrence.from_states
    library: ctypes.CDLL | CudaLibrary | str
    if like.device.type not in ("cpu", "cuda"):
        library = f"there is no compiled code for {like.device}"
    elif types - {dtype}:
        library = "parameters and inputs have different dtypes"
    elif like.is_cuda and torch.are_deterministic_algorithms_enabled():
        library = "deterministic algorithms are required, but its CUDA adds in no fixed order"
    elif like.is_cuda:
        library = cuda_library(recurrence, dtype, like.device)
    else:
        library = generated_library(recurrence, dtype)
        if library == TOO_LONG:  # in torch, too, they take longer than those of combine
            return TOO_LONG
    return Found(recurrence, library, parameters, dtype)
