"""The optional Triton kernels: when they run, and how they are launched.

They are for CUDA, where levels cost launches more than arithmetic. Triton comes with torch's wheels
for CUDA; without it everything runs in torch, with the same results but for rounding. Kernels are
built by Triton at their first use. Before a kind of walk runs the first time, it has to give the
results of torch for a graph of three nodes: what cannot be built, or computes something else here,
is never used.

``GRAPHSENT_KERNELS=0`` in the environment turns the kernels off.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import logging
import os
import threading
import warnings
from collections.abc import Callable, Hashable, Sequence
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from graphsent.propagation.compiled import SWITCH

DEVICE = "cuda"
"""Type of the devices with Triton kernels."""

COLUMNS = 128
"""Most columns of a program, one for each of its threads."""

PATIENCE = 2.0
"""Seconds after which the user is told what takes so long."""

_DTYPES = {torch.float64, torch.float32, torch.bfloat16, torch.float16}
_known: dict[Hashable, bool] = {}
_lock = threading.RLock()
_log = logging.getLogger(__name__)


def has_triton_walk(rule: Any, *tensors: Tensor | None) -> bool:
    """Whether there may be a walk in Triton that does what a rule does, for these tensors.

    Rules state it with an attribute ``in_triton`` of their own class: it says nothing of
    subclasses.
    """
    if not vars(type(rule)).get("in_triton", False) or os.environ.get(SWITCH) == "0":
        return False
    kinds = {(part.dtype, part.device) for part in tensors if part is not None}
    if len(kinds) != 1:
        return False
    ((dtype, device),) = kinds
    return dtype in _DTYPES and device.type == DEVICE and _found()


def is_right(key: Hashable, trial: Callable[[], None]) -> bool:
    """Whether a kind of walk can be used; runs a trial of it the first time.

    The first failure of a trial is told, and turns all kernels off for good.

    Args:
        key: of the kind: all that other kernels are built for.
        trial: raises an error if kernels cannot be built, or compute something else than torch.
    """
    if key in _known:
        return _known[key]
    with _lock:
        if key not in _known:
            if False in _known.values():
                return False
            if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
                return False  # nothing can be tried now
            _known[key] = _succeeds(trial)
        return _known[key]


def launch(kernel: Any, num_rows: int, *arguments: Any, size: int, **constants: int) -> None:
    """Launches a kernel of :mod:`triton_lstm` with programs for all rows and columns.

    Args:
        kernel: the kernel.
        num_rows: nodes.
        *arguments: its tensors and numbers.
        size: columns.
        **constants: other constants of the kernel.
    """
    block = min(COLUMNS, 1 << (size - 1).bit_length())
    grid = (num_rows, -(-size // block))
    kernel[grid](*arguments, SIZE=size, BLOCK=block, **constants)


def kernels() -> ModuleType:
    """The kernels; imports Triton."""
    return importlib.import_module("graphsent.propagation.triton_lstm")


def on_device_of(tensor: Tensor) -> contextlib.AbstractContextManager[Any]:
    """Where kernels are launched: Triton takes the current device."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else contextlib.nullcontext()


def compare(
    ours: Callable[..., tuple[Tensor, ...]],
    reference: Callable[..., tuple[Tensor, ...]],
    tensors: Sequence[Tensor | None],
) -> None:
    """Compares states and gradients that two walks give. The host waits for them.

    Args:
        ours: a function of the tensors.
        reference: the same in torch.
        tensors: leaves, of which gradients are taken.

    Raises:
        ArithmeticError: if they differ by more than rounding.
    """
    leaves = [part.requires_grad_() for part in tensors if part is not None]
    tolerance = {torch.float64: 1e-8, torch.bfloat16: 0.1}.get(leaves[0].dtype, 0.01)
    outcomes = []
    for walk in (ours, reference):
        states = walk(*tensors)
        total = sum((number * part).sum() for number, part in enumerate(states, start=1))
        outcomes.append((*states, *torch.autograd.grad(total, leaves)))
    for got, expected in zip(*outcomes, strict=True):
        if not torch.allclose(got, expected, rtol=tolerance, atol=tolerance):
            raise ArithmeticError("they compute something else than torch")


def numbers(*shape: int, like: Tensor) -> Tensor:
    """Some numbers between -1/2 and 1/2, without use of a generator."""
    count = torch.Size(shape).numel()
    values = torch.arange(count, device=like.device, dtype=torch.float64) + len(shape)
    return values.mul(1.7).cos().div(2).to(like.dtype).view(shape)


def _succeeds(trial: Callable[[], None]) -> bool:
    telling = threading.Timer(PATIENCE, _log.warning, ("building Triton kernels, once",))
    telling.daemon = True
    telling.start()
    try:
        with warnings.catch_warnings(), torch.inference_mode(False), torch.enable_grad():
            warnings.simplefilter("ignore")  # those of Triton are for authors of kernels
            trial()
    except Exception as error:  # whatever it is, torch does the same
        _log.warning("no Triton kernels, everything runs in torch: %s", error)
        return False
    finally:
        telling.cancel()
    return True


@functools.cache
def _found() -> bool:
    return importlib.util.find_spec("triton") is not None
