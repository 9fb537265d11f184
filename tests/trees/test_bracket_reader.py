from __future__ import annotations

import gzip

import bracket_reference
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsent.errors import DataError
from graphsent.trees import Tree, TreeError, parse_trees, read_labelled_trees, read_trees
from graphsent.trees.errors import (
    EmptyNode,
    ExtraCloseBracket,
    MissingLabel,
    MixedChildren,
    SeveralTokens,
    TextOutsideTree,
    UnclosedTree,
    UndecodableText,
    WrongTreeCount,
)


def nested(tree: Tree, node: int = 0) -> tuple:
    children = [child for child in range(tree.num_nodes) if tree.parents[child] == node]
    return tree.labels[node], tree.tokens[node], [nested(tree, child) for child in children]


@given(
    st.text("((())) ab\n", max_size=24),
    st.sampled_from(["error", "drop", "token"]),
    st.booleans(),
)
def test_agrees_with_a_recursive_reader(text, empty_nodes, require_labels):
    try:
        expected = bracket_reference.read(text, empty_nodes, require_labels)
    except bracket_reference.BrokenError:
        with pytest.raises(TreeError):
            parse_trees(text, empty_nodes=empty_nodes, require_labels=require_labels)
    else:
        trees = parse_trees(text, empty_nodes=empty_nodes, require_labels=require_labels)
        assert [nested(tree) for tree in trees] == expected
        for tree in trees:  # the reader skips the checks of the constructor
            assert Tree(tree.labels, tree.tokens, tree.parents) == tree


def test_labels_tokens_and_parents_are_in_preorder():
    (tree,) = parse_trees("(3 (2 It) (4 (2 is) (3 good)))")
    assert tree.labels == ("3", "2", "4", "2", "3")
    assert tree.tokens == (None, "It", None, "is", "good")
    assert tree.parents.tolist() == [-1, 0, 0, 2, 2]


@pytest.mark.parametrize(
    "text",
    [
        "(NP (DT the) (NN book))",
        "(NP (DT the)(NN book))",
        "( (NP (DT the) (NN book)) )",
        "(NP\r\n  (DT the)\r\n  (NN book))\r\n",
        "(NP\n\t(DT\t\tthe )\n\t( NN  book ) )",
    ],
)
def test_white_space_and_outer_brackets_do_not_matter(text):
    assert parse_trees(text) == [Tree(["NP", "DT", "NN"], [None, "the", "book"], [-1, 0, 0])]


def test_trees_are_delimited_by_brackets_not_by_lines():
    text = "(A a)(B\nb) (C\n(D d))"
    assert [str(tree) for tree in parse_trees(text)] == ["(A a)", "(B b)", "(C (D d))"]
    assert parse_trees(" \n") == []


def test_only_ascii_whitespace_separates():
    odd = "8\u00a01\\/2\u2003\u0085\x1c"
    (tree,) = parse_trees(f"(2 (2 {odd}) (2 -LRB-))")
    assert tree.words == [odd, "-LRB-"]


def test_one_of_two_outer_brackets_is_removed():
    assert str(parse_trees("((A a))")[0]) == "(A a)"
    with pytest.raises(MissingLabel):
        parse_trees("(((A a)))")
    (tree,) = parse_trees("(((A a)))", require_labels=False)
    assert tree.labels == ("", "A")


@pytest.mark.parametrize(
    ("empty_nodes", "words", "labels"),
    [
        ("drop", ["who", "?"], ("S", "WP", ".")),
        ("token", ["who", "-LRB-", "?"], ("S", "WP", "X", "", ".")),
    ],
)
def test_empty_nodes(empty_nodes, words, labels):
    (tree,) = parse_trees("(S (WP who)( )(X ( -LRB-))(. ?))", empty_nodes=empty_nodes)
    assert tree.words == words
    assert tree.labels == labels


def test_unlabelled_trees():
    (tree,) = parse_trees("((It) ((is) (good)))", empty_nodes="token", require_labels=False)
    assert tree.words == ["It", "is", "good"]
    assert set(tree.labels) == {""}
    (tree,) = parse_trees("(good)", empty_nodes="token")  # only inner nodes need labels
    assert (tree.words, tree.labels) == (["good"], ("",))


def test_options_are_those_of_files_too(tmp_path):
    path = tmp_path / "trees.txt"
    path.write_text("((It) (works))")
    (tree,) = read_trees(path, empty_nodes="token", require_labels=False)
    assert (tree.words, tree.labels) == (["It", "works"], ("", "", ""))
    path.write_text("good\t(S (It) (VBZ works))")
    ((_, labelled_tree),) = read_labelled_trees(path, empty_nodes="drop")
    assert labelled_tree.words == ["works"]


BROKEN = [
    ("(A (B b)\n (C c)", UnclosedTree, 1, 1, r"'\(A \(B b\)' is not closed: expected 1 more '\)'"),
    ("(A a)\n(B (C (D d)\n\n", UnclosedTree, 2, 1, r"expected 2 more .* in line 2"),
    ("(", UnclosedTree, 1, 1, "expected 1 more"),
    ("\n(A a", UnclosedTree, 2, 1, "expected 1 more .* in line 2"),
    ("(A a))", ExtraCloseBracket, 1, 6, r"'\)' closes nothing: expected '\(' or the end"),
    (")(A a)", ExtraCloseBracket, 1, 1, "closes nothing"),
    ("(A a)\r\n é (B b)", TextOutsideTree, 2, 2, r"'é' is outside of any tree: expected '\('"),
    ("x", TextOutsideTree, 1, 1, "'x' is outside"),
    ("(A é\u00a0é b)", SeveralTokens, 1, 8, r"'b' follows token 'é\\xa0é' .*: expected '\)'"),
    ("(A a b c)", SeveralTokens, 1, 6, "'b' follows token 'a'"),
    ("(A a (B b))", MixedChildren, 1, 6, r"a child node follows token 'a': expected '\)'"),
    ("(A (B b)\n  a)", MixedChildren, 2, 3, r"'a' follows a child node: expected '\(' or '\)'"),
    ("(A (B) (C c))", EmptyNode, 1, 4, r"node \(B\) has neither .*: expected '\(label token\)'"),
    ("(A\n( ) (C c))", EmptyNode, 2, 1, r"node \(\) has neither a token nor children"),
    ("((A a) (B b))", MissingLabel, 1, 1, "no label: expected one after"),
    ("(A (B b)\n   ((C c)))", MissingLabel, 2, 4, "no label"),
]


@pytest.mark.parametrize(("text", "error", "line", "column", "message"), BROKEN)
def test_broken_trees(text, error, line, column, message):
    with pytest.raises(error, match=message) as caught:
        parse_trees(text, "some.txt")
    assert type(caught.value) is error
    assert (caught.value.source, caught.value.line, caught.value.column) == (
        "some.txt",
        line,
        column,
    )
    assert str(caught.value).startswith(f"some.txt:{line}:{column}: ")


def test_the_first_of_several_errors_is_reported():
    with pytest.raises(SeveralTokens) as caught:
        parse_trees("(A a)\n(B b b)\n(C c (D d)) x ) (")
    assert (caught.value.line, caught.value.column) == (2, 6)


@pytest.mark.parametrize("text", ["{}", "(A a {})", "(A {} a)"])
def test_long_words_are_cut_in_messages(text):
    with pytest.raises(TreeError) as raised:
        parse_trees(text.format("x" * 100_000))
    assert len(str(raised.value)) < 300


def test_nothing_left_after_dropping_empty_nodes():
    with pytest.raises(EmptyNode, match="2:1: the tree has no token"):
        parse_trees("(A a)\n(B (C))", empty_nodes="drop")


def test_one_tree_is_expected_in_a_string():
    with pytest.raises(WrongTreeCount, match="1:1: expected one tree, found 0"):
        Tree.from_string("  ")
    with pytest.raises(WrongTreeCount, match="1:7: expected one tree, found 2"):
        Tree.from_string("(A a) (B b)")


def test_a_misspelt_option_lists_the_valid_ones():
    with pytest.raises(DataError, match="'dropped': expected one of error, drop, token; did"):
        parse_trees("(A a)", empty_nodes="dropped")


# Files


def test_byte_order_mark_and_carriage_returns(tmp_path):
    path = tmp_path / "trees.txt"
    path.write_bytes("\ufeff(A é)\r\n(B b)\r\n".encode())
    assert [tree.words for tree in read_trees(path)] == [["é"], ["b"]]


def test_other_encodings_and_gzip(tmp_path):
    path = tmp_path / "trees.txt.gz"
    path.write_bytes(gzip.compress("(A é)".encode("latin-1")))
    assert read_trees(path, encoding="latin-1")[0].words == ["é"]


def test_bytes_that_are_not_text(tmp_path):
    path = tmp_path / "trees.txt"
    path.write_bytes("(A a)\n(B é".encode() + b"\xe9)\n")
    with pytest.raises(UndecodableText, match=r"trees.txt:2:5: 0xE9 is not valid utf-8") as caught:
        read_trees(path)
    assert (caught.value.line, caught.value.column) == (2, 5)
    with pytest.raises(DataError, match="unknown encoding 'utf-9'"):
        read_trees(path, encoding="utf-9")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match=r"cannot read .*none.txt: No such file"):
        read_trees(tmp_path / "none.txt")
    with pytest.raises(DataError, match="cannot read"):
        read_trees(tmp_path)
    path = tmp_path / "trees.gz"
    path.write_bytes(gzip.compress(b"(A a)" * 99)[:-9])
    with pytest.raises(DataError, match=r"cannot read .*trees.gz"):
        read_trees(path)
    path.write_bytes(b"(A a)")
    with pytest.raises(DataError, match=r"cannot read .*trees.gz: Not a gzipped file"):
        read_trees(path)


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "trees.txt"
    path.write_text("(A a")
    with pytest.raises(UnclosedTree) as caught:
        read_trees(path)
    assert caught.value.source == str(path)


# label<TAB>tree


@pytest.fixture
def labelled(tmp_path):
    def read(text: str):
        path = tmp_path / "some.trees"
        path.write_text(text, newline="")
        return read_labelled_trees(path)

    return read


def test_labelled_trees(labelled):
    found = labelled("ENTY:animal\t(ROOT (A a)(B b))\r\nneg\t\n(\t( (A a))")
    assert [(label, tree and str(tree)) for label, tree in found] == [
        ("ENTY:animal", "(ROOT (A a) (B b))"),
        ("neg", None),
        ("(", "(A a)"),
    ]
    assert labelled("") == []
    assert labelled("x\t\n") == [("x", None)]


@pytest.mark.parametrize(
    ("text", "error", "line", "column"),
    [
        ("a\t(A a)\n\nb\t(B b)", TextOutsideTree, 2, 1),
        ("a\t(A a)\n(B b)", TextOutsideTree, 2, 1),
        ("é\t(A a)\nlabel\t(A a) (B b)", WrongTreeCount, 2, 13),
        ("a\t(A a)\nb\t(B\nc\t(C c))", UnclosedTree, 2, 3),
        ("a\t(A a)\nb\t(B (C c)\nd\t(D d))", UnclosedTree, 2, 3),
        ("a\t(A a)\nb\tb", TextOutsideTree, 2, 3),
        ("neg\t(A a b)", SeveralTokens, 1, 10),
    ],
)
def test_broken_labelled_trees(labelled, text, error, line, column):
    with pytest.raises(error) as caught:
        labelled(text)
    assert (caught.value.line, caught.value.column) == (line, column)
