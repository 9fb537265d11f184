"""Pre-trained word vectors: ``load_vectors(paths, words)`` and what it returns."""

from __future__ import annotations

from graphsent.tasks.vectors.coverage import Coverage
from graphsent.tasks.vectors.load import WordVectors, load_vectors

__all__ = ["Coverage", "WordVectors", "load_vectors"]
