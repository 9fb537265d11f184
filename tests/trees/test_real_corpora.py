"""The counts in the corpora's documentation; skipped without the data."""

from __future__ import annotations

import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from graphsent.trees import (
    Tree,
    collapse_unary,
    parse_conllu,
    parse_trees,
    read_conllu,
    read_labelled_trees,
    read_trees,
    strip_function_tags,
    strip_traces,
    to_conllu,
    to_dependency_tree,
    unescape,
)
from graphsent.trees.errors import EmptyNode

pytestmark = pytest.mark.data

PUNCTUATION = {",", ".", ":", "``", "''", "-LRB-", "-RRB-"}


@pytest.fixture(scope="module")
def sst(data_dir: Path) -> dict[str, list[Tree]]:
    return {name: read_trees(data_dir / "sst" / f"{name}.txt") for name in ("train", "dev", "test")}


@pytest.fixture(scope="module")
def wsj(data_dir: Path) -> list[Tree]:
    trees = []
    with zipfile.ZipFile(data_dir / "nltk_data/corpora/treebank.zip") as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".mrg"):
                trees += parse_trees(archive.read(name).decode("ascii"), name)
    return trees


@pytest.mark.parametrize(
    ("split", "num_trees", "num_nodes", "root_labels"),
    [
        ("train", 8544, 318582, [1092, 2218, 1624, 2322, 1288]),
        ("dev", 1101, 41447, [139, 289, 229, 279, 165]),
        ("test", 2210, 82600, [279, 633, 389, 510, 399]),
    ],
)
def test_sst_has_the_published_trees_nodes_and_labels(
    sst, split, num_trees, num_nodes, root_labels
):
    trees = sst[split]
    assert len(trees) == num_trees
    assert sum(tree.num_nodes for tree in trees) == num_nodes
    roots = Counter(tree.labels[0] for tree in trees)
    assert [roots[label] for label in "01234"] == root_labels
    assert all(set(tree.num_children.tolist()) == {0, 2} for tree in trees)


def test_sst_labels_of_all_nodes(sst):
    counts = Counter(label for tree in sst["train"] for label in tree.labels)
    assert [counts[label] for label in "01234"] == [8245, 34362, 219788, 44194, 11993]
    num_levels = [int(tree.depths.max()) + 1 for trees in sst.values() for tree in trees]
    assert max(num_levels) == 30


def test_sst_tokens_with_no_break_spaces(sst):
    odd = {
        line: word
        for line, tree in enumerate(sst["train"], start=1)
        for word in tree.words
        if "\u00a0" in word
    }
    assert odd == {4342: "8\u00a01\\/2", 5799: "2\u00a01\\/2", 7409: "2\u00a01\\/2"}


def test_sst_round_trip(sst, data_dir):
    text = (data_dir / "sst" / "dev.txt").read_text(encoding="utf-8")
    assert "".join(f"{tree}\n" for tree in sst["dev"]) == text


@pytest.mark.parametrize(("empty_nodes", "num_words"), [("drop", 37831), ("token", 37843)])
def test_questionbank(data_dir, empty_nodes, num_words):
    path = data_dir / "questionbank" / "4000qs.txt"
    trees = read_trees(path, empty_nodes=empty_nodes)
    assert len(trees) == 4000
    roots = Counter(tree.labels[0] for tree in trees)
    assert roots == {"SBARQ": 3857, "S": 132, "FRAG": 7, "SQ": 2, "SBAR": 2}
    lengths = [len(tree.words) for tree in trees]
    assert (min(lengths), max(lengths), sum(lengths)) == (2, 37, num_words)
    assert max(int(tree.num_children.max()) for tree in trees) == 18
    assert sum(word == "<s" for tree in trees for word in tree.words) == 460


def test_questionbank_has_empty_nodes(data_dir):
    with pytest.raises(EmptyNode) as caught:
        read_trees(data_dir / "questionbank" / "4000qs.txt")
    assert caught.value.line == 8


def test_penn_treebank(wsj):
    assert len(wsj) == 3914
    assert sum(len(tree.words) for tree in wsj) == 100_676
    plain = [strip_function_tags(strip_traces(tree)) for tree in wsj]
    assert sum(len(tree.words) for tree in plain) == 94_084
    labels = {label for tree in plain for label in tree.labels}
    assert "-NONE-" not in labels
    assert all(label.startswith("-") or not set("-=") & set(label) for label in labels)
    assert not any(1 in collapse_unary(tree).num_children for tree in plain[:500])


def test_lexical_heads_agree_with_the_dependency_treebank(wsj, data_dir):
    """The rules of that treebank differ from Collins's, but most heads agree."""
    gold = []
    with zipfile.ZipFile(data_dir / "nltk_data/corpora/dependency_treebank.zip") as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".dp"):
                blocks = archive.read(name).decode("ascii").strip().split("\n\n")
                gold += [[line.split("\t") for line in block.splitlines()] for block in blocks]
    assert len(gold) == len(wsj)
    same = []
    for rows, tree in zip(gold[:1000], wsj[:1000], strict=True):
        found = to_dependency_tree(strip_traces(tree))
        assert list(found.words) == [row[0] for row in rows]
        heads = np.array([int(row[2]) - 1 for row in rows])
        is_word = [tag not in PUNCTUATION for tag in found.xpos]
        same += (heads == found.heads)[is_word].tolist()
    assert np.mean(same) > 0.86


@pytest.mark.parametrize(
    ("name", "num_lines"),
    [("sst.dev", 1101), ("trec.test", 500), ("sick.trial.a", 500), ("cr", 3775)],
)
def test_parses_have_the_same_tokens(parses_dir, name, num_lines):
    labelled = read_labelled_trees(parses_dir / f"{name}.trees.gz")
    dependencies = read_conllu(parses_dir / f"{name}.conllu.gz")
    assert len(labelled) == num_lines
    empty = [line for line, (_, tree) in enumerate(labelled, start=1) if tree is None]
    assert empty == ([769, 1368, 3691, 3775] if name == "cr" else [])
    trees = [(label, tree) for label, tree in labelled if tree is not None]
    for (label, tree), dependency in zip(trees, dependencies, strict=True):
        assert tree.labels[0] == "ROOT"
        if not name.startswith("sick"):
            assert dependency.metadata["label"] == label
        constituency_words = [unescape(word) for word in tree.words]
        assert constituency_words == [unescape(word) for word in dependency.words]


def test_sst_parses_have_the_tokens_of_the_treebank(parses_dir, sst):
    dependencies = read_conllu(parses_dir / "sst.dev.conllu.gz")
    assert [list(tree.words) for tree in dependencies] == [tree.words for tree in sst["dev"]]
    text = "\n".join(map(to_conllu, dependencies))
    assert parse_conllu(text) == dependencies
