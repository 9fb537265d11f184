"""Word vectors as a NumPy archive in which several words may share a vector."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Collection
from pathlib import Path

import numpy as np

from graphsent._unpacking import UNREADABLE, check_unpacked
from graphsent.errors import DataError
from graphsent.tasks.vectors.files import FileVectors, open_binary

_ARRAYS = {"words": "U", "vectors": "f", "index": "iu"}  # name -> kinds of its dtype


def read_npz(path: Path, wanted: Collection[str]) -> FileVectors:
    """Reads the vectors of the wanted words from an ``.npz`` file.

    It holds ``words``, (num_words,) unicode, ``vectors``, (num_vectors, dimension) floating point,
    and ``index``, (num_words,) integer, the row of ``vectors`` for each word. The dimension is at
    least 1.

    Args:
        path: The archive, gzipped or not.
        wanted: The words to keep.

    Raises:
        DataError: The file is not such an archive, an array is missing or has the wrong type or
            shape, an index is out of range, or the archive unpacks past the limit of
            :func:`~graphsent._unpacking.open_unpacked`.
    """
    wanted = set(wanted)
    words, vectors, index = _load_arrays(path)
    rows: dict[str, np.ndarray] = {}
    for word, row in zip(words.tolist(), index.tolist(), strict=True):
        if word in wanted and word not in rows:
            rows[word] = vectors[row]
    return FileVectors(vectors.shape[1], rows)


def _load_arrays(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    with open_binary(path) as stream:
        content = io.BytesIO(stream.read())
    if content.getvalue()[:4] != b"PK\x03\x04":
        raise DataError(f"{path}: expected a NumPy archive (.npz)")
    try:
        with zipfile.ZipFile(content) as opened:
            check_unpacked(opened, path, [f"{name}.npy" for name in _ARRAYS])
        with np.load(content, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in _ARRAYS if name in archive}
    except DataError:
        raise
    except (ValueError, MemoryError, *UNREADABLE) as error:
        reason = str(error) or "unexpected end"
        raise DataError(f"{path}: damaged or truncated NumPy archive: {reason}") from None
    for name, kinds in _ARRAYS.items():
        if name not in arrays:
            raise DataError(f"{path}: expected the arrays words, vectors and index; no {name!r}")
        dimensions = 2 if name == "vectors" else 1
        if arrays[name].ndim != dimensions or arrays[name].dtype.kind not in kinds:
            raise DataError(
                f"{path}: {name!r}: expected {dimensions} dimension(s) of kind {kinds!r}, got "
                f"shape {arrays[name].shape} of {arrays[name].dtype}"
            )
    words, vectors, index = (arrays[name] for name in _ARRAYS)
    if vectors.shape[1] == 0:
        raise DataError(f"{path}: 'vectors': expected at least one number per vector, got none")
    if len(words) != len(index):
        raise DataError(f"{path}: {len(words)} words but {len(index)} entries in 'index'")
    if len(index) and not 0 <= index.min() <= index.max() < len(vectors):
        raise DataError(
            f"{path}: 'index' runs from {index.min()} to {index.max()}, "
            f"but there are {len(vectors)} vectors"
        )
    return words, vectors, index
