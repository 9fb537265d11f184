"""The CUDA of a recurrence: the functions of rows of its C, cut into kernels at products."""

from __future__ import annotations

from typing import NamedTuple

import torch

from graphsent.kernels.structures import HEADERS
from graphsent.propagation.backends.c.layout import Layout
from graphsent.propagation.backends.c.source import Passes
from graphsent.propagation.recurrence.expressions import Value
from graphsent.propagation.recurrence.recurrence import Recurrence

MOST_THREADS = 256
"""Threads of a block, at most."""


class Program(NamedTuple):
    """The CUDA of a recurrence.

    Attributes:
        passes: Its functions of rows, with their arrays.
        text: The source.
        steps: Names of kernels, and products, by function, in order.
        fields: Names of the fields of ``struct own``, 8 bytes each, with the number of each.
        threads: Threads per block, a power of 2.
    """

    passes: Passes
    text: str
    steps: dict[str, list[str | Value]]
    fields: dict[str, int]
    threads: int


def program_of(recurrence: Recurrence, dtype: torch.dtype) -> Program:
    """The CUDA of a recurrence."""
    layout = Layout(recurrence, blocks=False)
    passes = Passes(layout)
    steps: dict[str, list[str | Value]] = {}
    kernels = ""
    for function, pieces in passes.functions.items():
        steps[function] = []
        for number, piece in enumerate(pieces):
            if isinstance(piece, Value):
                steps[function].append(piece)
            elif piece:
                name = f"{function}_{number}"
                steps[function].append(name)
                kernels += _kernel(name, piece)
    declarations, fields = _fields(layout)
    sizes = f"enum {{ SIZE = {layout.size}, COUNT = {layout.count} }};\n"
    header = (HEADERS / "gpu.h").read_text(encoding="utf-8")
    text = (
        f"typedef long long int64_t;\n#define SINGLE {int(dtype == torch.float32)}\n"
        "#define INFINITY ((real)(1e300 * 1e300))\n#define NAN (INFINITY - INFINITY)\n"
        f"#define MOST_THREADS {MOST_THREADS}\n{header}{sizes}"
        f"struct own {{\n{declarations}}};\n\n{kernels}"
    )
    threads = 32
    while threads < min(layout.size, MOST_THREADS):
        threads *= 2
    return Program(passes, text, steps, fields, threads)


def _kernel(name: str, body: str) -> str:
    """A kernel; its loops share memory, which is more than the compiler finds out."""
    if "SUM_ROW" in body:
        body = f"__shared__ real sums[MOST_THREADS];\n{body}"
    return (
        f"KERNEL {name}(const __grid_constant__ struct own given, int64_t begin) {{\n"
        "const struct own *s = &given, *w = s;\n"
        "const int64_t first = begin + blockIdx.x, last = first + 1;\n"
        f"{body}}}\n\n"
    )


def _fields(layout: Layout) -> tuple[str, dict[str, int]]:
    """The declarations of the fields, and their numbers."""
    recurrence = layout.recurrence
    parts = recurrence.num_parts
    inputs, starts = len(recurrence.combine.widths), len(recurrence.start.widths)
    constants = len(recurrence.combine.constants) + len(recurrence.start.constants)
    arrays = sorted(layout.names.values())
    listed = [  # besides arrays, see recurrence.h
        ("int64_t", ("num_starts", "num_leaves"), None),
        ("const int64_t *", ("nodes", "first_edge", "rows", "target", "out_first", "out"), None),
        ("real *", ("acc", "projected", "dprojected", *arrays), None),
        ("int64_t", ("input_strides",), inputs),
        ("const int64_t *", ("input_rows",), inputs),
        ("const real *", ("inputs",), inputs),
        ("const real *", ("start_inputs",), starts),
        ("const real *", ("constants",), max(constants, 1)),
        ("const real *", ("dresults",), parts),
        ("real *", ("state", "dstate"), parts),
        ("real *", ("dinputs",), inputs),
        ("real *", ("dstart_inputs",), starts),
    ]
    text, fields = "", dict[str, int]()
    for kind, some, count in listed:
        size = f"[{count}]" if count else ""
        text += "".join(f"  {kind} {name}{size};\n" for name in some)
        fields |= dict.fromkeys(some, count or 1)
    return text, fields
