"""Generated libraries: built at the first use of a recurrence, and cached by their source."""

from __future__ import annotations

import ctypes
import functools
import logging
from pathlib import Path

import torch

from graphsent.kernels.build import build, options_of
from graphsent.kernels.library import TYPES, library_for
from graphsent.kernels.once import Once
from graphsent.kernels.structures import Walk, check_layout
from graphsent.propagation.backends.c.source import source_of
from graphsent.propagation.recurrence.recurrence import CHANGES_OFTEN, Recurrence

_OPTIMIZED = "-O1"  # with -O2, compiling takes a quarter longer, and cells are as fast
_LONGEST = 700_000  # characters of C, which take a compiler 15 s to minutes
TOO_LONG = "written out column by column, its equations take too long to compile"

_log = logging.getLogger(__name__)


def generated_library(recurrence: Recurrence, dtype: torch.dtype) -> ctypes.CDLL | str:
    """The library of a recurrence for a dtype, or why there is none."""
    if dtype not in TYPES:
        return f"there is no compiled code for {dtype}"
    text = _text(recurrence)
    if len(text) > _LONGEST:
        return TOO_LONG
    kernels = library_for(dtype)
    if isinstance(kernels, str):
        return kernels
    if not recurrence.may_compile(text):
        return CHANGES_OFTEN
    return _load(text, dtype, kernels)


def _text(recurrence: Recurrence) -> str:
    """The C source of a recurrence, cached with it."""
    known = recurrence.derived
    if "text" not in known:
        known["text"] = source_of(recurrence)
    return known["text"]


@Once
def _load(text: str, dtype: torch.dtype, kernels: ctypes.CDLL) -> ctypes.CDLL | str:
    try:
        options = (*options_of(dtype), _OPTIMIZED)
        return build(options, functools.partial(_open, kernels), text)
    except (OSError, RuntimeError) as error:
        _log.info("no compiled recurrence for %s: %s", dtype, error)
        slow = isinstance(error, TimeoutError)
        return TOO_LONG if slow else f"there is no compiled code: {error}"


def _open(kernels: ctypes.CDLL, path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    for name in ("recurrence_forward", "recurrence_backward", "recurrence_sizes"):
        getattr(library, name)
    check_layout(library, (Walk,))
    if not library.use_library(ctypes.byref(ctypes.c_char.in_dll(kernels, "library_of_walks"))):
        raise OSError(f"{path} and the kernels are not both built with, or both without, OpenMP")
    library.kernels = kernels  # type: ignore[attr-defined]  # it calls them
    return library
