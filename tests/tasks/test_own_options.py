"""The task `own`: its options."""

from __future__ import annotations

import json

import pytest

from graphsent.errors import DataError
from graphsent.tasks import get_task


def test_options_without_effect(tsv):
    with pytest.raises(DataError, match="--dev-trees needs the sentences, --dev FILE"):
        get_task("own", train=str(tsv), dev_trees=["trees.txt"])
    with pytest.raises(DataError, match="labels are for classification"):
        get_task("own", train=str(tsv), regression=True, labels=["1", "2"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "your own data need a training file"),
        ({"train": 3}, "train: expected a file, or a file for each label"),
        ({"train": ""}, "train: expected a file, or a file for each label, got ''"),
        ({"train": "a", "dev": ""}, "dev: expected a file, or a file for each label, got ''"),
        ({"train": {"x": "a", "x ": "b"}}, "train: expected different labels of one line"),
        ({"train": {" ": "a", "y": "b"}}, "train: expected different labels of one line"),
        ({"train": {"a\tb": "a", "y": "b"}}, "train: expected different labels of one line"),
        ({"train": {}}, "train: expected a file, or a file for each label"),
        ({"train": {"x": 3}}, "train: expected a file, or a file for each label"),
        ({"train": {"x": ""}}, "train: expected a file, or a file for each label"),
        ({"train": "a", "train_trees": ""}, r"train_trees: expected a list of names, got ''"),
        ({"train": "a", "split": 0.5}, "split: expected a share below 0.5"),
        ({"train": "a", "split": "0.1"}, "split: expected a share below 0.5, got '0.1'"),
        ({"train": "a", "split_seed": "1"}, "split_seed: expected an integer from 0, got '1'"),
        ({"train": "a", "num_folds": "5"}, "num_folds: expected an integer from 2, got '5'"),
        ({"train": "a", "fold": True}, "fold: expected 0 to 9, got True"),
        ({"train": "a", "encoding": 3}, "encoding: expected a name, got 3"),
        ({"train": "a", "split": float("nan")}, "split: expected a share"),
        ({"train": "a", "split_seed": -1}, "split_seed: expected an integer from 0"),
        ({"train": "a", "fold": 10}, "fold: expected 0 to 9, got 10"),
        ({"train": "a", "num_folds": 1}, "num_folds: expected an integer from 2, got 1"),
        ({"train": "a", "test": "b", "fold": 0}, "a fold of train, but there is also a test file"),
        ({"train": "a", "input": "texts"}, "unknown input 'texts'"),
        ({"train": "a", "text_column": ["a", "b", "c"]}, "text_column: expected one or two names"),
        ({"train": "a", "text_column": 3}, "text_column: expected a list of names"),
        ({"train": "a", "text_column": ["a", 3]}, "text_column: expected a list of names"),
        ({"train": "a", "label_column": 3}, "label_column: expected a string"),
        ({"train": "a", "regression": "yes"}, "regression: expected true or false"),
        ({"train": "a", "labels": "pos"}, "labels: expected one or more different names"),
        ({"train": "a", "labels": []}, "labels: expected one or more different names"),
        ({"train": "a", "labels": ["x", "x"]}, "labels: expected one or more different names"),
        ({"trian": "a"}, "unknown option 'trian' of task own: .* mean 'train'"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(DataError, match=message):
        get_task("own", **options)


def test_the_options_make_the_same_task_again(tsv):
    task = get_task("own", train=str(tsv), text_column="text", label_column="1", num_folds=2)
    again = get_task("own", **json.loads(json.dumps(task.options)))
    assert again.options == task.options
    assert task.options["text_column"] == ["text"]
    assert not {"labels", "dev", "train_trees"} & set(task.options)


def test_paths_are_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"train": "a.tsv", "dev": {"x": "b.txt"}, "dev_trees": "c.trees"}
    options = get_task("own", **given).options
    here = tmp_path.resolve()
    assert options["train"] == str(here / "a.tsv")
    assert options["dev"] == {"x": str(here / "b.txt")}
    assert options["dev_trees"] == [str(here / "c.trees")]
