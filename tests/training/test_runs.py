"""Several runs by one call: which ones, resuming, errors, the summary."""

from __future__ import annotations

import json
import signal
import statistics
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from toy_treebank import silent

from graphsent.errors import DataError
from graphsent.training import (
    RunConfig,
    RunDirectory,
    RunSet,
    TrainingError,
    TrainingInterrupted,
    TrainingOptions,
    load_model,
    resume,
    resume_runs,
    summary,
    train,
    train_runs,
)
from graphsent.training import runs as module


@pytest.fixture
def reviews(tmp_path) -> RunConfig:
    """A tiny run on a synthetic CR."""
    directory = tmp_path / "data" / "cr"
    directory.mkdir(parents=True)
    for name, word in (("neg", "bad"), ("pos", "good")):
        lines = [f"a {word} phone {number} .\n" for number in range(30)]
        (directory / f"custrev.{name}").write_text("".join(lines))
    return RunConfig(
        "cr",
        "nbow",
        model_options={"embedding_dim": 4},
        data_dir=str(tmp_path / "data"),
        training=TrainingOptions(epochs=1, num_threads=1),
    )


def contents(directory):
    return {path: path.stat().st_mtime_ns for path in directory.rglob("*") if path.is_file()}


def test_all_folds_are_trained_and_summarised(reviews, tmp_path):
    lines: list[str] = []
    results = train_runs(reviews, tmp_path / "out", folds="all", echo=lines.append)
    assert [run["name"] for run in results["runs"]] == [f"fold-{fold}" for fold in range(10)]
    assert results["finished"]
    assert results["num_runs"] == 10
    assert json.loads((tmp_path / "out" / "results.json").read_text()) == results
    for run in results["runs"]:
        own = json.loads((tmp_path / "out" / run["name"] / "results.json").read_text())
        assert own["task_options"] == {"fold": run["fold"]}
        assert (own["test"], own["dev"], own["best_epoch"]) == (
            run["test"],
            run["dev"],
            run["best_epoch"],
        )
        assert f"fold {run['fold']} of 10 of 60 sentences" in run["remarks"][0]
    values = [run["test"]["accuracy"] for run in results["runs"]]
    found = results["summary"]["test"]["accuracy"]
    assert found["mean"] == pytest.approx(statistics.fmean(values))
    assert found["std"] == pytest.approx(statistics.stdev(values))
    complete = [line for line in lines if ": complete, best epoch 1, dev accuracy " in line]
    assert len(complete) == 10


def test_seeds_of_any_task_are_single_runs_with_these_seeds(configure, tmp_path):
    seeds = np.array([3, 0])
    results = train_runs(configure(epochs=1), tmp_path / "out", seeds=seeds, echo=silent)
    assert [(run["name"], run["seed"]) for run in results["runs"]] == [("seed-3", 3), ("seed-0", 0)]
    single = train(configure(epochs=1, seed=3), tmp_path / "single", echo=silent)
    assert results["runs"][0]["test"] == single["test"]


def test_folds_with_seeds_and_one_run_alone(reviews, tmp_path):
    options = {"test": False, "echo": silent}
    results = train_runs(reviews, tmp_path / "out", folds=[2], seeds=[1, 1], **options)
    assert [run["name"] for run in results["runs"]] == ["fold-2-seed-1"]
    assert set(results["summary"]) == {"dev"}
    assert results["summary"]["dev"]["accuracy"]["std"] is None


def test_the_same_call_resumes(reviews, tmp_path, monkeypatch):
    out = tmp_path / "out"

    def interrupted(config, path, check, **options):
        if path.name == "fold-2":
            options["echo"] = stop_after_an_epoch
        return train(config, path, **options)

    def stop_after_an_epoch(line):
        if line.startswith("epoch 1/"):
            signal.raise_signal(signal.SIGINT)

    config = replace(reviews, training=replace(reviews.training, epochs=3))
    monkeypatch.setattr(module, "train_checked", interrupted)
    message = f"in fold-2, 2 of 4 runs are complete; continue .*--resume {out}"
    with pytest.raises(TrainingInterrupted, match=message):
        train_runs(config, out, folds=range(4), echo=silent)
    results = json.loads((out / "results.json").read_text())
    assert (results["finished"], results["num_runs"]) == (False, 2)
    monkeypatch.undo()

    before = contents(out / "fold-0")
    lines: list[str] = []
    results = train_runs(config, out, folds=range(4), echo=lines.append)
    assert contents(out / "fold-0") == before
    assert not any(line.startswith("fold-2: epoch 1/") for line in lines)
    assert any(line.startswith("fold-2: epoch 2/") for line in lines)
    whole = train_runs(config, tmp_path / "whole", folds=range(4), echo=silent)
    assert [run["test"] for run in results["runs"]] == [run["test"] for run in whole["runs"]]
    assert results["summary"] == whole["summary"]
    assert resume_runs(out, echo=silent) == results


def test_more_folds_may_be_asked_for_later(reviews, tmp_path):
    train_runs(reviews, tmp_path / "out", folds=[0], echo=silent)
    before = contents(tmp_path / "out" / "fold-0")
    results = train_runs(reviews, tmp_path / "out", folds=[0, 1], echo=silent)
    assert results["num_runs"] == 2
    assert contents(tmp_path / "out" / "fold-0") == before


def test_data_that_changed_between_runs(reviews, tmp_path):
    out, corpus = tmp_path / "out", tmp_path / "data" / "cr" / "custrev.neg"
    text = corpus.read_text()
    train_runs(reviews, out, folds=[0], echo=silent)
    corpus.write_text(text + "one more .\n")
    expected = r"custrev\.neg has changed between fold-0 and fold-1, .*: start new runs"
    before = contents(out / "fold-0")
    with pytest.raises(TrainingError, match=expected):
        train_runs(reviews, out, folds=[0, 1], echo=silent)
    assert not (out / "fold-1").exists()
    assert contents(out / "fold-0") == before
    train(replace(reviews, task_options={"fold": 1}), tmp_path / "other", echo=silent)
    (tmp_path / "other").rename(out / "fold-1")  # as by an earlier version, which mixed them
    with pytest.raises(TrainingError, match=expected):
        train_runs(reviews, out, folds=[0, 1], echo=silent)


def test_a_run_that_was_continued_for_more_epochs(reviews, tmp_path):
    out = tmp_path / "out"
    train_runs(reviews, out, folds=[0], echo=silent)
    epochs = reviews.training.epochs
    resume(out / "fold-0", epochs=epochs + 1, echo=silent)
    expected = f"epochs is {epochs + 1} in fold-0, but {epochs} in fold-1, .*: start new runs"
    with pytest.raises(TrainingError, match=expected):
        train_runs(reviews, out, folds=[0, 1], echo=silent)
    assert not (out / "fold-1").exists()
    assert train_runs(reviews, out, folds=[0], echo=silent)["num_runs"] == 1


def test_other_options_are_rejected_and_named(reviews, tmp_path):
    out = tmp_path / "out"
    train_runs(reviews, out, folds=[0], echo=silent)
    before = contents(out)
    other = replace(reviews, training=replace(reviews.training, lr=0.5), model_options={})
    with pytest.raises(TrainingError, match=r"model_options.embedding_dim was 4, now None, train"):
        train_runs(other, out, folds=[0], echo=silent)
    with pytest.raises(TrainingError, match="test was True, now False"):
        train_runs(reviews, out, folds=[0], test=False, echo=silent)
    with pytest.raises(TrainingError, match="holds several runs: choose another directory"):
        train(reviews, out, echo=silent)
    with pytest.raises(TrainingError, match=r"expected one of them, such as .*fold-0"):
        load_model(out)
    assert contents(out) == before


def test_replacing_leaves_other_files(reviews, tmp_path):
    out = tmp_path / "out"
    train_runs(reviews, out, folds=[0, 1], echo=silent)
    (out / "notes.txt").write_text("mine")
    (out / "fold-1" / "notes.txt").write_text("mine")
    other = replace(reviews, training=replace(reviews.training, lr=0.5))
    train_runs(other, out, folds=[0], overwrite=True, echo=silent)
    left = {path.name for path in out.iterdir()}
    assert left == {"notes.txt", "fold-0", "fold-1", "runs.yaml", "results.json"}
    assert [path.name for path in (out / "fold-1").iterdir()] == ["notes.txt"]
    assert RunSet(out).open().config.training.lr == 0.5


def test_an_interrupted_replacement_can_be_repeated(reviews, tmp_path, monkeypatch):
    out = tmp_path / "out"
    train_runs(reviews, out, folds=[0, 1], echo=silent)
    with monkeypatch.context() as patch:
        patch.setattr(RunDirectory, "clear", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            train_runs(reviews, out, folds=[0], overwrite=True, echo=silent)
    results = train_runs(reviews, out, folds=[0], overwrite=True, echo=silent)
    assert results["finished"]
    assert {path.name for path in out.iterdir()} == {"fold-0", "runs.yaml", "results.json"}


def test_a_failed_start_leaves_nothing(reviews, configure, tmp_path):
    out = tmp_path / "out"
    wrong = [
        (reviews, {}, "expected folds or seeds", TrainingError),
        (reviews, {"folds": [0, 10]}, "fold: expected 0 to 9, got 10", DataError),
        (configure(), {"folds": "all"}, "the task 'sst5' have splits, not folds", TrainingError),
        (replace(reviews, model_options={"width": 1}), {"seeds": [0]}, "no option", TrainingError),
    ]
    for config, options, message, error in wrong:
        with pytest.raises(error, match=message):
            train_runs(config, out, echo=silent, **options)
        assert not out.exists()


def test_directories_of_something_else(reviews, tmp_path):
    train(reviews, tmp_path / "single", echo=silent)
    with pytest.raises(TrainingError, match="holds a single run: choose another directory"):
        train_runs(reviews, tmp_path / "single", folds=[0], echo=silent)
    with pytest.raises(TrainingError, match="holds other files: choose another directory"):
        train_runs(reviews, tmp_path / "data", folds=[0], overwrite=True, echo=silent)
    with pytest.raises(TrainingError, match=r"cannot read it"):
        resume_runs(tmp_path / "nothing")


@pytest.mark.parametrize("text", ["- 1", "folds: x", "config: {}\nfolds: []\nseeds: []", "\x00"])
def test_a_damaged_file_of_runs(tmp_path, text):
    (tmp_path / "runs.yaml").write_text(text)
    with pytest.raises(TrainingError, match=r"runs\.yaml: expected a set of runs"):
        RunSet(tmp_path).open()


def test_summary_has_mean_and_sample_deviation():
    figures = [{"a": 1.0, "b": 2.0}, {"a": 2.0, "b": 2.0}]
    assert summary(figures) == {
        "a": {"mean": 1.5, "std": pytest.approx(0.5**0.5)},
        "b": {"mean": 2.0, "std": 0.0},
    }
    assert summary([]) == {}
