"""The structures of C functions' arguments, as the headers declare them.

Their layouts are compared with those of the compiler when a library is loaded.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from importlib import resources

from torch import Tensor

HEADERS = resources.files("graphsent.kernels") / "c"
"""The directory of the C that is not generated."""


class Structure(ctypes.Structure):
    """The arguments of a C function."""

    def point(self, **tensors: Tensor | None) -> None:
        """Sets pointers by name; the caller keeps the contiguous tensors alive."""
        for name, tensor in tensors.items():
            setattr(self, name, address_of(tensor))


def address_of(tensor: Tensor | None) -> int | None:
    """The address of a contiguous tensor.

    Raises:
        TypeError: If it is not in memory, as wrapped and fake tensors.
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


def fields_of(tag: str, header: str) -> list[tuple[str, type]]:
    """The fields of a structure, from the C that declares it: int64_t and pointers.

    Raises:
        ValueError: If a field is something else.
    """
    text = re.sub("//.*", "", header)
    found: list[tuple[str, type]] = []
    for line in text.partition(f"struct {tag} {{")[2].partition("}")[0].split(";")[:-1]:
        if "*" not in line and not line.strip().startswith("int64_t "):
            raise ValueError(f"expected integers or pointers in struct {tag}, got {line.strip()}")
        kind = ctypes.c_void_p if "*" in line else ctypes.c_int64
        found += [(name, kind) for name in re.findall(r"(\w+)\s*(?:,|$)", line)]
    return found


def _declared(tag: str, header: str) -> type[Structure]:
    """``struct tag`` of a header."""
    fields = fields_of(tag, (HEADERS / header).read_text(encoding="utf-8"))
    return type(tag.capitalize(), (Structure,), {"_fields_": fields})


Linear = _declared("linear", "library.h")
Windows = _declared("windows", "windows.h")
Largest = _declared("largest", "largest.h")
Convolution = _declared("convolution", "convolution.h")
Walk = _declared("walk", "recurrence.h")


def layout_in_c(kinds: Sequence[type[Structure]]) -> str:
    """C source that declares the size and offsets of structures for :func:`check_layout`."""
    text = ""
    for kind in kinds:
        tag = kind.__name__.lower()
        offsets = "".join(f", offsetof(struct {tag}, {name})" for name, *_ in kind._fields_)
        text += f"const int64_t layout_of_{tag}[] = {{sizeof(struct {tag}){offsets}}};\n"
    return text


def check_layout(library: ctypes.CDLL, kinds: Sequence[type[Structure]]) -> None:
    """Raises an OSError if the layout of a structure differs between C and Python.

    Raises an AttributeError if the library does not declare it.
    """
    for kind in kinds:
        tag = kind.__name__.lower()
        here = [ctypes.sizeof(kind), *(getattr(kind, name).offset for name, *_ in kind._fields_)]
        try:
            there = list((ctypes.c_int64 * len(here)).in_dll(library, f"layout_of_{tag}"))
        except ValueError as error:
            raise AttributeError(str(error)) from None
        if there != here:
            raise OSError(f"expected struct {tag} of size and offsets {here}, got {there}")
