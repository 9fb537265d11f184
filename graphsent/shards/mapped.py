"""Memory-mapped arrays in safetensors files."""

from __future__ import annotations

import json
import math
import mmap
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from graphsent._files import atomic_path

__all__ = ["MappedFile", "smallest", "write_arrays"]

_TYPES = {"I8": np.int8, "I16": np.int16, "I32": np.int32, "I64": np.int64, "F64": np.float64}
_TYPES["U8"] = np.uint8
_INTEGERS = (np.int8, np.int16, np.int32)
_HEADER_LENGTH_BYTES = 8
_CHECKSUM = "crc32"  # an array, of the others; metadata have no fixed order


def smallest(array: np.ndarray) -> np.ndarray:
    """Converts integers to the smallest signed type that holds them all."""
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    for dtype in _INTEGERS:
        limits = np.iinfo(dtype)
        if limits.min <= low and high <= limits.max:
            return array.astype(dtype, copy=False)
    return array


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], about: Mapping[str, str]) -> None:
    """Writes a file, atomically.

    Args:
        path: The file.
        arrays: Arrays by name.
        about: Metadata.

    Raises:
        OSError: It cannot be written; ``filename`` is ``path``.
    """
    content = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    content[_CHECKSUM] = np.array(_checksum(content))
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        file.write(save(content, dict(about)))
        file.flush()
        os.fsync(file.fileno())  # the renamed file must be complete even after a power failure


class MappedFile:
    """The arrays of a file that :func:`write_arrays` wrote.

    Attributes:
        arrays: Read-only arrays by name; they are read from disk on access.
        about: Metadata.

    Raises:
        ValueError: The file is malformed or truncated.
        OSError: It cannot be read.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        length = int.from_bytes(self._map[:_HEADER_LENGTH_BYTES], "little")
        begin = _HEADER_LENGTH_BYTES + length
        if begin > len(self._map):
            raise ValueError(f"{path}: truncated")
        header = json.loads(self._map[_HEADER_LENGTH_BYTES:begin])
        try:
            self.about: dict[str, str] = header.pop("__metadata__", {})
            self.arrays = {name: self._array(begin, entry) for name, entry in header.items()}
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: malformed: {error!r}") from None
        self._path = path

    def check(self) -> None:
        """Reads everything; raises a ValueError unless it is as written."""
        if int(self.arrays.get(_CHECKSUM, -1)) != _checksum(self.arrays):
            raise ValueError(f"{self._path}: damaged")

    def _array(self, begin: int, entry: Mapping[str, Any]) -> np.ndarray:
        shape, (first, last) = entry["shape"], entry["data_offsets"]
        if begin + last > len(self._map):
            raise ValueError("truncated")
        dtype = np.dtype(_TYPES[entry["dtype"]])
        return np.frombuffer(self._map, dtype, math.prod(shape), begin + first).reshape(shape)


def _checksum(arrays: Mapping[str, np.ndarray]) -> int:
    """The CRC-32 of contiguous arrays but the checksum, whatever their order."""
    value = 0
    for name in sorted(arrays.keys() - {_CHECKSUM}):
        value = zlib.crc32(arrays[name].tobytes(), value)
    return value
