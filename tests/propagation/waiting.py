"""Catches operations that would make the host wait for a GPU, on a machine without one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten

# Operations that torch.cuda.set_sync_debug_mode("error") rejects: the host needs a value, or a
# shape that depends on one.
WAITING_OPERATORS = {
    aten._local_scalar_dense,
    aten._unique2,
    aten.bincount,
    aten.equal,
    aten.is_nonzero,
    aten.item,
    aten.masked_select,
    aten.nonzero,
    aten.unique_consecutive,
    aten.unique_dim,
}
INDEXING_OPERATORS = {aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_}
WAITING_METHODS = {
    torch.Tensor.__array__,
    torch.Tensor.__bool__,
    torch.Tensor.__contains__,
    torch.Tensor.cpu,
    torch.Tensor.item,
    torch.Tensor.numpy,
    torch.Tensor.tolist,
}


class _Operators(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        operator = func.overloadpacket
        by_mask = operator in INDEXING_OPERATORS and any(
            index is not None and index.dtype in (torch.bool, torch.uint8) for index in args[1]
        )
        of_unknown_size = func is aten.repeat_interleave.Tensor and not (kwargs or {}).get(
            "output_size"
        )
        waits = operator in WAITING_OPERATORS or by_mask or of_unknown_size
        assert not waits, f"{func} waits"
        return func(*args, **(kwargs or {}))


class _Methods(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        assert func not in WAITING_METHODS, f"{func} waits"
        return func(*args, **(kwargs or {}))


@contextmanager
def no_waiting() -> Iterator[None]:
    """Fails on anything in the block for which the host would wait for a GPU."""
    with _Operators(), _Methods():
        yield
