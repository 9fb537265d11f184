"""The configuration of a run as a file."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from graphsent.errors import DataError
from graphsent.training import RunConfig, TrainingError, TrainingOptions, train
from graphsent.training.inputs import InputOptions


def test_round_trip(tmp_path):
    config = RunConfig(
        "sst2",
        "nbow",
        task_options={"neutral": "mask"},
        model_options={"dropout": 0.1},
        data_dir="data",
        tree_kind="dependency",
        parses_dir="parses",
        vectors=("ä.txt", "b.npz"),
        training=TrainingOptions(epochs=3, weight_decay=1e-5),
    )
    config.save(tmp_path / "config.yaml")
    assert RunConfig.load(tmp_path / "config.yaml") == config


def test_omitted_settings_have_their_default(tmp_path):
    (tmp_path / "config.yaml").write_text("task: sst5\nmodel: nbow\ntraining: {lr: 1e-2}\n")
    config = RunConfig.load(tmp_path / "config.yaml")
    assert config == RunConfig("sst5", "nbow", training=TrainingOptions(lr=0.01))


@pytest.mark.parametrize("number", ["1e-1", "1E-1", "+.1e0", "1.e-1", "1.0e-1"])
def test_numbers_are_those_of_yaml_1_2_in_all_parts(tmp_path, number):
    path = tmp_path / "config.yaml"
    path.write_text(
        f"task: own\ntask_options: {{split: {number}}}\nmodel: nbow\n"
        f"model_options: {{dropout: {number}}}\ntraining: {{lr: {number}}}\n"
    )
    config = RunConfig.load(path)
    assert config.task_options == {"split": 0.1}
    assert config.model_options == {"dropout": 0.1}
    assert config.training.lr == 0.1


@pytest.mark.parametrize("text", ["1e-1", "1e5", "0e0", ".1e1", "e1", "1e", "0x1e1", "1_0e1", "1"])
def test_strings_that_look_like_numbers_remain_strings(tmp_path, text):
    config = RunConfig("own", "nbow", task_options={"labels": [text]}, data_dir=text)
    config.save(tmp_path / "config.yaml")
    assert RunConfig.load(tmp_path / "config.yaml") == config


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("task: [", "expected a configuration in YAML"),
        ("- sst5\n", "expected a configuration, got list"),
        ("model: nbow\n", "task: expected a name, got None"),
        ("task: a\nmodel: b\nmodle: c\n", "unknown option 'modle': expected one of task"),
        ("task: a\nmodel: b\nepochs: 3\n", "'epochs' is an option of 'training': .* below that"),
        ("task: a\nmodel: b\nencoder: c\n", "'encoder' is an option of 'inputs': .* below that"),
        ("task: a\nmodel: b\ntraining: {epoch: 1}\n", "unknown training option 'epoch'"),
        ("task: a\nmodel: b\ntraining: {epochs: 0}\n", "epochs: expected at least 1"),
        ("task: a\nmodel: b\ntraining: 3\n", "training: expected names with values, got 3"),
        ("task: a\nmodel: b\nvectors: v.txt\n", "vectors: expected a list of files"),
        (
            "task: a\nmodel: b\ntask_options: {1: c}\n",
            "task_options: expected names .*, got {1: 'c'}",
        ),
    ],
)
def test_errors_name_the_file_and_what_is_wrong(tmp_path, text, message):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=f"config.yaml: .*{message}"):
        RunConfig.load(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.yaml: cannot read the configuration: No such file"):
        RunConfig.load(tmp_path / "none.yaml")


def test_training_is_that_of_the_models_paper_unless_it_is_chosen():
    assert RunConfig("sst5", "treelstm").training == TrainingOptions()
    paper = TrainingOptions(optimizer="adam", lr=0.001, weight_decay=0.0)
    assert RunConfig("sst5", "bitreelstm").training == paper
    chosen = {"task": "sst5", "model": "bitreelstm", "training": {"lr": 0.01}}
    assert RunConfig.from_dict(chosen).training == replace(paper, lr=0.01)
    plain = RunConfig("sst5", "bitreelstm", training=TrainingOptions())
    assert plain.training == TrainingOptions()


@pytest.mark.parametrize(
    ("task", "model", "valid"),
    [("sick", "treelstm", "arnn-relatedness"), ("sst5", "arnn-relatedness", "bitreelstm")],
)
def test_a_model_of_pairs_for_a_task_of_pairs(task, model, valid, tmp_path):
    with pytest.raises(TrainingError, match=f"expected one of .*{valid}"):
        train(RunConfig(task, model), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"vectors": "v.txt"}, "vectors: expected a list of files, got 'v.txt'"),
        ({"vectors": [3]}, "vectors: expected a list of files, got [3]"),
        ({"model": dict}, "model: expected a name, got <class 'dict'>"),
        ({"model_options": None}, "model_options: expected names with values, got None"),
        ({"model_options": {"cell": dict}}, "model_options: expected numbers, strings, and lists"),
        ({"inputs": {"lower": True}}, "inputs: expected InputOptions, got {'lower': True}"),
        ({"training": {"epochs": 1}}, "training: expected TrainingOptions, got {'epochs': 1}"),
        ({"stream": "no"}, "stream: expected true or false, got 'no'"),
        ({"data_dir": 3}, "data_dir: expected a string, got 3"),
    ],
)
def test_values_of_the_wrong_type(values, message):
    with pytest.raises(DataError, match=re.escape(message)):
        RunConfig(**{"task": "sst5", "model": "nbow", **values})


def test_numbers_of_numpy_and_paths_are_saved(tmp_path):
    config = RunConfig(
        "own",
        "kimcnn",
        task_options={"train": tmp_path / "train.tsv"},
        model_options={"maps": np.int64(4), "heights": (np.int32(3), 4)},
        data_dir=tmp_path,
        vectors=[tmp_path / "v.txt"],
        stream=np.False_,
        training=TrainingOptions(
            epochs=np.int64(2), lr=np.float64(0.1), weight_decay=np.float32(0)
        ),
        inputs=InputOptions(min_count=np.int64(2), lower=np.True_),
    )
    assert config.model_options == {"maps": 4, "heights": [3, 4]}
    assert config.vectors == (str(tmp_path / "v.txt"),)
    config.save(tmp_path / "config.yaml")
    assert RunConfig.load(tmp_path / "config.yaml") == config
