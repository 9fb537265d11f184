"""Decompression bombs are rejected by every reader."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from graphsent import _unpacking
from graphsent._unpacking import LIMIT_VARIABLE
from graphsent.errors import DataError
from graphsent.tasks import load_vectors
from graphsent.tasks.archives import iter_lines
from graphsent.trees import read_conllu, read_trees

LINE = b"(A a)\n"
LIMIT = 10_000


def zipped(content: bytes, name: str = "a.txt") -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return target.getvalue()


def npz(num_vectors: int) -> bytes:
    target = io.BytesIO()
    vectors = np.zeros((num_vectors, 300), np.float32)
    np.savez_compressed(target, words=np.array(["a"]), vectors=vectors, index=np.array([0]))
    return target.getvalue()


def vectors_of(path: Path) -> object:
    return load_vectors(path, ["a"]).matrix


# Name, content that unpacks past the limit, content that does not, reader.
CASES = {
    "trees": ("a.txt.gz", gzip.compress(LINE * LIMIT), gzip.compress(LINE), read_trees),
    "conllu": (
        "a.conllu.gz",
        gzip.compress(b"# a\n" * LIMIT),
        gzip.compress(b"1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n"),
        read_conllu,
    ),
    "members": (
        "a.txt.gz",
        b"".join(gzip.compress(LINE * (LIMIT // 10)) for _ in range(10)),
        gzip.compress(LINE) * 2,
        read_trees,
    ),
    "text vectors": (
        "a.txt.gz",
        gzip.compress(b"a 1 2\n" * LIMIT),
        gzip.compress(b"a 1 2\n"),
        vectors_of,
    ),
    "one line": ("a.txt.gz", gzip.compress(b"a" * 10 * LIMIT), gzip.compress(b"a 1\n"), vectors_of),
    "binary vectors": (
        "a.bin.gz",
        gzip.compress(b"30000 1\n" + b"a\0\0\0\0 " * 30_000),
        gzip.compress(b"1 1\na \0\0\0\0"),
        vectors_of,
    ),
    "archive": ("a.npz", npz(100), npz(1), vectors_of),
    "zipped archive": ("a.npz.gz", gzip.compress(npz(100)), gzip.compress(npz(1)), vectors_of),
    "corpus": (
        "a.zip",
        zipped(LINE * LIMIT),
        zipped(LINE),
        lambda path: list(iter_lines(path / "a.txt")),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_files_past_the_limit_are_rejected(case, tmp_path, monkeypatch):
    name, large, small, read = CASES[case]
    path = tmp_path / name
    monkeypatch.setenv(LIMIT_VARIABLE, str(LIMIT))
    path.write_bytes(large)
    with pytest.raises(
        DataError, match=f"{name} unpacks to more than 10,000 .* set {LIMIT_VARIABLE}"
    ):
        read(path)
    path.write_bytes(small)
    assert len(read(path))


def test_the_limit_can_be_raised(tmp_path, monkeypatch):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(LINE * 1000))
    for limit in ("5999", "5K", " 5kb "):
        monkeypatch.setenv(LIMIT_VARIABLE, limit)
        with pytest.raises(DataError, match="unpacks to more than"):
            read_trees(path)
    for limit in ("6000", "6K", "1GiB", "1t", ""):
        monkeypatch.setenv(LIMIT_VARIABLE, limit)
        assert len(read_trees(path)) == 1000
    for limit in ("much", "-1", "1.5G", "1e9", "9" * 5000):
        monkeypatch.setenv(LIMIT_VARIABLE, limit)
        with pytest.raises(
            DataError, match=f"{LIMIT_VARIABLE}: expected a size in bytes such as 500M or 8G"
        ):
            read_trees(path)


def test_without_a_limit_text_is_read_but_no_malicious_file(tmp_path, monkeypatch):
    monkeypatch.delenv(LIMIT_VARIABLE, raising=False)
    monkeypatch.setattr(_unpacking, "_DEFAULT", 1000)
    path = tmp_path / "a.txt.gz"
    words = " ".join(f"({number} {number * 7919 % 10007})" for number in range(1, 1000))
    path.write_bytes(gzip.compress(f"(A {words})".encode()))
    assert read_trees(path)[0].num_nodes == 1000
    path.write_bytes(gzip.compress(LINE * 1000))
    with pytest.raises(DataError, match=r"unpacks to more than 1,\d+ bytes"):
        read_trees(path)


def test_damaged_files_are_named(tmp_path):
    for name, content in (("a.npz", npz(1)), ("a.txt.gz", gzip.compress(b"a 1\n"))):
        path = tmp_path / name
        for damaged in (content[: len(content) // 2], content[:-20] + b"x" * 20):
            path.write_bytes(damaged)
            with pytest.raises(DataError, match=name):
                load_vectors(path, ["a"])
    archive = zipped(LINE)
    for damaged in (archive[:40], archive[:35] + b"xx" + archive[37:], b""):
        (tmp_path / "a.zip").write_bytes(damaged)
        with pytest.raises(DataError, match=r"a\.zip"):
            list(iter_lines(tmp_path / "a.zip" / "a.txt"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"0 999999999999\n", None),  # no header: a word and a number
        ("a.bin", b"1 999999999999\na \0\0", r"a\.bin:1: expected a header"),
        ("a.bin", b"9" * 5000 + b" 3\n", r"a\.bin:1: expected a header"),
        ("a.bin", b"2 3\n" + b"a" * (3 << 20), "word 1 of 2 is longer than a MiB"),
    ],
)
def test_impossible_headers(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    if message is None:
        assert load_vectors(path, ["a"]).dimension == 1
        return
    with pytest.raises(DataError, match=message):
        load_vectors(path, ["a"])
