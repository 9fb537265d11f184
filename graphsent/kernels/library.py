"""The optional compiled kernels: built at their first use, if there is a compiler.

``c/`` holds plain C, without headers of torch or Python. What a package brings along would
have to run on every processor and would be missing in editable installations; some seconds of
the compiler at the first use give code for this processor, whatever way graphsent was installed.
Without compiler, or without a place to keep what it makes, everything runs in torch, with the same
results but for rounding.

``GRAPHSENT_KERNELS=0`` in the environment turns the kernels off.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from graphsent.kernels.build import SHARED, build, options_of
from graphsent.kernels.structures import check_layout

SWITCH = "GRAPHSENT_KERNELS"
"""Environment variable; ``0`` means that nothing is compiled or loaded."""

ROWS_A_THREAD = 64
"""Fewer are not worth waiting for another thread."""

_TYPES = {torch.float32: "float", torch.float64: "double"}
# What other functions take: whole (n)umbers, (p)ointers and (r)eal numbers.
_FUNCTIONS = {
    "fill_schedule": "nnppppp",
    "fill_slots": "nnnnppp",
    "distinct_words": "npnppp",
    "adadelta_rows": "nnnppppppnrrrr",
    "convolution_vectors": "p",
    "linear_numbers": "pn",
}
_lock = threading.Lock()
_PLAIN: Any = Tensor  # of which type checkers do not know how operations are looked up
_log = logging.getLogger(__name__)


def switched_off() -> bool:
    """Whether the environment says that nothing is to be compiled or loaded."""
    return os.environ.get(SWITCH) == "0"


def threads_for(num_rows: int) -> int:
    """Number of threads for work on so many rows: as many as torch takes, if it is enough."""
    return min(torch.get_num_threads(), 1 + num_rows // ROWS_A_THREAD)


def kernels_for(*tensors: Tensor | None) -> bool:
    """Whether there are compiled kernels for numbers of this type, on this device.

    Args:
        *tensors: see :func:`library_of`.
    """
    return library_of(*tensors) is not None


def library_of(*tensors: Tensor | None) -> ctypes.CDLL | None:
    """The kernels for numbers of a type, if there are any.

    Args:
        *tensors: all of float32, or all of float64, and all on the CPU; None is left out.
    """
    dtype = next((part.dtype for part in tensors if part is not None), None)
    if dtype not in _TYPES or _transformed():
        return None
    for part in tensors:
        if part is not None and not (part.is_cpu and part.dtype == dtype and in_memory(part)):
            return None
    return library_for(_TYPES[dtype])


def in_memory(tensor: Tensor) -> bool:
    """Whether a tensor on the CPU has an address: fake, sparse and other wrapped ones have not."""
    kind: Any = type(tensor)
    return kind.__torch_dispatch__ is _PLAIN.__torch_dispatch__ and tensor.layout == torch.strided


def _transformed() -> bool:
    """Whether torch does more than compute: it must see each operation then, as kernels are not.

    In ``torch.func``, ``torch.export``, ``make_fx``, traces of TorchScript, counters of operations,
    and where derivatives go forward.
    """
    return (
        torch._C._are_functorch_transforms_active()
        or torch._C._len_torch_dispatch_stack() > 0
        or torch.autograd.forward_ad._current_level >= 0
        or torch._C._is_tracing()
    )


def library_for(real: str) -> ctypes.CDLL | None:
    """The kernels for a type of C, ``"float"`` or ``"double"``; both have those for indices."""
    if switched_off():
        return None
    with _lock:
        return _load(real)


def kernels_of(like: Tensor) -> ctypes.CDLL:
    """The kernels for numbers ``like`` these, which are known to be there."""
    library = _load(_TYPES[like.dtype])
    assert library is not None
    return library


def needs_gradients(*tensors: Tensor | None) -> bool:
    """Whether a backward pass may follow."""
    return torch.is_grad_enabled() and any(
        part is not None and part.requires_grad for part in tensors
    )


def contiguous(tensors: Sequence[Tensor | None]) -> list[Tensor | None]:
    """The tensors in the order that the kernels expect."""
    return [None if part is None else part.contiguous() for part in tensors]


def kernels_in_use(dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu") -> bool:
    """Whether cells run compiled kernels; builds them, if that was not done yet.

    Why there are none is logged by ``graphsent.kernels.library`` at level INFO.

    Args:
        dtype: of the features; there are kernels for float32 and float64.
        device: of the features; there are kernels for CPUs.
    """
    device = torch.device(device)
    return device.type == "cpu" and kernels_for(torch.empty(0, dtype=dtype, device=device))


@functools.cache
def _load(real: str) -> ctypes.CDLL | None:
    """The library for a type of C; None, for good, if it can be neither found nor built."""
    try:
        return build(options_of(real), _open)
    except (OSError, RuntimeError) as error:
        _log.info("no compiled kernels for numbers of type %s: %s", real, error)
        return None


def _open(path: Path) -> ctypes.CDLL:
    """Loads a library, with the types of its functions.

    Raises:
        AttributeError: if it has not got all of them.
        OSError: if it cannot be loaded, or has other structures.
    """
    library = ctypes.CDLL(str(path))
    kinds = {"n": ctypes.c_int64, "p": ctypes.c_void_p, "r": ctypes.c_double}
    for name, arguments in _FUNCTIONS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = [kinds[kind] for kind in arguments], ctypes.c_int64
    check_layout(library, SHARED)
    return library
