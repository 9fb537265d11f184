"""Functions that ``torch.compile`` must not trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch

_Function = TypeVar("_Function", bound=Callable)
_frames: Any = torch._C._dynamo.eval_frame  # pyright: ignore[reportAttributeAccessIssue]


def untraced(function: _Function) -> _Function:
    """Excludes a function, and everything it calls, from ``torch.compile``: a graph break.

    Under tracing, numpy arrays are replaced by tensors that the caller does not keep alive, so
    compiled kernels would be passed dangling addresses.

    ``torch.compiler.disable`` does the same, but takes seconds to import ``torch._dynamo``, and its
    wrappers are slower to call.
    """
    if not hasattr(_frames, "set_code_exec_strategy"):  # older versions of torch
        return torch._disable_dynamo(function)  # type: ignore[return-value]
    skip = _frames._FrameAction.SKIP
    _frames.set_code_exec_strategy(function.__code__, _frames._FrameExecStrategy(skip, skip))
    marked: Any = function
    marked._torchdynamo_disable = True
    return function
