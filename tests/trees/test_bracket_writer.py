from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from strategies import odd_trees, trees

from graphsent.trees import Tree, bracketed, parse_trees, read_trees, write_trees
from graphsent.trees.errors import UnwritableTree


@given(odd_trees())
def test_one_line_round_trip(tree):
    assert Tree.from_string(str(tree), empty_nodes="token", require_labels=False) == tree
    assert bracketed(tree) == str(tree)
    assert "\n" not in str(tree)


@given(trees())
def test_labelled_trees_need_no_options(tree):
    assert Tree.from_string(str(tree)) == tree


@given(odd_trees())
def test_pretty_round_trip(tree):
    text = bracketed(tree, pretty=True)
    assert Tree.from_string(text, empty_nodes="token", require_labels=False) == tree


def test_the_layout():
    tree = Tree.from_string("(S (NP (DT a) (NN film)) (VP (VBZ is) (ADJP (JJ good))) (. .))")
    assert bracketed(tree, pretty=True).split("\n") == [
        "(S",
        "  (NP (DT a) (NN film))",
        "  (VP",
        "    (VBZ is)",
        "    (ADJP (JJ good)))",
        "  (. .))",
    ]
    assert bracketed(Tree.from_string("(A a)"), pretty=True) == "(A a)"


@pytest.mark.parametrize("name", ["trees.txt", "trees.txt.gz"])
@pytest.mark.parametrize("pretty", [False, True])
def test_files_round_trip(tmp_path, name, pretty):
    path = tmp_path / name
    written = parse_trees("(A (B é)(C c)) ( (D d))")
    write_trees(path, iter(written), pretty=pretty)
    assert read_trees(path) == written
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == name.endswith("gz")


def test_one_tree_per_line_with_unix_line_ends(tmp_path):
    path = tmp_path / "trees.txt"
    write_trees(path, parse_trees("(A a)\r\n(B b)"))
    assert path.read_bytes() == b"(A a)\n(B b)\n"


def test_zipped_files_are_reproducible(tmp_path):
    written = parse_trees("(A a)")
    for name in ("one.gz", "two.gz"):
        write_trees(tmp_path / name, written)
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()
    assert gzip.decompress((tmp_path / "one.gz").read_bytes()) == b"(A a)\n"


@pytest.mark.parametrize(
    ("label", "token", "message"),
    [
        ("A", "a b", r"node 0 has token 'a b': expected one without brackets and whitespace"),
        ("A", ")", r"node 0 has token '\)'"),
        ("A\n", "a", r"node 0 has label 'A\\n'"),
    ],
)
def test_labels_and_tokens_that_brackets_cannot_hold(tmp_path, label, token, message):
    path = tmp_path / "trees.txt"
    path.write_text("old")
    with pytest.raises(UnwritableTree, match=message):
        write_trees(path, [Tree(["A"], ["a"], [-1]), Tree([label], [token], [-1])])
    assert [file.name for file in tmp_path.iterdir()] == ["trees.txt"]
    assert path.read_text() == "old"
