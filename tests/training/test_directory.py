"""Run directories: never lost by accident, never incomplete."""

from __future__ import annotations

import re

import pytest

from graphsent.errors import ModelError
from graphsent.models import load_pretrained
from graphsent.training import RunConfig, RunDirectory, TrainingError, load_model

CONFIG = RunConfig("sst5", "nbow")


def test_a_run_is_replaced_only_when_asked(tmp_path):
    run = RunDirectory(tmp_path / "run")
    run.create(CONFIG)
    run.write_results({"finished": True})
    run.checkpoint.touch()
    (run.model / "encoder").mkdir(parents=True)
    (run.path / "notes.txt").write_text("mine")
    with pytest.raises(TrainingError, match=r"holds a run: continue it \(--resume .*run\)"):
        run.create(CONFIG)
    assert run.checkpoint.exists()
    run.create(CONFIG, overwrite=True)
    assert sorted(path.name for path in run.path.iterdir()) == ["config.yaml", "notes.txt"]
    assert run.read_results() == {}


@pytest.mark.parametrize("name", ["thesis.tex", "config.yaml"])
def test_a_foreign_directory_is_left_alone(tmp_path, name):
    (tmp_path / name).write_text("anything")
    with pytest.raises(TrainingError, match="holds files that are not a run"):
        RunDirectory(tmp_path).create(CONFIG, overwrite=True)
    assert (tmp_path / name).read_text() == "anything"


def test_a_file_in_its_place_is_an_error(tmp_path):
    (tmp_path / "run").touch()
    with pytest.raises(TrainingError, match="expected a directory for the run, found a file"):
        RunDirectory(tmp_path / "run").create(CONFIG)


def test_an_empty_directory_is_accepted(tmp_path):
    RunDirectory(tmp_path).create(CONFIG)
    assert RunDirectory(tmp_path).open() == CONFIG


def test_opening_a_directory_that_is_not_a_run(tmp_path):
    with pytest.raises(TrainingError, match=r"is not a run: it has no config\.yaml"):
        RunDirectory(tmp_path).open()


def test_loading_a_missing_model(tmp_path):
    with pytest.raises(ModelError, match="is not a directory"):
        load_model(tmp_path / "none")
    with pytest.raises(ModelError, match="not a saved model"):
        load_model(tmp_path)
    RunDirectory(tmp_path).create(CONFIG)
    with pytest.raises(TrainingError, match="has no model yet: no epoch is complete"):
        load_model(tmp_path)


def test_where_the_model_of_a_run_is(quietly_trained, tmp_path):
    quietly_trained(epochs=1)
    with pytest.raises(ModelError, match=re.escape(str(tmp_path / "run" / "model"))):
        load_pretrained(tmp_path / "run")


def test_replacing_a_run_keeps_other_files_below_it(tmp_path):
    run = RunDirectory(tmp_path)
    run.create(CONFIG)
    own = [run.model / "config.json", run.logs / "metrics.csv", run.logs / "tensorboard" / "a"]
    mine = [run.model / "notes.txt", run.logs / "notes.txt"]
    for path in (*own, *mine):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    run.create(CONFIG, overwrite=True)
    assert [path.exists() for path in (*own, *mine)] == [False] * 3 + [True] * 2


def test_a_model_that_could_not_be_saved_is_noticed_before_training(tmp_path):
    run = RunDirectory(tmp_path)
    run.create(CONFIG)
    run.model.mkdir()
    (run.model / ".DS_Store").touch()
    with pytest.raises(ModelError, match=r"holds other files \(\.DS_Store\)"), run.held():
        raise AssertionError("unreachable")
