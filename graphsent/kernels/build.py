"""Building compiled libraries, and caching them on disk.

Libraries are stored in :func:`graphsent._cache.cache_directory`, one per version of the source,
dtype and processor. Their names contain hashes of source and content: a damaged one is rebuilt.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import shutil
import sys
import threading
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import TypeVar

import torch

from graphsent._cache import cache_directory
from graphsent.kernels.processes import only_builder, run
from graphsent.kernels.structures import HEADERS, Convolution, Largest, Linear, Windows, layout_in_c

COMPILERS = ("cc", "gcc", "clang")
LONGEST = 60.0
"""Timeout in seconds of a compiler run, and of waiting for another process that builds."""

SHARED = (Linear, Windows, Largest, Convolution)
"""Structures that ``kernels.c`` shares with Python."""

PATIENCE = 2.0
"""Seconds after which a warning says that a build is running."""

_COMMAND = (
    "-std=gnu11",
    "-O2",
    "-ftree-vectorize",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fPIC",
    "-shared",
)
# Bytes of a SIMD vector, rows of a tile of sums that fits the registers, compiler options.
_PROCESSORS: dict[str, tuple[int, int, tuple[str, ...]]] = {
    "AVX512": (64, 12, ("-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma")),
    "AVX2": (32, 6, ("-mavx2", "-mfma")),
    "aarch64": (16, 12, ()),
    "": (16, 6, ()),
}
_TRIAL = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
_log = logging.getLogger(__name__)
_KERNELS = f'#include "kernels.c"\n{layout_in_c(SHARED)}'
Loaded = TypeVar("Loaded")


def options_of(dtype: torch.dtype) -> tuple[str, ...]:
    """Compiler options for this processor and numbers of a dtype, float32 or float64."""
    capability = torch.backends.cpu.get_cpu_capability()
    machine = platform.machine().replace("arm64", "aarch64")
    found = capability if capability in _PROCESSORS else machine
    num_bytes, rows, options = _PROCESSORS.get(found, _PROCESSORS[""])
    macros = {"SINGLE": int(dtype == torch.float32), "VECTOR_BYTES": num_bytes, "TILE_ROWS": rows}
    return (*options, *(f"-D{name}={value}" for name, value in macros.items()))


def build(options: tuple[str, ...], load: Callable[[Path], Loaded], text: str = _KERNELS) -> Loaded:
    """Loads a library from the cache, or builds it if there is no usable one.

    Args:
        options: Compiler options.
        load: Loads a library; raises an OSError or AttributeError if it is not usable. It is then
            deleted, and the next compiler is tried.
        text: C source to compile instead of ``kernels.c``; may include the headers of the kernels.

    Raises:
        OSError: If the cache cannot be written or used, or if others may write to it.
        TimeoutError: If the last compiler, or another process that builds, takes too long.
        RuntimeError: If no compiler produces a usable library, the user has no home directory, or
            the system is not a Unix.
    """
    if os.name != "posix":
        raise RuntimeError("they are built on Unix only")
    directory, key = cache_directory(), _key(options, text)
    try:
        _make_private(directory)
        if text != _KERNELS:  # in separate directories, so that builds do not wait for each other
            directory = directory / "recurrences" / key[:2]
            _make_private(directory)
    except OSError as error:
        raise OSError(f"{error}: set GRAPHSENT_CACHE to another directory") from None
    loaded = _load_cached(directory, key, load)
    if loaded is not None:
        return loaded
    what = "the kernels" if text == _KERNELS else "functions of a cell"
    telling = threading.Timer(PATIENCE, _log.warning, ("compiling %s; later runs reuse them", what))
    telling.start()
    try:
        with only_builder(directory, LONGEST) as scratch:
            loaded = _load_cached(directory, key, load)  # another process may have built it
            if loaded is None:
                loaded = _load_built(directory, key, scratch, options, load, text)
            return loaded
    finally:
        telling.cancel()


def _make_private(directory: Path) -> None:
    """Creates a directory for libraries; raises a PermissionError if it is unsafe or unusable."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = directory.stat()
    if status.st_uid != os.getuid():
        raise PermissionError(f"{directory} belongs to another user")
    if status.st_mode & 0o022:
        raise PermissionError(f"others may write to {directory}")
    if os.statvfs(directory).f_flag & getattr(os, "ST_NOEXEC", 0):
        raise PermissionError(f"no code may be loaded from {directory}")


def _load_cached(directory: Path, key: str, load: Callable[[Path], Loaded]) -> Loaded | None:
    """The library in the cache, or None; deletes damaged and unusable ones."""
    for library in sorted(directory.glob(f"{key}-*.so")):
        try:
            if library.name == _name(key, library):
                return load(library)
        except FileNotFoundError:  # another process has deleted it
            continue
        except (OSError, AttributeError) as error:
            _log.info("%s is not usable: %s", library, error)
        library.unlink(missing_ok=True)
    return None


def _load_built(
    directory: Path,
    key: str,
    scratch: Path,
    options: tuple[str, ...],
    load: Callable[[Path], Loaded],
    text: str,
) -> Loaded:
    """The first usable library of all compilers, with or without OpenMP."""
    problems, too_long = [], False
    with resources.as_file(HEADERS) as source:
        file = scratch / "library.c"
        file.write_text(text, encoding="utf-8")
        for compiler in _compilers():
            for openmp in (("-fopenmp",), ()):
                made = scratch / "kernels.so"
                command = (compiler, *_COMMAND, *options, "-o", str(made), *openmp)
                try:
                    run((*command, f"-I{source}", str(file), "-lm"), scratch, LONGEST)
                    _try(made, scratch)
                    made = made.replace(directory / _name(key, made))
                    return load(made)
                except (OSError, AttributeError, RuntimeError) as error:
                    made.unlink(missing_ok=True)
                    problems.append(f"{compiler}: {error}")
                    too_long = isinstance(error, TimeoutError)
                    if too_long:
                        break
    raise (TimeoutError if too_long else RuntimeError)("; ".join(problems) or "no C compiler")


def _try(library: Path, scratch: Path) -> None:
    """Loads a library in another process, because a damaged one may crash the process."""
    if sys.executable and not getattr(sys, "frozen", False):  # otherwise it is not Python
        run((sys.executable, "-I", "-S", "-c", _TRIAL, str(library)), scratch, LONGEST)


def _compilers() -> list[str]:
    """All installed compilers, without aliases."""
    found = filter(None, map(shutil.which, COMPILERS))
    return list({os.path.realpath(compiler): compiler for compiler in found}.values())


def _key(options: tuple[str, ...], text: str) -> str:
    """A hash of everything that a library depends on."""
    files = sorted(HEADERS.iterdir(), key=lambda file: file.name)
    texts = [file.read_text(encoding="utf-8") for file in files if file.name.endswith((".c", ".h"))]
    parts = (*_COMMAND, *options, platform.platform(), *texts, text)
    return _digest("\0".join(parts).encode())


def _name(key: str, library: Path) -> str:
    """The file name of a library, from its key and content."""
    return f"{key}-{_digest(library.read_bytes())}.so"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
