"""Where the compiled kernels come from: a compiler, and a directory that keeps what it made.

The libraries are in ``$XDG_CACHE_HOME/graphsent`` (by default ``~/.cache/graphsent``), one for each
version of the source, type of numbers and processor. Their names tell what they were made from, and
what they hold: one that is damaged is built anew.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import shutil
import subprocess
import tempfile
import threading
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

COMPILERS = ("cc", "gcc", "clang")
LONGEST = 60.0
"""Seconds after which a compiler is given up."""

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
_log = logging.getLogger(__name__)


def options_of(real: str) -> tuple[str, ...]:
    """Options of the compiler for this processor and a type of numbers, float or double."""
    capability = torch.backends.cpu.get_cpu_capability()
    machine = platform.machine().replace("arm64", "aarch64")
    found = capability if capability in _PROCESSORS else machine
    num_bytes, rows, options = _PROCESSORS.get(found, _PROCESSORS[""])
    macros = {"SINGLE": int(real == "float"), "VECTOR_BYTES": num_bytes, "TILE_ROWS": rows}
    return (*options, *(f"-D{name}={value}" for name, value in macros.items()))


def cache_directory() -> Path:
    """Where libraries are kept.

    Raises:
        RuntimeError: if the user has no home.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "graphsent"


def build(options: tuple[str, ...]) -> Path:
    """The library in the cache; it is built if it is not there.

    Raises:
        OSError: if there is no compiler, or the cache cannot be written or is another user's.
        RuntimeError: if the compiler fails, the user has no home, or this is no Unix.
        subprocess.TimeoutExpired: if the compiler takes too long.
    """
    if os.name != "posix":
        raise RuntimeError("they are built on Unix only")
    directory, key = cache_directory(), _key(options)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if directory.stat().st_uid != os.getuid():
        raise PermissionError(f"{directory} belongs to another user")
    for library in sorted(directory.glob(f"{key}-*.so")):
        if library.name == _name(key, library):
            return library
    telling = threading.Timer(PATIENCE, _log.warning, ("building compiled kernels, once",))
    with resources.as_file(_source()) as source, tempfile.TemporaryDirectory(dir=directory) as new:
        library = Path(new) / "kernels.so"
        telling.start()
        try:
            _compile(source / "kernels.c", library, options)
        finally:
            telling.cancel()
        # Another process may do the same: whoever comes last puts an equal file in its place.
        return library.replace(directory / _name(key, library))


def _source() -> Traversable:
    return resources.files("graphsent.propagation") / "kernels"


def _key(options: tuple[str, ...]) -> str:
    """It changes with all that a library depends on."""
    files = sorted(_source().iterdir(), key=lambda file: file.name)
    texts = [file.read_text(encoding="utf-8") for file in files if file.name.endswith((".c", ".h"))]
    parts = (*_COMMAND, *options, platform.platform(), *texts)
    return _digest("\0".join(parts).encode())


def _name(key: str, library: Path) -> str:
    """What a library with this content is called."""
    return f"{key}-{_digest(library.read_bytes())}.so"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _compile(source: Path, library: Path, options: tuple[str, ...]) -> None:
    """Compiles with OpenMP where the compiler has it."""
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise FileNotFoundError("no C compiler")
    command = [compiler, *_COMMAND, *options, "-o", str(library), str(source)]
    for openmp in (["-fopenmp"], []):
        done = subprocess.run(
            [*command, *openmp], capture_output=True, timeout=LONGEST, text=True, errors="replace"
        )
        if done.returncode == 0:
            return
    said = done.stderr.strip()
    raise RuntimeError(f"{compiler} ended with exit status {done.returncode}: {said}")
