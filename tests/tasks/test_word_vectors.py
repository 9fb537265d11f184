"""Word vectors: every format gives the same rows, and every broken file its message."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest

from graphsent.errors import DataError
from graphsent.tasks import load_vectors
from graphsent.vocabulary import Vocabulary

WORDS = ["the", "Film", "-LRB-", "(", "caf\u00e9"]
ROWS = np.arange(15, dtype=np.float32).reshape(5, 3) / 4


def write_npz(path):
    order = np.array([3, 1, 2, 0, 4], np.int32)
    vectors = np.empty_like(ROWS, dtype=np.float16)
    vectors[order] = ROWS
    np.savez(path, words=np.array(WORDS), vectors=vectors, index=order)


def text(header: bool) -> bytes:
    lines = [f"{w} {' '.join(map(str, row))}" for w, row in zip(WORDS, ROWS, strict=True)]
    return ("\n".join([f"{len(WORDS)} 3"] * header + lines) + "\n").encode()


def binary() -> bytes:
    records = (
        word.encode() + b" " + struct.pack("<3f", *row) + b"\n"
        for word, row in zip(WORDS, ROWS, strict=True)
    )
    return f"{len(WORDS)} 3\n".encode() + b"".join(records)


FILES = {
    "a.txt": text(header=False),
    "b.vec": text(header=True),
    "c.bin": binary(),
    "d.txt.gz": gzip.compress(text(header=False)),
    "e.bin.gz": gzip.compress(binary()),
}


def save(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.fixture(params=["f.npz", *FILES])
def vector_file(request, tmp_path):
    if request.param.endswith(".npz"):
        write_npz(tmp_path / request.param)
        return tmp_path / request.param
    return save(tmp_path, request.param, FILES[request.param])


def test_every_format_gives_the_rows_of_its_words(vector_file):
    vectors = load_vectors(vector_file, WORDS)
    assert vectors.matrix.dtype == np.float32
    np.testing.assert_array_equal(vectors.matrix, ROWS)
    assert vectors.found.all()


def test_a_word_is_looked_up_as_it_is_then_lower_cased_then_unescaped(tmp_path):
    path = save(tmp_path, "v.txt", b"The 1 1\nthe 2 2\n( 3 3\na/b 4 4\n")
    vectors = load_vectors(path, ["The", "THE", "-LRB-", "A\\/B"])
    assert vectors.matrix[:, 0].tolist() == [1, 2, 3, 4]


def test_unknown_words_are_small_random_and_follow_the_seed(tmp_path):
    path = save(tmp_path, "v.txt", b"a 1 1\n")
    vocab = Vocabulary(["a", "b", "c"])
    first, again = (load_vectors(path, vocab, seed=3) for _ in range(2))
    other = load_vectors(path, vocab, seed=4)
    assert first.found.tolist() == [False, True, False, False]
    missing = first.matrix[~first.found]
    assert (np.abs(missing) <= 0.05).all()
    assert (missing != 0).all()
    np.testing.assert_array_equal(first.matrix, again.matrix)
    assert (first.matrix[0] != other.matrix[0]).any()
    assert first.matrix[1].tolist() == [1, 1]


def test_several_files_stand_side_by_side(tmp_path):
    one = save(tmp_path, "one.txt", b"a 1 2\nb 3 4\n")
    two = save(tmp_path, "two.txt", b"b 5\nc 6\n")
    vectors = load_vectors([one, two], ["a", "b", "c"])
    assert vectors.matrix.tolist() == [[1, 2, 0], [3, 4, 5], [0, 0, 6]]
    assert vectors.dimension == 3


def test_coverage_counts_types_and_tokens(tmp_path):
    path = save(tmp_path, "v.txt", b"a 1\nb 2\n")
    coverage = load_vectors(path, Vocabulary(["a", "b", "c", "d"])).coverage(
        {"a": 6, "b": 1, "c": 2, "d": 1}
    )
    assert str(coverage) == "2 (50.00 %) of 4 words, 7 (70.00 %) of 10 tokens"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.txt", b"a 1 2\nb 3\n", r"v\.txt:2: "),
        ("v.txt", b"a 1 2\nb 3 x\n", r"v\.txt:2: "),
        ("v.txt", b"", r"v\.txt"),
        ("v.bin", b"two 3\n", r"v\.bin:1: expected a header"),
        ("v.bin", binary()[:-5], r"v\.bin"),
        ("v.txt.gz", gzip.compress(text(header=False))[:-9], r"truncated gzip"),
        ("v.npz", b"not a zip", r"v\.npz"),
    ],
)
def test_a_broken_file_is_named(tmp_path, name, content, message):
    path = save(tmp_path, name, content)
    with pytest.raises(DataError, match=message):
        load_vectors(path, [*WORDS, "a", "b"])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nothing\.txt: .*No such file"):
        load_vectors(tmp_path / "nothing.txt", WORDS)


@pytest.mark.data
def test_the_published_coverage_of_glove(vectors_dir, data_dir):
    from graphsent.tasks import count_words
    from graphsent.trees import read_trees

    counts = count_words(read_trees(data_dir / "sst" / "train.txt"))
    lower = Vocabulary(dict.fromkeys(word.lower() for word in counts))
    coverage = load_vectors(vectors_dir / "glove_6b_50d.npz", lower).coverage(
        dict.fromkeys(lower, 1)
    )
    assert 0.92 < coverage.types_found / coverage.types < 0.93  # documented: 92.29 %
