"""`--trees`: models that learn from balanced and other artificial trees."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest
from toy_treebank import TINY

from graphsent.cli import draw, main
from graphsent.errors import DataError
from graphsent.models import BiTreeLSTMClassifier, load_pretrained
from graphsent.parsing import TreeSource
from graphsent.tasks import get_task
from graphsent.training import RunConfig
from graphsent.trees import SHAPES, DependencyTree, Tree, read_trees, reshape
from graphsent.trees.escapes import bracket_token
from graphsent.vocabulary import Vocabulary


def test_a_control_is_trained_evaluated_and_predicts(toy_data, tmp_path, capsys):
    out = tmp_path / "run"
    arguments = ["--task=sst5", f"--data-dir={toy_data}", "--trees=right", f"--out={out}", *TINY]
    assert main(["train", *arguments, "--epochs=1"]) == 0
    assert "right constituency trees" in capsys.readouterr().out
    results = json.loads((out / "results.json").read_text())
    assert (results["trees"], results["corpus"]["shape"]) == ("right", "right")
    assert main(["train", f"--resume={out}", "--epochs=2"]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(out), "--split=dev"]) == 0
    assert "right constituency trees" in capsys.readouterr().out
    assert RunConfig.load(out / "config.yaml").trees == "right"
    model = load_pretrained(out / "model")
    assert model.tree_source.parser == "shape:right"
    (given,) = read_trees(_write(tmp_path, "(4 (2 the (2 film)) (2 is) (4 good))"))[:1]
    expected = model.predict([reshape(given, "right")])[0]
    for each in (given, "the film is good"):
        found = model.predict([each])[0]
        assert found.tree.parents.tolist() == [-1, 0, 0, 2, 2, 4, 4]
        np.testing.assert_array_equal(found.probabilities, expected.probabilities)
    (tmp_path / "raw.txt").write_text("the film is good\n")
    assert main(["predict", str(out), str(tmp_path / "raw.txt")]) == 0
    assert capsys.readouterr().out.endswith("\tthe film is good\n")


def test_pictures_show_the_tree_that_the_model_reads(tmp_path, monkeypatch):
    model = BiTreeLSTMClassifier(Vocabulary(["film", "good"]), 5, 4, 5).eval()
    model.tree_source = TreeSource("constituency", "shape:right", "1")
    model.save_pretrained(tmp_path)
    drawn = {}
    monkeypatch.setattr(draw, "draw_tree", lambda tree, **shown: drawn.update(shown, tree=tree))
    given = Tree.from_string("(4 (1 (2 the) (2 film)) (3 (2 is) (3 good)))")
    shown = [f"--model={tmp_path}", "--weights", "--gold", f"--out={tmp_path / 'tree.svg'}"]
    assert main(["draw", f"--tree={given}", *shown]) == 0
    read = reshape(given, "right")
    assert drawn["tree"].parents.tolist() == read.parents.tolist()
    assert drawn["gold"] == ["4", "2", "", "2", "3", "2", "3"] == list(read.labels)
    (expected,) = model.edge_weights([read])
    np.testing.assert_array_equal(drawn["edge_weights"], expected)
    np.testing.assert_array_equal(model.edge_weights([given])[0], expected)


def test_brackets_in_raw_text(tmp_path, capsys):
    """Training and `predict` build the same trees over the same words."""
    file, out = tmp_path / "my.tsv", tmp_path / "run"
    file.write_text("a\tgood ( and/or\nb\tbad [ film\nb\tbad ) film\n" * 9)
    files = [f"--train={file}", f"--dev={file}", "--split=0", "--trees=random", f"--out={out}"]
    assert main(["train", *files, "--model=treelstm", "--hidden=4", "--epochs=1"]) == 0
    config = RunConfig.load(out / "config.yaml")
    loaded = load_pretrained(out / "model")
    texts = ["good ( and/or", "bad [ film", "bad ) film"]
    learned = config.load_data(splits=("train",))[1].splits["train"][:3]
    for tree, found in zip(learned, loaded.parse(texts), strict=True):
        assert list(found.words) == list(tree.words)
        assert found.parents.tolist() == tree.parents.tolist()
    capsys.readouterr()
    assert main(["predict", str(out), str(file), "--unknown"]) == 0
    assert not capsys.readouterr().err  # all words are known


def _write(directory, tree):
    path = directory / "tree.txt"
    path.write_text(tree.replace("the (2 film)", "(2 the) (2 film)") + "\n")
    return path


@functools.cache
def _plain(task):
    """The sentences of dev; all tweets have to be read for them."""
    return get_task(task).load(splits=("dev",), tree_kind="words").splits["dev"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["constituency", "dependency"])
@pytest.mark.parametrize("task", ["sst5", "trec", "sick", "twitter"])
def test_every_task_with_words(task, kind, shape):
    data = get_task(task).load(splits=("dev",), tree_kind=kind, trees=shape)
    cls = {"constituency": Tree, "dependency": DependencyTree}[kind]
    plain = _plain(task)
    assert len(data.splits["dev"]) == len(plain)
    for found, given in zip(data.splits["dev"][:5], plain, strict=False):
        pairs = [(found, given)] if task != "sick" else zip(found[:2], given[:2], strict=True)
        for one, other in pairs:
            assert type(one) is cls
            # Published corpora, other than the embedded ones, have words with brackets.
            words = [bracket_token(word) if cls is Tree else word for word in other.words]
            assert list(one.words) == words
            assert one == reshape(other, shape, kind)


def test_streams_have_the_same_trees(toy_data):
    loaded = get_task("sst2").load(toy_data, trees="balanced").splits["train"]
    streamed = get_task("sst2").stream(toy_data, trees="balanced").splits["train"]()
    assert list(streamed) == loaded


def test_rejected_options(toy_data, tmp_path, capsys):
    with pytest.raises(DataError, match="unknown shape of trees 'flat'"):
        get_task("sst5").load(toy_data, trees="flat")
    arguments = ["--task=sst5", "--model=nbow", f"--data-dir={toy_data}", "--trees=left"]
    assert main(["train", *arguments, f"--out={tmp_path / 'run'}"]) == 2
    assert "left trees are for models of trees, not of words" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    with pytest.raises(SystemExit, match="2"):
        main(["train", *arguments[:-1], "--trees=lef", "--out=x"])
    assert "did you mean 'left'" in capsys.readouterr().err


@pytest.mark.data
def test_labels_of_the_treebank_under_balanced_trees(data_dir):
    trees = get_task("sst5").load(data_dir, ("test",), trees="balanced").splits["test"]
    assert len(trees) == 2210
    assert all(tree.labels[0] for tree in trees)
    words = sum(len(tree.words) for tree in trees)
    labelled = sum(label != "" for tree in trees for label in tree.labels)
    assert 2210 + words < labelled < 2 * words
