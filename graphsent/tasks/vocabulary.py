"""Builds the vocabulary of a task."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from graphsent.errors import DataError
from graphsent.tasks.vectors import WordVectors, load_vectors
from graphsent.trees import Tree
from graphsent.vocabulary import Vocabulary

__all__ = ["build_vocabulary", "count_words"]


def build_vocabulary(
    train: Iterable[Tree],
    other: Iterable[Tree] = (),
    vector_paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    *,
    min_count: int = 1,
    seed: int = 0,
    lower_fallback: bool = True,
    lower: bool = False,
) -> tuple[Vocabulary, WordVectors | None]:
    """The vocabulary of a task, and the pre-trained vectors of its words if there are files.

    It holds the training words and, after them, the words of ``other`` (dev and test) that have a
    pre-trained vector. Nothing is learned from the texts of ``other``: they only select the part of
    a general vector table that the corpus needs, as in Tai et al. 2015. Other words are unknown.

    Args:
        train: Training trees.
        other: Further trees that the model will read.
        vector_paths: See :func:`~graphsent.tasks.load_vectors`; may be empty.
        min_count: Training words that occur less often are left out, unless they have a vector.
            They become ``<unk>``, whose vector is learned from them.
        seed: Seed of the random vectors of words without a pre-trained one.
        lower_fallback: Whether unknown words are looked up in lower case, see
            :class:`~graphsent.vocabulary.Vocabulary`.
        lower: Whether all words are lowercased, see :class:`~graphsent.vocabulary.Vocabulary`.

    Returns:
        The vocabulary, and vectors with rows in its order (None without files).

    Raises:
        DataError: A file of vectors is missing or malformed, or no word is found.
    """
    counts = count_words(train)
    vocab = Vocabulary.from_counts(counts, min_count, lower_fallback=lower_fallback, lower=lower)
    if not vector_paths:
        return vocab, None
    candidates = vocab.union((*counts, *count_words(other)))
    vectors = load_vectors(vector_paths, candidates, seed=seed)
    if not vectors.found.any():
        alone = isinstance(vector_paths, (str, os.PathLike))
        files: Any = [vector_paths] if alone else vector_paths
        names = ", ".join(map(str, files))
        raise DataError(f"word vectors: none of the {len(candidates):,} words has one in {names}")
    kept = [
        word
        for word, found in zip(candidates.words, vectors.found, strict=True)
        if found or word in vocab
    ]
    vocab = vocab.with_words(kept)
    return vocab, vectors.select(vocab)


def count_words(trees: Iterable[Tree], normal: Callable[[str], str] | None = None) -> Counter[str]:
    """How often each word occurs in the trees.

    Args:
        trees: The trees. Their ``word_counts``, which shards have, are used if present.
        normal: Maps a word to the form that is counted, see :meth:`Vocabulary.normal
            <graphsent.vocabulary.Vocabulary.normal>`; by default the word itself.
    """
    counts: Counter[str] = Counter(getattr(trees, "word_counts", None))
    if not counts:
        for tree in trees:
            counts.update(tree.words)
    if normal is None:
        return counts
    found: Counter[str] = Counter()
    for word, count in counts.items():
        found[normal(word)] += count
    return found
