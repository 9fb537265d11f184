"""Writers of every format of word vectors, for the tests of their readers."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

Vectors = Mapping[str, list[float]]


def glove(vectors: Vectors) -> bytes:
    lines = [f"{word} {' '.join(map(str, row))}\n" for word, row in vectors.items()]
    return "".join(lines).encode()


def word2vec_text(vectors: Vectors) -> bytes:
    """As the original tool writes it: a header, and a space at the end of every line."""
    body = glove(vectors).replace(b"\n", b" \n")
    return f"{len(vectors)} {_dimension(vectors)}\n".encode() + body


def word2vec_binary(vectors: Vectors, line_end: bytes = b"\n") -> bytes:
    body = b"".join(
        word.encode() + b" " + np.array(row, "<f4").tobytes() + line_end
        for word, row in vectors.items()
    )
    return f"{len(vectors)} {_dimension(vectors)}\n".encode() + body


def npz(vectors: Vectors, /, **changed: np.ndarray) -> bytes:
    """Equal vectors are stored once; ``changed`` replaces arrays."""
    rows = np.array(list(vectors.values()), np.float16)
    distinct, index = np.unique(rows, axis=0, return_inverse=True)
    arrays = {"words": np.array(list(vectors)), "vectors": distinct}
    arrays["index"] = index.reshape(-1).astype(np.int32)
    stream = io.BytesIO()
    np.savez_compressed(stream, **{**arrays, **changed})
    return stream.getvalue()


def write(path: Path, content: bytes) -> Path:
    """Writes a file, compressed according to its name."""
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


FORMATS: dict[str, Callable[[Vectors], bytes]] = {
    "glove.txt": glove,
    "word2vec.vec": word2vec_text,
    "google.bin": word2vec_binary,
    "gensim.bin": lambda vectors: word2vec_binary(vectors, line_end=b""),
    "vectors.npz": npz,
}
NAMES = [name + suffix for name in FORMATS for suffix in ("", ".gz")]


def write_format(directory: Path, name: str, vectors: Vectors) -> Path:
    """Writes vectors to a file in the format of its name, one of ``NAMES``."""
    return write(directory / name, FORMATS[name.removesuffix(".gz")](vectors))


def _dimension(vectors: Vectors) -> int:
    return len(next(iter(vectors.values())))
