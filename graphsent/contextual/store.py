"""Features on disk: computed once, looked up by content, memory-mapped."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from graphsent._files import atomic_path
from graphsent._tensor_files import save_tensors

__all__ = ["FeatureStore"]

_KEY_BYTES = 32


class FeatureStore:
    """Word features of sentences, in a directory of immutable files.

    Each file holds several sentences: ``keys`` (num_sentences, 32) uint8, the SHA-256 of the words
    of each; ``ends`` (num_sentences,) int64; ``rows`` (num_words, dim) float32, sentence by
    sentence. Files are named by the SHA-256 of their keys and created atomically, so that any
    number of processes can read and write at once. They are memory-mapped: rows are loaded on use.

    Args:
        directory: Directory for one encoder and one pooling.
        dim: Size of a feature vector.
    """

    def __init__(self, directory: str | os.PathLike[str], dim: int) -> None:
        self.directory = Path(directory)
        self.dim = dim
        self._rows: dict[str, Tensor] = {}  # by file
        self._places: dict[bytes, tuple[str, int, int]] = {}  # by key: file, first, last + 1 row
        self.refresh()

    def refresh(self) -> None:
        """Picks up files that other processes have written since."""
        for path in sorted(self.directory.glob("[0-9a-f]*.safetensors")):
            if path.name not in self._rows:
                self._open(path)

    def get(self, words: Sequence[str]) -> Tensor | None:
        """The features of a sentence, (num_words, dim) float32; None if they are not stored."""
        place = self._places.get(_key(words))
        if place is None:
            return None
        name, begin, end = place
        return self._rows[name][begin:end]

    def add(self, sentences: Sequence[Sequence[str]], rows: Tensor) -> None:
        """Stores the features of distinct sentences.

        Args:
            sentences: The words of each sentence.
            rows: (num_words, dim) float32 on the CPU, sentence by sentence.

        Raises:
            OSError: The file cannot be written.
        """
        keys = [_key(words) for words in sentences]
        path = self.directory / f"{hashlib.sha256(b''.join(keys)).hexdigest()}.safetensors"
        tensors = {
            "keys": torch.frombuffer(bytearray(b"".join(keys)), dtype=torch.uint8).view(-1, 32),
            "ends": torch.tensor([len(words) for words in sentences], device="cpu").cumsum(0),
            "rows": rows.contiguous(),
        }
        with atomic_path(path) as temporary:
            save_tensors(tensors, temporary)
        self._open(path)

    def _open(self, path: Path) -> None:
        """Indexes a file; a damaged one is removed, so that its features are recomputed."""
        try:
            tensors = load_file(path)
            keys, ends, rows = (tensors[name] for name in ("keys", "ends", "rows"))
            begins = [0, *ends.tolist()]
            sound = keys.shape == (len(ends), _KEY_BYTES) and keys.dtype == torch.uint8
            if not sound or rows.shape != (begins[-1], self.dim) or rows.dtype != torch.float32:
                raise ValueError("wrong shape")
        except OSError:  # such as another user's file: not damaged
            return
        except (SafetensorError, KeyError, ValueError):
            with suppress(OSError):
                path.unlink()
            return
        self._rows[path.name] = rows
        for number, key in enumerate(keys.numpy()):
            self._places[key.tobytes()] = (path.name, begins[number], begins[number + 1])


def _key(words: Sequence[str]) -> bytes:
    found = hashlib.sha256()
    for word in words:
        text = word.encode("utf-8", "surrogatepass")
        found.update(len(text).to_bytes(4, "little") + text)
    return found.digest()
