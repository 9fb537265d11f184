"""Which words are in the vocabulary of a task."""

from __future__ import annotations

import numpy as np
import pytest
from vector_files import glove, write

from graphsent.errors import DataError
from graphsent.sentences import Sentence
from graphsent.tasks import build_vocabulary, count_words
from graphsent.trees import Tree

TRAIN = [Tree.from_string("(3 (2 a) (3 (3 lovely) (2 film)))"), Tree.from_string("(2 (2 a) (2 b))")]
OTHER = [Tree.from_string("(3 (3 (2 a) (2 new)) (3 (2 odd) (2 film)))")]


@pytest.fixture
def vectors(tmp_path):
    table = {"film": [1, 1], "new": [2, 2], "b": [3, 3], "elsewhere": [4, 4]}
    return write(tmp_path / "v.txt", glove(table))


def test_without_vectors_only_training_words_are_known():
    vocab, loaded = build_vocabulary(TRAIN, OTHER)
    assert vocab.words == ("<unk>", "a", "lovely", "film", "b")
    assert loaded is None


def test_other_words_are_known_if_they_have_a_vector(vectors):
    vocab, loaded = build_vocabulary(TRAIN, OTHER, vectors)
    assert vocab.words == ("<unk>", "a", "lovely", "film", "b", "new")
    assert loaded.words == vocab.words
    assert loaded.found.tolist() == [False, False, False, True, True, True]
    assert loaded.matrix[3:].tolist() == [[1, 1], [3, 3], [2, 2]]
    # Also with a list of paths; the seed is passed on.
    again = build_vocabulary(TRAIN, OTHER, [vectors], seed=1)
    assert again[0] == vocab
    assert not np.array_equal(again[1].matrix, loaded.matrix)


def test_a_file_without_vectors_of_any_word_is_rejected(tmp_path):
    other = write(tmp_path / "other.txt", glove({"elsewhere": [4, 4]}))
    with pytest.raises(DataError, match=r"none of the 5 words has one in .*other\.txt"):
        build_vocabulary(TRAIN, (), other)


def test_rare_words_are_known_if_they_have_a_vector(vectors):
    assert build_vocabulary(TRAIN, OTHER, min_count=2)[0].words == ("<unk>", "a")
    vocab, _ = build_vocabulary(TRAIN, OTHER, vectors, min_count=2)
    assert set(vocab.words) == {"<unk>", "a", "film", "b", "new"}


def test_words_are_looked_up_in_lower_case_unless_told_otherwise(vectors):
    for paths in ((), vectors):
        vocab, loaded = build_vocabulary(TRAIN, OTHER, paths)
        assert vocab["Lovely"] == vocab["lovely"] != 0
        assert loaded is None or loaded.words == vocab.words
        exact, _ = build_vocabulary(TRAIN, OTHER, paths, lower_fallback=False)
        assert exact.words == vocab.words
        assert exact["Lovely"] == 0


def test_words_are_counted():
    assert count_words(TRAIN) == {"a": 2, "lovely": 1, "film": 1, "b": 1}


def test_generators_are_accepted(vectors):
    vocab, _ = build_vocabulary(iter(TRAIN), iter(OTHER), vectors)
    assert vocab == build_vocabulary(TRAIN, OTHER, vectors)[0]


def test_lowercasing_applies_to_words_vectors_and_counts(vectors):
    train = [Sentence(["A", "a", "Film"]), Sentence(["FILM", "Lovely"])]
    vocab, loaded = build_vocabulary(train, [Sentence(["B"])], vectors, min_count=2, lower=True)
    assert vocab.words == loaded.words == ("<unk>", "a", "film", "b")
    counts = count_words(train, vocab.normal)
    assert counts == {"a": 2, "film": 2, "lovely": 1}
    assert loaded.coverage(counts).tokens_found == 2
