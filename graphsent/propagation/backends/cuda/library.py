"""Generated CUDA of recurrences: compiled at the first use of a recurrence on a GPU."""

from __future__ import annotations

import logging
from typing import NamedTuple

import torch

from graphsent.kernels.library import SWITCH, TYPES, switched_off
from graphsent.kernels.once import Once
from graphsent.propagation.backends.cuda.driver import CudaError, Module
from graphsent.propagation.backends.cuda.source import Program, program_of
from graphsent.propagation.recurrence.recurrence import CHANGES_OFTEN, Recurrence

_log = logging.getLogger(__name__)


class CudaLibrary(NamedTuple):
    """The compiled CUDA of a recurrence.

    Attributes:
        program: Where its arrays, kernels and products are.
        module: The kernels.
    """

    program: Program
    module: Module


def cuda_library(
    recurrence: Recurrence, dtype: torch.dtype, device: torch.device
) -> CudaLibrary | str:
    """The library of a recurrence for a dtype and a GPU, or why there is none."""
    if dtype not in TYPES:
        return f"there is no compiled code for {dtype}"
    if switched_off():
        return f"{SWITCH}=0 turns compiled code off"
    key, known = ("cuda", dtype, device), recurrence.derived
    if key not in known:
        known[key] = _made(recurrence, dtype, device)
    return known[key]


def _made(recurrence: Recurrence, dtype: torch.dtype, device: torch.device) -> CudaLibrary | str:
    try:
        program = program_of(recurrence, dtype)
        if not recurrence.may_compile(program.text):
            return CHANGES_OFTEN
        with torch.cuda.device(device):
            return CudaLibrary(program, _module(program.text, device))
    except CudaError as error:
        _log.info("no compiled recurrence for %s: %s", device, error)
        return f"there is no compiled code: {error}"


@Once
def _module(text: str, device: torch.device) -> Module:
    return Module(text)
