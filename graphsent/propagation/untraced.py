"""Functions that ``torch.compile`` leaves alone."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import torch

_Result = TypeVar("_Result")


def _loaded() -> object:
    """What traces code, if it was ever imported."""
    return sys.modules.get("torch._dynamo")


# What traces code in this thread, None if nothing does; torch before 2.3 does not tell.
_tracing = getattr(torch._C._dynamo.eval_frame, "get_eval_frame_callback", _loaded)


def untraced(function: Callable[..., _Result]) -> Callable[..., _Result]:
    """Keeps ``torch.compile`` out of a function and of all that it calls.

    Traced, arrays of numpy are no arrays of numpy: their addresses, which compiled kernels are
    given, are those of memory that nobody has. The graph that is being compiled ends before the
    call and goes on after it. ``torch.compiler.disable`` does the same, but imports
    ``torch._dynamo``, in some seconds, and costs more in each call.
    """
    disabled: list[Callable[..., _Result]] = []

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> _Result:
        if _tracing() is None:
            return function(*args, **kwargs)
        if not disabled:
            disabled.append(torch.compiler.disable(function))
        return disabled[0](*args, **kwargs)

    wrapper._torchdynamo_disable = True  # what torch.compiler.disable sets, too
    return wrapper
