"""Structures shared by Python and C, whose layouts are compared when a library is loaded."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from torch import Tensor


class Structure(ctypes.Structure):
    """The arguments of a C function: integers first, then pointers.

    Attributes:
        tag: name of the structure in C.
    """

    tag: str

    def point(self, **tensors: Tensor | None) -> None:
        """Sets pointers by name; the caller keeps the contiguous tensors alive."""
        for name, tensor in tensors.items():
            setattr(self, name, address_of(tensor))


def address_of(tensor: Tensor | None) -> int | None:
    """The address of a contiguous tensor.

    Raises:
        TypeError: if it is not in memory, as wrapped and fake tensors.
    """
    if tensor is None:
        return None
    address = tensor.data_ptr()
    if not address and tensor.numel():
        raise TypeError(
            f"expected a tensor in memory for compiled code, got a {type(tensor).__name__}; "
            "with GRAPHSENT_KERNELS=0 everything runs in torch"
        )
    return address


def fields(numbers: str, pointers: str) -> list[tuple[str, type]]:
    """The fields of a structure, from names separated by spaces."""
    return [
        *((name, ctypes.c_int64) for name in numbers.split()),
        *((name, ctypes.c_void_p) for name in pointers.split()),
    ]


def layout_in_c(kinds: Sequence[type[Structure]]) -> str:
    """C source that declares the size and offsets of structures for :func:`check_layout`."""
    text = ""
    for kind in kinds:
        offsets = "".join(f", offsetof(struct {kind.tag}, {name})" for name, *_ in kind._fields_)
        text += f"const int64_t layout_of_{kind.tag}[] = {{sizeof(struct {kind.tag}){offsets}}};\n"
    return text


def check_layout(library: ctypes.CDLL, kinds: Sequence[type[Structure]]) -> None:
    """Raises an OSError if the layout of a structure differs between C and Python.

    Raises an AttributeError if the library does not declare it.
    """
    for kind in kinds:
        here = [ctypes.sizeof(kind), *(getattr(kind, name).offset for name, *_ in kind._fields_)]
        try:
            there = list((ctypes.c_int64 * len(here)).in_dll(library, f"layout_of_{kind.tag}"))
        except ValueError as error:
            raise AttributeError(str(error)) from None
        if there != here:
            raise OSError(f"expected struct {kind.tag} of size and offsets {here}, got {there}")


class Linear(Structure):
    """``struct linear`` of ``c/linear.h``."""

    tag = "linear"
    _fields_ = fields(
        "num_rows in_feats columns num_threads",
        "inputs weight bias sums dinputs dweight dbias workspace",
    )


class Windows(Structure):
    """``struct windows`` of ``c/windows.h``."""

    tag = "windows"
    _fields_ = fields("width size num_units num_threads", "ranges words products sums")


class Largest(Structure):
    """``struct largest`` of ``c/largest.h``."""

    tag = "largest"
    _fields_ = fields(
        "size num_units longest num_threads", "ranges counts rows kept steps workspace"
    )


class Convolution(Structure):
    """``struct convolution`` of ``c/rows.h``."""

    tag = "convolution"
    _fields_ = fields(
        "num_groups inputs outputs width num_units longest num_threads",
        "ranges x y weight dx dy dweight workspace",
    )


class Walk(Structure):
    """``struct walk`` of ``c/recurrence.h``."""

    tag = "walk"
    _fields_ = fields(
        "num_levels num_sources num_starts num_nodes num_edges num_threads count keep "
        "num_projected start_feats start_outputs kept_size places_size workspace_size",
        "level_ends source first_edge leaves nodes input_strides start_strides input_rows "
        "inputs start_inputs start_x start_weight start_bias start constants results dresults "
        "dinput_rows dinputs dstart_inputs dstart dconstants dstart_x dstart_weight dstart_bias "
        "kept workspace places seen",
    )
