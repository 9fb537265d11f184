"""Parses of a corpus: where they are found, how they are aligned and labelled."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import dependency_trees, random_tree

from graphsent.errors import DataError
from graphsent.tasks import label_by_span, resolve_parses_dir
from graphsent.tasks.parses import align, iter_parses
from graphsent.trees import DependencyTree, Tree, write_conllu

TREE = Tree.from_string("(3 (1 (2 a) (4 (0 very) (1 dull))) (2 film))")


@pytest.fixture(autouse=True)
def no_variable(monkeypatch):
    monkeypatch.delenv("GRAPHSENT_PARSES", raising=False)


# Directories


def test_the_order_of_places(tmp_path, monkeypatch):
    data = tmp_path / "data"
    data.mkdir()
    with pytest.raises(DataError, match="no parses directory: none was given"):
        resolve_parses_dir(None, data)
    places = [tmp_path / "parses", data / "parses", tmp_path / "named", tmp_path / "given"]
    for place in places:
        place.mkdir()
    assert resolve_parses_dir(None, data) == data / "parses"
    monkeypatch.setenv("GRAPHSENT_PARSES", str(tmp_path / "named"))
    assert resolve_parses_dir(None, data) == tmp_path / "named"
    assert resolve_parses_dir(tmp_path / "given", data) == tmp_path / "given"
    monkeypatch.delenv("GRAPHSENT_PARSES")
    (data / "parses").rmdir()
    assert resolve_parses_dir(None, data) == tmp_path / "parses"


@pytest.mark.parametrize("by_variable", [False, True])
def test_a_given_directory_must_exist(tmp_path, monkeypatch, by_variable):
    (tmp_path / "parses").mkdir()
    wrong = tmp_path / "parsse"
    if by_variable:
        monkeypatch.setenv("GRAPHSENT_PARSES", str(wrong))
    with pytest.raises(DataError, match="parsse"):
        resolve_parses_dir(None if by_variable else wrong, tmp_path)


# Reading


def test_constituency_trees_follow_a_label(tmp_path):
    path = tmp_path / "x.trees"
    path.write_text("7\t(S (A a) (B b))\n8\t(A a)\n", encoding="utf-8")
    assert [str(tree) for tree in iter_parses(path)] == ["(S (A a) (B b))", "(A a)"]


def test_a_line_without_a_tree_is_rejected(tmp_path):
    path = tmp_path / "x.trees"
    path.write_text("7\t(A a)\n8\t\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"x\.trees:2: expected a tree after the tab"):
        list(iter_parses(path))


# Alignment


def write(path, *parses):
    write_conllu(path, parses)
    return path


def test_words_are_compared(tmp_path):
    # A no-break space is part of a token; a parser writes it as an underscore.
    tree = Tree.from_string("(2 (2 a\u00a0b) (2 film))")
    parse = DependencyTree(["a_b", "film"], [1, -1])
    path = write(tmp_path / "x.conllu", parse)
    ((found, other),) = align([tree], tmp_path / "x.txt", path)
    assert found is tree
    assert other.words == parse.words
    assert label_by_span(other, tree).words == tuple(tree.words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([["a", "very", "dull"]], r"sentence 1 has 3 words, but the one in .*x\.txt has 4"),
        ([["a", "very", "fine", "film"]], r"word 3 of sentence 1 is 'fine', but in .* 'dull'"),
        ([], r"x\.conllu has 0 sentences, but .*x\.txt has 1: expected one parse per sentence"),
        ([["a"], ["b"]], "has 2 sentences"),
    ],
)
def test_parses_of_other_sentences_are_rejected(tmp_path, words, message):
    parses = (DependencyTree(row, [*range(1, len(row)), -1]) for row in words)
    path = write(tmp_path / "x.conllu", *parses)
    with pytest.raises(DataError, match=message):
        list(align([TREE], tmp_path / "x.txt", path))


# Labels


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        ([3, 2, 3, -1], ["2", "0", "4", "3"]),  # "very dull" is a constituent
        ([2, 2, 3, -1], ["2", "0", "1", "3"]),  # "a very dull" too
        ([1, 3, 3, -1], ["2", "", "1", "3"]),  # "a very" is not
        ([-1, 0, 0, 0], ["3", "0", "1", "2"]),
        # Non-projective: "film" is in the subtree of "very", which thus spans "very dull film".
        ([2, 2, -1, 1], ["2", "", "3", "2"]),
    ],
)
def test_labels_are_those_of_the_same_span(heads, expected):
    assert list(label_by_span(DependencyTree(TREE.words, heads), TREE).labels) == expected


def test_the_topmost_label_of_a_unary_chain_counts():
    tree = Tree.from_string("(3 (1 (0 (2 a))) (2 film))")
    parse = DependencyTree(["a", "film"], [1, -1])
    assert label_by_span(parse, tree).labels == ("1", "3")


def test_other_columns_of_a_parse_are_kept():
    parse = DependencyTree(
        TREE.words,
        [3, 2, 3, -1],
        relations=["det", "advmod", "amod", "root"],
        upos=["DET", "ADV", "ADJ", "NOUN"],
        xpos=["DT", "RB", "JJ", "NN"],
        lemmas=["a", "very", "dull", "film"],
        metadata={"sent_id": "1"},
    )
    labelled = label_by_span(parse, TREE)
    for name in ("words", "relations", "upos", "xpos", "lemmas", "metadata"):
        assert getattr(labelled, name) == getattr(parse, name)


@given(dependency_trees(), st.randoms(use_true_random=False))
def test_labels_by_looking_at_every_pair_of_nodes(parse, rng):
    tree = random_tree(rng, parse.num_nodes, 4)
    labelled = label_by_span(parse, tree)
    for span, label in zip(parse.spans.tolist(), labelled.labels, strict=True):
        same = [i for i, other in enumerate(tree.spans.tolist()) if other == span]
        assert label == (tree.labels[same[0]] if same else "")
    assert labelled.labels[int(parse.depths.argmin())] == tree.labels[0]
