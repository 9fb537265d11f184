"""Functions that ``torch.compile`` leaves alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch

_Function = TypeVar("_Function", bound=Callable)
_frames: Any = torch._C._dynamo.eval_frame  # pyright: ignore[reportAttributeAccessIssue]


def untraced(function: _Function) -> _Function:
    """Keeps ``torch.compile`` out of a function and of all that it calls.

    Traced, arrays of numpy are no arrays of numpy: their addresses, which compiled kernels are
    given, are those of memory that nobody has. A graph that is being compiled ends before the call,
    and another one begins after it.

    It is what ``torch.compiler.disable`` does, which imports ``torch._dynamo``, in seconds, and
    whose results take longer to call.
    """
    if not hasattr(_frames, "set_code_exec_strategy"):  # an older torch
        return torch._disable_dynamo(function)  # type: ignore[return-value]
    skip = _frames._FrameAction.SKIP
    _frames.set_code_exec_strategy(function.__code__, _frames._FrameExecStrategy(skip, skip))
    marked: Any = function
    marked._torchdynamo_disable = True
    return function
