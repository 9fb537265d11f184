"""Files read in pieces: the same trees and errors as for whole files, in little memory."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsent.errors import DataError
from graphsent.trees import (
    TreeError,
    iter_conllu,
    iter_labelled_trees,
    iter_trees,
    parse_trees,
    read_trees,
    to_conllu,
    to_dependency_tree,
)
from graphsent.trees.bracket_files import _whole_trees
from graphsent.trees.text_files import read_text, text_pieces

TREES = (
    "(3 (2 a) (3 (3 lovely) (2 film)))\n"
    "( (S\n   (NP (DT the))\n\n   (VP (VB is))) )\n"
    "(A a) (B b)\n\n(C (D é) (E \N{NO-BREAK SPACE}))\n"
)


@pytest.mark.parametrize("size", [1, 2, 7, 50, 1 << 20])
@pytest.mark.parametrize("text", ["", "\n", "a", "a\n", "\n\na\r\n\n", "\N{BYTE ORDER MARK}é\nü\n"])
def test_pieces_are_whole_lines(tmp_path, text, size):
    path = tmp_path / "file.txt"
    path.write_text(text, encoding="utf-8", newline="")
    pieces = list(text_pieces(path, size=size))
    assert "".join(piece for _, piece in pieces) == text.removeprefix("\N{BYTE ORDER MARK}")
    assert all(piece.endswith("\n") for _, piece in pieces[:-1])
    for (line, piece), (following, _) in pairwise(pieces):
        assert following == line + piece.count("\n")


@given(st.text("() \nab", max_size=60), st.integers(1, 20))
def test_any_text_is_cut_between_trees(text, size):
    lines = text.splitlines(keepends=True)
    pieces, number = [], 1
    for first in range(0, len(lines), size):
        pieces.append((number, "".join(lines[first : first + size])))
        number += pieces[-1][1].count("\n")
    cut = list(_whole_trees(pieces))
    assert "".join(piece for _, piece in cut) == text
    for index, (line, piece) in enumerate(cut):
        assert line == 1 + "".join(each for _, each in cut[:index]).count("\n")
        assert piece.count("(") <= piece.count(")") or index == len(cut) - 1


@pytest.mark.parametrize("size", [1, 20, 1 << 20])
def test_trees_are_those_of_the_whole_file(tmp_path, monkeypatch, size):
    path = tmp_path / "trees.txt"
    path.write_text(TREES, encoding="utf-8")
    monkeypatch.setattr(text_pieces, "__defaults__", ("utf-8", size))
    assert list(iter_trees(path)) == read_trees(path) == parse_trees(TREES)


def test_errors_name_the_line_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(text_pieces, "__defaults__", ("utf-8", 8))
    path = tmp_path / "trees.txt"
    path.write_text(TREES + "(A a) b\n(B b)\n")
    trees = iter_trees(path)
    assert [next(trees) for _ in range(5)] == parse_trees(TREES)
    with pytest.raises(TreeError, match=rf"{path}:9:7: "):
        next(trees)
    path.write_text("1\t(A a)\n2\t(A a)\n3 (A a)\n")
    with pytest.raises(TreeError, match=rf"{path}:3:1: no tab"):
        list(iter_labelled_trees(path))
    path.write_text("1\t(A a)\n2\t(A a\n3\t(A a)\n")
    with pytest.raises(TreeError, match=rf"{path}:2:"):
        list(iter_labelled_trees(path))
    path.write_bytes(b"(A a)\n(B b)\n(C \xffc)\n")
    with pytest.raises(TreeError, match=rf"{path}:3:4: 0xFF is not valid utf-8"):
        list(iter_trees(path))
    with pytest.raises(DataError, match="unknown encoding 'utf-9'"):
        read_text(path, "utf-9")


def test_dependency_trees_are_those_of_the_whole_file(tmp_path, monkeypatch):
    trees = [to_dependency_tree(tree) for tree in parse_trees(TREES)]
    path = tmp_path / "trees.conllu"
    path.write_text("\n".join(map(to_conllu, trees)), encoding="utf-8")
    monkeypatch.setattr(text_pieces, "__defaults__", ("utf-8", 16))
    assert list(iter_conllu(path)) == trees


@pytest.mark.parametrize("read", [iter_trees, iter_labelled_trees])
def test_a_large_file_takes_little_memory(tmp_path, read):
    path = tmp_path / "trees.txt"
    line = "0\t(0 (0 a) (0 (0 b) (0 c)))\n" if read is iter_labelled_trees else "(0 (0 a) (0 b))\n"
    peaks = []
    for count in (1_000, 4_000):
        path.write_text(line * count)
        piece = text_pieces.__defaults__
        try:
            text_pieces.__defaults__ = ("utf-8", 4096)
            tracemalloc.start()
            assert sum(1 for _ in read(path)) == count
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
            text_pieces.__defaults__ = piece
    assert peaks[1] < 1.5 * peaks[0]
