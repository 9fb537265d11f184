"""Every word vector format gives the same vectors, and an error for every kind of damage."""

from __future__ import annotations

import gzip
import re
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vector_files import NAMES, glove, npz, word2vec_binary, word2vec_text, write, write_format

from graphsent.errors import DataError
from graphsent.tasks.vectors import binary, load_vectors, text

VECTORS = {
    "the": [0.5, -1.0, 2.0],
    "film": [0.25, 0.0, -0.125],
    "cliché": [1.0, 1.0, 1.0],
    "8\u00a01/2": [3.0, 0.0, 1.0],
    "movie": [0.25, 0.0, -0.125],
}


@pytest.mark.parametrize("name", NAMES)
def test_wanted_vectors_are_read(tmp_path, name):
    path = write_format(tmp_path, name, VECTORS)
    words = ["movie", "cliché", "8\u00a01/2", "absent", "the"]
    vectors = load_vectors(path, words)
    assert vectors.words == tuple(words)
    assert vectors.sources == ((name, 3),)
    assert vectors.matrix.dtype == np.float32
    assert vectors.found.tolist() == [True, True, True, False, True]
    for word, row, found in zip(words, vectors.matrix, vectors.found, strict=True):
        if found:
            assert row.tolist() == VECTORS[word]


@pytest.mark.parametrize("name", [name for name in NAMES if "npz" not in name])
def test_the_first_of_equal_words_counts(tmp_path, name):
    # Writers take a dict, so the second entry has another letter, which is changed afterwards.
    path = write_format(tmp_path, name.removesuffix(".gz"), {"a": [1.0, 1.0], "b": [2.0, 2.0]})
    write(path, path.read_bytes().replace(b"b ", b"a "))
    assert load_vectors(path, ["a"]).matrix.tolist() == [[1.0, 1.0]]


def test_an_archive_may_have_equal_words_or_none(tmp_path):
    path = write(tmp_path / "a.npz", npz(TWO, words=np.array(["a", "a"])))
    assert load_vectors(path, ["a"]).matrix.tolist() == [[1.0, 2.0]]
    none = {"words": np.array([], "U1"), "index": np.array([], int)}
    path = write(tmp_path / "none.npz", npz(TWO, **none))
    assert not load_vectors(path, ["a"]).found.any()


def test_words_with_spaces_are_read(tmp_path):
    lines = glove({"the": [1, 2]}) + b". . . 3 4\nat name@domain.com 5 6\n"
    path = write(tmp_path / "glove.840B.txt", lines)
    vectors = load_vectors(path, ["the", ". . .", ".", "at", "at name@domain.com"])
    assert vectors.found.tolist() == [True, True, False, False, True]
    assert vectors.matrix[[1, 4]].tolist() == [[3, 4], [5, 6]]


@pytest.mark.parametrize("header", [b"", b"1 2\n"])
def test_a_byte_order_mark_is_no_part_of_a_word(tmp_path, header):
    path = write(tmp_path / "a.txt", b"\xef\xbb\xbf" + header + b"a 1 2\n")
    assert load_vectors(path, ["a"]).found.tolist() == [True]


def test_numbers_beyond_float32_are_one_error(tmp_path, recwarn):
    path = write(tmp_path / "a.txt", b"a 1 1e39\n")
    with pytest.raises(DataError, match="the vector of 'a' is not finite"):
        load_vectors(path, ["a"])
    assert not recwarn.list


def test_unusual_line_ends_are_read(tmp_path):
    path = write(tmp_path / "a.txt", b"a 1 2\r\nb 3 4 \t\n\nc 5 6")
    assert load_vectors(path, "abc").matrix.tolist() == [[1, 2], [3, 4], [5, 6]]


@given(
    st.dictionaries(
        st.text("ab é.'-", min_size=1, max_size=6).filter(lambda word: word == word.strip(" ")),
        st.lists(st.floats(-4, 4, width=16), min_size=3, max_size=3),
        min_size=1,
    )
)
def test_text_and_binary_agree(tmp_path_factory, vectors):
    directory = tmp_path_factory.mktemp("agree")
    vectors = {"first": [0.0, 0.0, 0.0], **vectors}  # the first line sets the dimension
    by_blank = {word: row for word, row in vectors.items() if " " not in word}
    read = load_vectors(write(directory / "a.txt", glove(vectors)), vectors)
    assert read.matrix.tolist() == list(vectors.values())
    for name in ("a.vec", "a.bin", "a.npz"):
        writer = {"a.vec": word2vec_text, "a.bin": word2vec_binary, "a.npz": npz}[name]
        read = load_vectors(write(directory / name, writer(by_blank)), by_blank)
        assert read.matrix.tolist() == list(by_blank.values())


def test_binary_files_are_read_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(binary, "_CHUNK_BYTES", 7)
    path = write(tmp_path / "a.bin", word2vec_binary(VECTORS))
    assert load_vectors(path, VECTORS).matrix.tolist() == list(VECTORS.values())


def test_numbers_of_other_words_are_not_parsed(tmp_path, monkeypatch):
    parsed = []
    parse = text._parse_numbers
    monkeypatch.setattr(text, "_parse_numbers", lambda *row: parsed.append(row) or parse(*row))
    load_vectors(write(tmp_path / "a.txt", glove(VECTORS)), ["film"])
    assert len(parsed) == 1


BROKEN_TEXT = {
    "too few numbers": (b"a 1 2\nb 3\n", ":2: expected 2 numbers after the word.*got 1$"),
    "too many numbers": (b"a 1 2\nb 3 4 5 6\n", ":2: expected 2 numbers after the word.*got 4$"),
    "not a number": (b"a 1 2\nb 3 x\n", ":2: expected a number, got 'x'$"),
    "too few for a word that is not wanted": (
        b"a 1 2\nc 3\n",
        ":2: expected 2 numbers after the word.*got 1$",
    ),
    "no numbers at all": (b"a\nb\n", ":1: expected a word and its numbers, or a header"),
    "an empty file": (b"", ":1: expected a word and its numbers"),
    "a header with dimension 0": (b"3 0\n", ":1: expected a word and its numbers"),
    "fewer words than announced": (
        b"3 2\na 1 2\n",
        "the header announces 3 words, but the file has 1$",
    ),
    "more words than announced": (
        b"1 2\na 1 2\nb 1 2\n",
        "the header announces 1 words, but the file has 2$",
    ),
    "not a finite number": (b"a 1 nan\n", "the vector of 'a' is not finite$"),
}


@pytest.mark.parametrize("case", BROKEN_TEXT)
def test_broken_text_files(tmp_path, case):
    content, message = BROKEN_TEXT[case]
    path = write(tmp_path / "broken.txt", content)
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}:? ?{message}"):
        load_vectors(path, ["a", "b"])


WHOLE_BINARY = word2vec_binary({"a": [1, 2], "b": [3, 4]})
BROKEN_BINARY = {
    "cut off in a vector": (WHOLE_BINARY[:-3], "truncated: the file ends in word 2 of 2$"),
    "cut off after a word": (WHOLE_BINARY[:-11], "truncated: the file ends in word 2 of 2$"),
    "too long": (
        WHOLE_BINARY + b"c \0\0",
        "continues after the 2 words that the header announces$",
    ),
    "text": (b"a 1 2 3\n", "1: expected a header of two positive integers"),
    "a header with dimension 0": (b"1 0\na ", "1: expected a header of two positive integers"),
    "no words": (b"2 1\n" + bytes(3 << 20), "word 1 of 2 is longer than a MiB$"),
    "empty": (b"", "1: expected a header of two positive integers"),
}


@pytest.mark.parametrize("case", BROKEN_BINARY)
def test_broken_binary_files(tmp_path, case):
    content, message = BROKEN_BINARY[case]
    path = write(tmp_path / "broken.bin", content)
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}.*{message}"):
        load_vectors(path, ["a", "b"])


TWO = {"a": [1, 2], "b": [3, 4]}
BROKEN_NPZ = {
    "no archive": (glove(TWO), "expected a NumPy archive"),
    "cut off": (npz(TWO)[:-40], "damaged or truncated NumPy archive"),
    "pickled": (npz(TWO, words=np.array(["a", None])), "damaged or truncated.*pickle"),
    "words of numbers": (npz(TWO, words=np.arange(2)), "'words': expected 1 dimension.*int64"),
    "flat": (npz(TWO, vectors=np.ones(2)), r"'vectors': expected 2 dimension.*\(2,\)"),
    "dimension 0": (npz(TWO, vectors=np.ones((2, 0))), "'vectors': expected at least one number"),
    "lengths": (npz(TWO, index=np.zeros(3, int)), "2 words but 3 entries in 'index'"),
    "outside": (npz(TWO, index=np.array([0, 2])), "runs from 0 to 2, but there are 2 vectors"),
    "negative": (npz(TWO, index=np.array([0, -1])), "runs from -1 to 0, but there are 2 vectors"),
    "infinite": (npz(TWO, vectors=np.full((2, 2), np.inf)), "vector of 'a' is not finite"),
}


@pytest.mark.parametrize("case", BROKEN_NPZ)
def test_broken_archives(tmp_path, case):
    content, message = BROKEN_NPZ[case]
    path = write(tmp_path / "broken.npz", content)
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}: .*{message}"):
        load_vectors(path, ["a", "b"])


def test_an_archive_without_an_array_says_which(tmp_path):
    path = tmp_path / "partial.npz"
    np.savez(path, words=np.array(["a"]), vectors=np.ones((1, 2)))
    with pytest.raises(DataError, match="expected the arrays words, vectors and index; no 'index'"):
        load_vectors(path, ["a"])


def test_an_archive_that_claims_more_vectors_than_memory_holds_is_damaged(tmp_path):
    path = write(tmp_path / "a.npz", npz(TWO))
    header = {"descr": "<f4", "fortran_order": False, "shape": (1 << 45, 2)}
    with np.load(path) as archive:
        arrays = dict(archive)
    with zipfile.ZipFile(path, "w") as opened:
        for name, array in arrays.items():
            with opened.open(f"{name}.npy", "w") as file:
                if name == "vectors":
                    np.lib.format.write_array_header_1_0(file, header)
                else:
                    np.lib.format.write_array(file, array)
    with pytest.raises(DataError, match=r"a\.npz: damaged or truncated NumPy archive"):
        load_vectors(path, ["a"])


@pytest.mark.parametrize("name", ["a.txt.gz", "a.bin.gz", "a.npz.gz"])
def test_damaged_gzip_files(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"2 2\n" + bytes(500))[:-12])
    with pytest.raises(DataError, match="damaged or truncated gzip file"):
        load_vectors(path, ["a"])
    path.write_bytes(b"a 1 2\n")
    with pytest.raises(DataError, match="damaged or truncated gzip file: Not a gzipped file"):
        load_vectors(path, ["a"])


@pytest.mark.parametrize("name", ["a.txt", "a.bin", "a.npz", "a.txt.gz"])
def test_missing_files(tmp_path, name):
    with pytest.raises(DataError, match=f"{name}: cannot read the word vectors: No such file"):
        load_vectors(tmp_path / name, ["a"])
