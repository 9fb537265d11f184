from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from strategies import odd_trees, trees

from graphsent.trees import Tree, TreeError, as_tree
from graphsent.trees.errors import EmptyNode, InvalidStructure, MixedChildren, SeveralTokens


def reference(tree: Tree) -> dict[str, list]:
    """Depth, child index, number of children and span of each node, one by one."""
    children = {
        node: [i for i in range(tree.num_nodes) if tree.parents[i] == node]
        for node in range(tree.num_nodes)
    }
    depths, index, spans = {0: 0}, {0: 0}, {}
    position = 0
    for node in range(tree.num_nodes):
        for place, child in enumerate(children[node]):
            depths[child], index[child] = depths[node] + 1, place
        if not children[node]:
            spans[node] = [position, position + 1]
            position += 1
    for node in reversed(range(tree.num_nodes)):
        if children[node]:
            spans[node] = [spans[children[node][0]][0], spans[children[node][-1]][1]]
    nodes = range(tree.num_nodes)
    return {
        "depths": [depths[node] for node in nodes],
        "child_index": [index[node] for node in nodes],
        "num_children": [len(children[node]) for node in nodes],
        "spans": [spans[node] for node in nodes],
    }


@given(trees())
def test_derived_quantities(tree):
    assert tree.parents[tree.root] == -1
    for name, expected in reference(tree).items():
        found = getattr(tree, name)
        assert found.tolist() == expected
        assert found.dtype == np.int64
        assert not found.flags.writeable
    assert tree.words == [token for token in tree.tokens if token is not None]
    assert tree.spans[0].tolist() == [0, len(tree.words)]


@given(odd_trees())
def test_copies_and_pickles_are_equal(tree):
    for same in (
        pickle.loads(pickle.dumps(tree)),
        copy.deepcopy(tree),
        copy.copy(tree),
        Tree(tree.labels, tree.tokens, tree.parents),
    ):
        assert same == tree
        assert hash(same) == hash(tree)
        assert not same.parents.flags.writeable
        assert same.parents.dtype == np.int64


def test_trees_differ_in_each_field():
    tree = Tree(["A", "B", "C"], [None, None, "c"], [-1, 0, 1])
    assert tree != Tree(["A", "B", "D"], [None, None, "c"], [-1, 0, 1])
    assert tree != Tree(["A", "B", "C"], [None, None, "d"], [-1, 0, 1])
    one, other = "(A (B b) (C (D d) (E e)))", "(A (B b) (C (D d)) (E e))"
    assert Tree.from_string(one) != Tree.from_string(other)
    assert tree != str(tree)


def test_trees_are_immutable():
    parents = np.array([-1, 0])
    tree = Tree(["A", "B"], [None, "b"], parents)
    parents[1] = 7
    assert tree.parents.tolist() == [-1, 0]
    with pytest.raises(AttributeError, match="a Tree is immutable: cannot set 'labels'"):
        tree.labels = ("C", "D")
    with pytest.raises(ValueError, match="read-only"):
        tree.parents[0] = 1


def test_repr_is_short():
    assert repr(Tree(["A"], ["a"], [-1])) == "Tree('(A a)', num_nodes=1)"
    tree = Tree(["A"] * 41, [None] + ["word"] * 40, [-1] + [0] * 40)
    assert len(repr(tree)) < 90
    assert repr(tree).endswith("...', num_nodes=41)")


@pytest.mark.parametrize(
    ("labels", "tokens", "parents", "error", "message"),
    [
        ([], [], [], InvalidStructure, "at least one; got 0, 0 and 0"),
        (["A"], ["a", "b"], [-1], InvalidStructure, "got 1, 2 and 1"),
        (["A"], ["a"], [0], InvalidStructure, "node 0 has parent 0"),
        (["A", "B"], ["a", "b"], [-1, -1], InvalidStructure, "node 1 has parent -1"),
        (["A", "B"], [None, "b"], [-1, 1], InvalidStructure, "node 1 has parent 1"),
        (["A", "B"], [None, "b"], [-1, -2], InvalidStructure, "node 1 has parent -2"),
        (["A"] * 4, [None, None, "c", "d"], [-1, 0, 1, 3], InvalidStructure, "node 3 has"),
        # not in preorder: the subtree of node 1 is not contiguous
        (["A"] * 5, [None, None, "c", "d", "e"], [-1, 0, 1, 0, 1], InvalidStructure, "node 4 has"),
        (["A"], ["a"], [[-1]], InvalidStructure, r"node 0 has parent \[-1\]"),
        (["A"], ["a"], [0.5], InvalidStructure, "integer parents, got float64"),
        ([3], ["a"], [-1], InvalidStructure, "node 0: expected a str as the label, got 3"),
        (["A", "B"], ["a", "b"], [-1, 0], MixedChildren, "got token 'a' and 1 children"),
        (["A", "B"], [None, None], [-1, 0], EmptyNode, "node 1, 'B': expected a token, got None"),
        (["A"], [""], [-1], EmptyNode, "expected a token, got ''"),
        (["A"], [3], [-1], EmptyNode, "expected a token, got 3"),
    ],
)
def test_invalid_fields(labels, tokens, parents, error, message):
    with pytest.raises(error, match=message) as caught:
        Tree(labels, tokens, parents)
    assert caught.value.source is caught.value.line is caught.value.column is None


def test_errors_survive_pickling():
    error = pickle.loads(pickle.dumps(EmptyNode("what", "file", 3, 4)))
    assert type(error) is EmptyNode
    assert str(error) == "file:3:4: what"
    assert str(TreeError("what")) == "what"


# nltk


@given(odd_trees())
def test_nltk_round_trip(tree):
    assert Tree.from_nltk(tree.to_nltk()) == tree


def test_nltk_trees_are_the_same_trees():
    nltk = pytest.importorskip("nltk")
    text = "(S (NP (DT the) (NN film)) (VP (VBZ works)))"
    assert Tree.from_string(text).to_nltk() == nltk.Tree.fromstring(text)
    assert as_tree(nltk.Tree.fromstring(text)) == Tree.from_string(text)
    assert as_tree(nltk.ParentedTree.fromstring(text)) == Tree.from_string(text)


def test_nltk_labels_may_be_numbers_or_none():
    nltk = pytest.importorskip("nltk")
    tree = Tree.from_nltk(nltk.Tree(3, [nltk.Tree(None, ["good"])]))
    assert tree.labels == ("3", "")


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda T: T("A", []), EmptyNode, "node 'A' has no children"),
        (lambda T: T("A", ["a", "b"]), SeveralTokens, r"node 'A' has tokens \['a', 'b'\]"),
        (lambda T: T("A", [T("B", ["b"]), "a"]), MixedChildren, "node 'A' has both token 'a'"),
        (lambda T: T("A", [("a", "NN")]), TreeError, r"leaf \('a', 'NN'\): expected a str"),
    ],
)
def test_nltk_trees_that_cannot_be_converted(build, error, message):
    nltk = pytest.importorskip("nltk")
    with pytest.raises(error, match=message):
        as_tree(build(nltk.Tree))


def test_as_tree_accepts_only_trees_and_brackets():
    tree = Tree.from_string("(A a)")
    assert as_tree(tree) is tree
    assert as_tree("(A a)") == tree
    with pytest.raises(TreeError, match="or a bracketed string, got list"):
        as_tree(["A", "a"])


def test_nltk_is_not_imported_for_other_trees():
    code = (
        "import sys; from graphsent.trees import as_tree; tree = as_tree('(A a)'); "
        "assert str(tree) == '(A a)'; assert 'nltk' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_replace_changes_some_fields_and_checks_the_result():
    tree = Tree.from_string("(3 (2 a) (3 film))")
    assert str(tree.replace(labels=("4", "", "x"))) == "(4 ( a) (x film))"
    assert tree.replace(tokens=(None, "the", "end"), labels=tree.labels).words == ["the", "end"]
    with pytest.raises(TreeError, match="as many labels"):
        tree.replace(labels=("4",))
