"""The optional compiled kernels, built on first use if there is a compiler.

``c/`` holds plain C, without headers of torch or Python. Libraries shipped with a package would
have to run on every processor, and be missing in editable installations; compiling for some seconds
on first use gives code for this processor, however graphsent was installed. Without a compiler, or
without a usable cache directory, everything runs in torch, with the same results up to rounding.

The environment variable ``GRAPHSENT_KERNELS=0`` turns the kernels off.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from graphsent.kernels.build import SHARED, build, options_of
from graphsent.kernels.once import Once
from graphsent.kernels.structures import check_layout

SWITCH = "GRAPHSENT_KERNELS"
"""Environment variable; with ``0``, nothing is compiled or loaded."""

ROWS_A_THREAD = 64
"""Number of rows per thread below which more threads do not pay off."""

TYPES = (torch.float32, torch.float64)
"""Dtypes for which code is compiled."""

# Argument types of the functions: i(n)tegers, (p)ointers and (r)eal numbers.
_FUNCTIONS = {
    "adadelta_rows": "nnnppppppnrrrr",
    "convolution_vectors": "p",
    "linear_numbers": "pn",
}
_log = logging.getLogger(__name__)


def switched_off() -> bool:
    """Whether the environment turns the kernels off."""
    return os.environ.get(SWITCH) == "0"


def threads_for(num_rows: int) -> int:
    """Number of threads for work on ``num_rows`` rows, at most that of torch."""
    return min(torch.get_num_threads(), 1 + num_rows // ROWS_A_THREAD)


def kernels_for(*tensors: Tensor | None) -> ctypes.CDLL | None:
    """The compiled kernels for these tensors; None if there are none.

    There are kernels for tensors in memory on the CPU, all float32 or all float64; None among the
    tensors is ignored.
    """
    dtype = next((part.dtype for part in tensors if part is not None), None)
    if dtype not in TYPES or transformed():
        return None
    for part in tensors:
        if part is not None and not (part.is_cpu and part.dtype == dtype and is_plain(part)):
            return None
    library = library_for(dtype)
    return None if isinstance(library, str) else library


def is_plain(tensor: Tensor) -> bool:
    """Whether a tensor is dense, and not of a derived class.

    A derived class may compute in its own way, or have no memory (fake and wrapped tensors).
    """
    return type(tensor) in (Tensor, nn.Parameter) and tensor.layout == torch.strided


def transformed() -> bool:
    """Whether torch has to see each operation, so that kernels must not run.

    This is so in ``torch.func``, ``torch.export``, ``make_fx``, TorchScript tracing, FLOP counters
    and forward-mode differentiation.
    """
    return (
        torch._C._are_functorch_transforms_active()
        or torch._C._len_torch_dispatch_stack() > 0
        or torch.autograd.forward_ad._current_level >= 0
        or torch._C._is_tracing()
    )


def library_for(dtype: torch.dtype) -> ctypes.CDLL | str:
    """The kernels for a dtype of :data:`TYPES`, or why there are none."""
    if switched_off():
        return f"{SWITCH}=0 turns compiled code off"
    return _load(dtype)


def loaded_kernels(like: Tensor) -> ctypes.CDLL:
    """The kernels for a tensor for which :func:`kernels_for` has found some."""
    library = _load(like.dtype)
    assert not isinstance(library, str)
    return library


def needs_gradients(*tensors: Tensor | None) -> bool:
    """Whether a backward pass may follow."""
    return torch.is_grad_enabled() and any(
        part is not None and part.requires_grad for part in tensors
    )


def contiguous(tensors: Sequence[Tensor | None]) -> list[Tensor | None]:
    """The tensors in contiguous memory."""
    return [None if part is None else _stored(part) for part in tensors]


def _stored(tensor: Tensor) -> Tensor:
    """A tensor in contiguous memory; second-order gradients of torch may be zeros without any."""
    if tensor._is_zerotensor():
        return tensor.clone(memory_format=torch.contiguous_format)
    return tensor.resolve_neg().contiguous()


def kernels_in_use(dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu") -> bool:
    """Whether cells on the CPU run compiled kernels; builds them if necessary.

    ``cell.explain(graph)`` also says what a cell runs on a GPU, and if there are no kernels, why.

    Args:
        dtype: Dtype of the features; there are kernels for float32 and float64.
        device: Device of the features; there are kernels for the CPU.
    """
    device = torch.device(device)
    return device.type == "cpu" and bool(kernels_for(torch.empty(0, dtype=dtype, device=device)))


@Once
def _load(dtype: torch.dtype) -> ctypes.CDLL | str:
    """The library for a dtype; from then on the reason, if it can be neither loaded nor built."""
    try:
        return build(options_of(dtype), _open)
    except (OSError, RuntimeError) as error:
        reason = f"there are no compiled kernels for {dtype}: {error}"
        _log.warning("%s; cells run in torch, which is slower (%s=0 hides this)", reason, SWITCH)
        return reason


def _open(path: Path) -> ctypes.CDLL:
    """Loads a library and declares its functions.

    Raises:
        AttributeError: If it lacks one of them.
        OSError: If it cannot be loaded, or its structures have a different layout.
    """
    library = ctypes.CDLL(str(path))
    kinds = {"n": ctypes.c_int64, "p": ctypes.c_void_p, "r": ctypes.c_double}
    for name, arguments in _FUNCTIONS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = [kinds[kind] for kind in arguments], ctypes.c_int64
    check_layout(library, SHARED)
    return library
