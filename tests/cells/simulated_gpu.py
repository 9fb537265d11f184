"""Runs the generated CUDA on the CPU: a C compiler builds it for blocks of one thread."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

from graphsent.kernels.build import COMPILERS

_BEFORE = """
#include <math.h>
#define KERNEL static void
#define __device__
#define __shared__
#define __grid_constant__
#define __syncthreads()
#define atomicAdd(to, x) (*(to) += (x))
static const struct { int x; } threadIdx = {0}, blockDim = {1};
static struct { long x; } blockIdx;
#undef INFINITY
#undef NAN
"""


class SimulatedModule:
    """As ``graphsent.propagation.backends.cuda.driver.Module``."""

    def __init__(self, text: str, directory: Path) -> None:
        names = re.findall(r"^KERNEL (\w+)\(", text, re.MULTILINE)
        launches = "".join(
            f"void launch_{name}(const struct own *given, long long begin, long long grid) {{\n"
            f"for (blockIdx.x = 0; blockIdx.x < grid; blockIdx.x++) {name}(*given, begin);\n}}\n"
            for name in names
        )
        source, library = directory / "source.c", directory / "library.so"
        source.write_text(_BEFORE + text + launches, encoding="utf-8")
        compiler = next(filter(None, map(shutil.which, COMPILERS)))
        command = [compiler, "-O1", "-w", "-shared", "-fPIC", "-o", library, source, "-lm"]
        subprocess.run(command, check=True)
        self.library = ctypes.CDLL(str(library))

    @staticmethod
    def stream() -> int:
        return 0

    def launch(
        self, name: str, grid: int, threads: int, fields: ctypes.Array, begin: int, stream: int
    ) -> None:
        assert grid > 0
        assert threads & (threads - 1) == 0
        call = getattr(self.library, f"launch_{name}")
        call(ctypes.byref(fields), ctypes.c_longlong(begin), ctypes.c_longlong(grid))
