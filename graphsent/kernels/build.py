"""Where the compiled kernels come from: a compiler, and a directory that keeps what it made.

The libraries are in :func:`graphsent._cache.cache_directory`, one for each
version of the source, type of numbers and processor. Their names tell what they were made from, and
what they hold: one that is damaged is built anew.
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
from typing import TYPE_CHECKING, TypeVar

import torch

from graphsent._cache import cache_directory
from graphsent.kernels.processes import only_builder, run
from graphsent.kernels.structures import Convolution, Largest, Linear, Windows, layout_in_c

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from importlib.resources.abc import Traversable
    else:
        from importlib.abc import Traversable

COMPILERS = ("cc", "gcc", "clang")
LONGEST = 60.0
"""Seconds after which a compiler is given up, and waiting for another process that builds."""

SHARED = (Linear, Windows, Largest, Convolution)
"""Structures of ``kernels.c`` that Python has, too."""

PATIENCE = 2.0
"""Seconds after which the user is told what takes so long."""

_COMMAND = (
    "-std=gnu11",
    "-O2",
    "-ftree-vectorize",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fPIC",
    "-shared",
)
# Bytes of a vector, rows of a tile of sums that fits the registers, options.
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


def options_of(real: str) -> tuple[str, ...]:
    """Options of the compiler for this processor and a type of numbers, float or double."""
    capability = torch.backends.cpu.get_cpu_capability()
    machine = platform.machine().replace("arm64", "aarch64")
    found = capability if capability in _PROCESSORS else machine
    num_bytes, rows, options = _PROCESSORS.get(found, _PROCESSORS[""])
    macros = {"SINGLE": int(real == "float"), "VECTOR_BYTES": num_bytes, "TILE_ROWS": rows}
    return (*options, *(f"-D{name}={value}" for name, value in macros.items()))


def build(
    options: tuple[str, ...], load: Callable[[Path], Loaded], text: str | None = None
) -> Loaded:
    """Loads the library in the cache; builds it, if there is none that is of use.

    Args:
        options: those of the compiler.
        load: loads a library; an OSError or AttributeError says that it is of no use. Then it is
            deleted, and the next compiler is tried.
        text: what to compile in place of ``kernels.c``; it may include the headers of the kernels.

    Raises:
        OSError: if the cache cannot be written or used, or others may write to it, or somebody else
            takes too long to build.
        RuntimeError: if no compiler makes a library that is of use, the user has no home, or this
            is no Unix.
    """
    if os.name != "posix":
        raise RuntimeError("they are built on Unix only")
    directory, key = cache_directory(), _key(options, text)
    _make_private(directory)
    if text is not None:  # of which there may be many: those of different texts need not wait
        directory = directory / "recurrences" / key[:2]
        _make_private(directory)
    loaded = _load_cached(directory, key, load)
    if loaded is not None:
        return loaded
    telling = threading.Timer(PATIENCE, _log.warning, ("building compiled kernels, once",))
    telling.start()
    try:
        with only_builder(directory, LONGEST) as scratch:
            loaded = _load_cached(directory, key, load)  # somebody may have built it by now
            if loaded is None:
                loaded = _load_built(directory, key, scratch, options, load, text)
            return loaded
    finally:
        telling.cancel()


def _make_private(directory: Path) -> None:
    """Makes a directory for libraries; raises a PermissionError if it is no place for them."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = directory.stat()
    if status.st_uid != os.getuid():
        raise PermissionError(f"{directory} belongs to another user")
    if status.st_mode & 0o022:
        raise PermissionError(f"others may write to {directory}")
    if os.statvfs(directory).f_flag & getattr(os, "ST_NOEXEC", 0):
        raise PermissionError(f"no code may be loaded from {directory}")


def _load_cached(directory: Path, key: str, load: Callable[[Path], Loaded]) -> Loaded | None:
    """The library in the cache, or None; those that are damaged or of no use are deleted."""
    for library in sorted(directory.glob(f"{key}-*.so")):
        try:
            if library.name == _name(key, library):
                return load(library)
        except FileNotFoundError:  # somebody else has deleted it
            continue
        except (OSError, AttributeError) as error:
            _log.info("%s is of no use: %s", library, error)
        library.unlink(missing_ok=True)
    return None


def _load_built(
    directory: Path,
    key: str,
    scratch: Path,
    options: tuple[str, ...],
    load: Callable[[Path], Loaded],
    text: str | None,
) -> Loaded:
    """The first library that is of use, of all compilers, with OpenMP and without."""
    problems = []
    with resources.as_file(_source()) as source:
        file = scratch / "library.c"
        file.write_text(_KERNELS if text is None else text, encoding="utf-8")
        for compiler in _compilers():
            for openmp in (("-fopenmp",), ()):
                made = scratch / "kernels.so"
                command = (compiler, *_COMMAND, *options, "-o", str(made), *openmp)
                try:
                    run((*command, f"-I{source}", str(file)), scratch, LONGEST)
                    _try(made, scratch)
                    made = made.replace(directory / _name(key, made))
                    return load(made)
                except (OSError, AttributeError, RuntimeError) as error:
                    made.unlink(missing_ok=True)
                    problems.append(f"{compiler}: {error}")
                    if isinstance(error, TimeoutError):
                        break
    raise RuntimeError("; ".join(problems) or "no C compiler")


def _try(library: Path, scratch: Path) -> None:
    """Loads a library in another process: what is damaged may end the one that loads it."""
    if sys.executable and not getattr(sys, "frozen", False):  # else it is another program
        run((sys.executable, "-I", "-S", "-c", _TRIAL, str(library)), scratch, LONGEST)


def _compilers() -> list[str]:
    """All there are, each once, whatever it is called."""
    found = filter(None, map(shutil.which, COMPILERS))
    return list({os.path.realpath(compiler): compiler for compiler in found}.values())


def _source() -> Traversable:
    return resources.files("graphsent.kernels") / "c"


def _key(options: tuple[str, ...], text: str | None) -> str:
    """It changes with all that a library depends on."""
    files = sorted(_source().iterdir(), key=lambda file: file.name)
    texts = [file.read_text(encoding="utf-8") for file in files if file.name.endswith((".c", ".h"))]
    parts = (*_COMMAND, *options, platform.platform(), *texts, _KERNELS if text is None else text)
    return _digest("\0".join(parts).encode())


def _name(key: str, library: Path) -> str:
    """What a library with this content is called."""
    return f"{key}-{_digest(library.read_bytes())}.so"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
