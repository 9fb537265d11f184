"""Looking up words, concatenating files, coverage."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from vector_files import glove, npz, write

from graphsent.errors import DataError
from graphsent.tasks import count_words, get_task, load_vectors
from graphsent.vocabulary import Vocabulary


@pytest.fixture
def cased(tmp_path):
    vectors = {
        "Film": [1, 1],
        "film": [2, 2],
        "actor/director": [3, 3],
        "(": [4, 4],
        "-lrb-": [5, 5],
    }
    return write(tmp_path / "cased.txt", glove(vectors))


@pytest.fixture
def other(tmp_path):
    return write(tmp_path / "other.npz", npz({"film": [7, 8, 9], "only": [1, 2, 3]}))


def test_spellings_are_tried_in_order(cased):
    words = ["Film", "FILM", "Actor\\/director", "-LRB-", "actor\\/Director"]
    vectors = load_vectors(cased, words)
    assert vectors.found.all()
    # As written; lowercased; without its escape, lowercased; lowercased before unescaped.
    assert vectors.matrix[:, 0].tolist() == [1, 2, 3, 5, 3]


def test_vectors_of_several_files_are_concatenated(cased, other):
    vectors = load_vectors([cased, other], ["film", "Film", "only", "none"], seed=3)
    assert vectors.dimension == 5
    assert vectors.sources == (("cased.txt", 2), ("other.npz", 3))
    assert vectors.matrix[:3].tolist() == [[2, 2, 7, 8, 9], [1, 1, 7, 8, 9], [0, 0, 1, 2, 3]]
    assert vectors.found.tolist() == [True, True, True, False]


def test_words_without_a_vector_are_small_random_and_seeded(cased):
    words = [f"none{number}" for number in range(2000)]
    first, again = load_vectors(cased, words, seed=1), load_vectors(cased, words, seed=1)
    np.testing.assert_array_equal(first.matrix, again.matrix)
    assert not np.array_equal(first.matrix, load_vectors(cased, words, seed=2).matrix)
    assert abs(first.matrix).max() <= 0.05
    assert first.matrix.std() == pytest.approx(0.1 / 12**0.5, rel=0.05)
    assert not first.found.any()


def test_a_vocabulary_gives_rows_in_its_order(cased):
    vectors = load_vectors(cased, Vocabulary(["film", "none"]))
    assert vectors.words == ("<unk>", "film", "none")
    assert vectors.matrix[1].tolist() == [2, 2]
    assert vectors.found.tolist() == [False, True, False]


def test_select_keeps_random_vectors(cased):
    vectors = load_vectors(cased, Vocabulary(["film", "none", "Film"]))
    selected = vectors.select(Vocabulary(["none", "film"]))
    assert selected.words == ("<unk>", "none", "film")
    np.testing.assert_array_equal(selected.matrix, vectors.matrix[[0, 2, 1]])
    assert selected.found.tolist() == [False, False, True]
    with pytest.raises(DataError, match="no vector was loaded for the word 'new'"):
        vectors.select(["film", "new"])


def test_coverage_counts_words_and_tokens(cased, other):
    vectors = load_vectors([cased, other], Vocabulary(["film", "only", "none"]))
    assert str(vectors.coverage()) == "2 (66.67 %) of 3 words"
    counts = Counter({"film": 5, "none": 2, "left out": 1})
    coverage = vectors.coverage(counts)
    assert (coverage.types, coverage.types_found) == (3, 1)
    assert (coverage.tokens, coverage.tokens_found) == (8, 5)
    assert vectors.summary(counts) == (
        "word vectors cased.txt (2) + other.npz (3): "
        "1 (33.33 %) of 3 words, 5 (62.50 %) of 8 tokens"
    )
    assert str(load_vectors(cased, []).coverage()) == "0 (100.00 %) of 0 words"


def test_a_vector_of_unknown_words_covers_no_word(tmp_path):
    path = write(tmp_path / "a.txt", glove({"<unk>": [1, 1], "film": [2, 2]}))
    vectors = load_vectors(path, Vocabulary(["film", "none"]))
    assert vectors.found.tolist() == [True, True, False]
    assert str(vectors.coverage()) == "1 (50.00 %) of 2 words"


def test_no_files_are_an_error():
    with pytest.raises(DataError, match="expected at least one file of word vectors, got none"):
        load_vectors([], ["a"])


@pytest.mark.data
def test_the_published_coverage_of_the_treebank(data_dir, vectors_dir):
    counts = count_words(get_task("sst5").load(data_dir, ["train"]).splits["train"])
    lower = Counter()
    for word, count in counts.items():
        lower[word.lower()] += count
    coverage = load_vectors(vectors_dir / "glove_6b_50d.npz", lower).coverage(lower)
    assert (coverage.types, coverage.tokens) == (16581, 163563)
    assert coverage.types_found / coverage.types == pytest.approx(0.9229, abs=1e-4)
    assert coverage.tokens_found / coverage.tokens == pytest.approx(0.9914, abs=1e-4)


@pytest.mark.data
def test_the_vectors_of_the_benchmarks(vectors_dir):
    words = ["Lovely", "lovely", "-LRB-", "actor\\/director", "zzzzqqq"]
    paths = [vectors_dir / name for name in ("glove_6b_50d.npz", "minilm_static_300d.npz")]
    vectors = load_vectors(paths, words)
    assert vectors.matrix.shape == (5, 350)
    assert vectors.found.tolist() == [True, True, True, True, False]
    np.testing.assert_array_equal(vectors.matrix[0], vectors.matrix[1])
    assert vectors.matrix[1, 0] != 0 != vectors.matrix[1, 50]
