"""Compiles CUDA with NVRTC, which torch brings along, and launches kernels by the CUDA driver."""

from __future__ import annotations

import ctypes
import functools
import glob
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

_OPTIONS = ("--std=c++17", "-w", "--fmad=false")


class CudaError(OSError):
    """NVRTC or the driver reports an error, or is missing."""


class Module:
    """Compiled CUDA, loaded in the context of the current device.

    Args:
        text: The source, with kernels as ``extern "C"``.

    Raises:
        CudaError: It cannot be compiled or loaded.
    """

    def __init__(self, text: str) -> None:
        major, minor = torch.cuda.get_device_capability()
        code = compiled(text, f"sm_{major}{minor}")
        self._driver, self._module = _driver(), ctypes.c_void_p()
        torch.cuda.current_stream().synchronize()  # makes the context of the device current
        _check(self._driver.cuModuleLoadData(ctypes.byref(self._module), code), "load")
        self._kernels: dict[str, ctypes.c_void_p] = {}

    @staticmethod
    def stream() -> int:
        """The current stream of the current device."""
        return torch.cuda.current_stream().cuda_stream

    def launch(
        self, name: str, grid: int, threads: int, fields: ctypes.Array, begin: int, stream: int
    ) -> None:
        """Launches a kernel on the current device.

        Args:
            name: Its name.
            grid: Number of blocks.
            threads: Threads per block.
            fields: The first argument, a structure.
            begin: The second argument.
            stream: See :meth:`stream`, which takes as long as a launch.
        """
        kernel = self._kernels.get(name) or self._find(name)
        second = ctypes.c_int64(begin)
        arguments = (ctypes.c_void_p * 2)(ctypes.addressof(fields), ctypes.addressof(second))
        sizes = grid, 1, 1, threads, 1, 1, 0
        status = self._driver.cuLaunchKernel(
            kernel, *sizes, ctypes.c_void_p(stream), arguments, None
        )
        _check(status, f"launch {name}")

    def _find(self, name: str) -> ctypes.c_void_p:
        kernel = ctypes.c_void_p()
        status = self._driver.cuModuleGetFunction(ctypes.byref(kernel), self._module, name.encode())
        _check(status, f"find {name}")
        self._kernels[name] = kernel
        return kernel


def compiled(text: str, architecture: str) -> bytes:
    """Machine code for an architecture, such as ``sm_90``.

    Raises:
        CudaError: There is no NVRTC, or the source has errors.
    """
    nvrtc, program = _nvrtc(), ctypes.c_void_p()
    nothing = (ctypes.byref(program), text.encode(), b"recurrence.cu", 0, None, None)
    _check(nvrtc.nvrtcCreateProgram(*nothing), "create a program")
    try:
        options = [option.encode() for option in (*_OPTIONS, f"-arch={architecture}")]
        array = (ctypes.c_char_p * len(options))(*options)
        if nvrtc.nvrtcCompileProgram(program, len(options), array):
            log = _output(program, "ProgramLog").decode(errors="replace")
            raise CudaError(" ".join(log.rstrip("\0").split())[:2000])
        return _output(program, "CUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _output(program: ctypes.c_void_p, kind: str) -> bytes:
    nvrtc, size = _nvrtc(), ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{kind}")(program, buffer)
    return buffer.raw


@functools.cache
def _driver() -> ctypes.CDLL:
    return _library(["libcuda.so.1"])


@functools.cache
def _nvrtc() -> ctypes.CDLL:
    major = (torch.version.cuda or "13").partition(".")[0]
    name = f"libnvrtc.so.{major}"
    wheels = [f"{glob.escape(path or '.')}/nvidia/*/lib" for path in sys.path]
    places = [*wheels, glob.escape(f"{Path(torch.__file__).parent}/lib"), f"{sys.prefix}/lib"]
    found = [
        file
        for place in places
        for file in sorted(glob.glob(f"{place}/libnvrtc*.so.{major}*"))
        if "builtins" not in Path(file).name
    ]
    return _library([*found, name])


def _library(names: Sequence[str]) -> ctypes.CDLL:
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise CudaError(f"there is no {names[-1]}")


def _check(status: int, what: str) -> None:
    if status:
        raise CudaError(f"CUDA cannot {what}: error {status}")
