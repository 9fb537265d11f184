"""The sentiment tasks on dependency trees, synthetic and real."""

from __future__ import annotations

import hashlib

import pytest

from graphsent.errors import DataError
from graphsent.tasks import get_task
from graphsent.trees import DependencyTree, Tree, write_conllu

TREES = ["(3 (2 a) (4 (3 lovely) (2 film)))", "(2 (1 not) (2 that))", "(1 (0 dire) (2 film))"]
HEADS = [[2, 2, -1], [1, -1], [1, -1]]


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.delenv("GRAPHSENT_PARSES", raising=False)
    (tmp_path / "sst").mkdir()
    (tmp_path / "parses").mkdir()
    parses = [
        DependencyTree(Tree.from_string(text).words, heads)
        for text, heads in zip(TREES, HEADS, strict=True)
    ]
    for split in ("train", "dev", "test"):
        (tmp_path / "sst" / f"{split}.txt").write_text("\n".join(TREES), encoding="utf-8")
        write_conllu(tmp_path / "parses" / f"sst.{split}.conllu.gz", parses)
    return tmp_path


def load(task, data, **options):
    return task.load(data, tree_kind="dependency", **options)


def test_five_classes(data):
    train = load(get_task("sst5"), data).splits["train"]
    assert [tree.labels for tree in train] == [("2", "3", "3"), ("1", "2"), ("0", "1")]
    assert all(isinstance(tree, DependencyTree) for tree in train)


def test_two_classes_drop_the_parses_of_neutral_sentences(data):
    train = load(get_task("sst2"), data).splits["train"]
    assert [tree.labels for tree in train] == [("", "1", "1"), ("0", "0")]
    assert [tree.words[0] for tree in train] == ["a", "dire"]


def test_the_trees_that_were_read_are_reported(data):
    source = load(get_task("sst5"), data, splits=["dev"]).source
    assert f"dependency trees from {data / 'parses'}" in source.summary()
    path = data / "parses" / "sst.dev.conllu.gz"
    described = source.describe()
    assert described["tree_kind"] == "dependency"
    assert described["splits"]["dev"]["parses"] == [
        {"path": str(path), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    ]


def test_constituency_trees_need_no_parses(data):
    for path in (data / "parses").iterdir():
        path.unlink()
    (data / "parses").rmdir()
    source = get_task("sst5").load(data).source
    assert source.describe()["tree_kind"] == "constituency"
    assert source.describe()["splits"]["dev"]["parses"] == []
    advice = "no parses directory.*: --parses-dir DIR; to parse .*: graphsent train --parser NAME$"
    with pytest.raises(DataError, match=advice):
        load(get_task("sst5"), data)


def test_a_missing_file_of_parses_is_named(data):
    (data / "parses" / "sst.dev.conllu.gz").unlink()
    with pytest.raises(DataError, match=r"no dependency trees of Stanford .*sst\.dev\.conllu\.gz"):
        load(get_task("sst5"), data)


def test_an_unknown_kind_of_trees(data):
    with pytest.raises(DataError, match="unknown kind of trees 'ucca': expected one of constit"):
        get_task("sst5").load(data, tree_kind="ucca")


def test_parses_may_lie_elsewhere(data, tmp_path):
    (data / "parses").rename(tmp_path / "elsewhere")
    assert load(get_task("sst5"), data, parses_dir=tmp_path / "elsewhere").splits["train"]


@pytest.mark.data
def test_the_real_treebank(data_dir, parses_dir):
    task = get_task("sst5")
    trees = task.load(data_dir, ["dev"]).splits["dev"]
    parses = load(task, data_dir, splits=["dev"], parses_dir=parses_dir).splits["dev"]
    assert [tree.words for tree in trees] == [list(parse.words) for parse in parses]
    for tree, parse in zip(trees, parses, strict=True):
        assert parse.labels[parse.root] == tree.labels[0]
    labelled = sum(label != "" for parse in parses for label in parse.labels)
    assert labelled == 19_217
    assert sum(parse.num_nodes for parse in parses) == 21_274


def test_the_embedded_treebank(monkeypatch, repository):
    monkeypatch.delenv("GRAPHSENT_PARSES", raising=False)
    trees = load(get_task("sst5"), repository / "data", splits=["dev"]).splits["dev"]
    assert trees
    assert all(tree.labels[tree.root] for tree in trees)
