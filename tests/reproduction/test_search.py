"""The hyperparameter search in examples/."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest

from graphsent.reproduction import Catalogue, Run
from graphsent.training import train

pytest.importorskip("optuna", reason="pip install 'graphsent[search]'")

CHOICES = ("--choose", "training.lr", "0.02", "0.05", "--choose", "model_options.hidden", "4", "6")


@pytest.fixture
def main(repository, shipped, data, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(repository / "examples"))
    monkeypatch.chdir(tmp_path)
    yield __import__("search").main
    del sys.modules["search"]


def search(main, *arguments: str) -> int:
    return main(["toy-tree", "--data-dir=data", "--out=search", *arguments])


def test_trials_begin_with_the_shipped_settings_and_resume(main, tmp_path, capsys):
    assert search(main, "--trials=2", *CHOICES) == 0
    path = tmp_path / "search" / "toy-tree.json"
    two = json.loads(path.read_text())
    shipped = {"training.lr": 0.02, "model_options.hidden": 6}
    assert two["trials"][0]["settings"] == shipped
    assert search(main, "--trials=9", *CHOICES) == 0
    trials = json.loads(path.read_text())["trials"]
    assert trials[:2] == two["trials"]
    assert len({tuple(each["settings"].items()) for each in trials}) == len(trials) == 4
    best = max(each["dev"]["root_accuracy"] for each in trials)
    assert f"root_accuracy: {best}" in capsys.readouterr().out.rpartition("best of 4 trials")[2]


def test_a_trial_of_two_seeds_is_their_mean(main, tmp_path):
    one = ("--choose", "training.lr", "5e-2")
    assert search(main, "--trials=1", "--seeds=2", *one) == 0
    record = json.loads((tmp_path / "search" / "toy-tree.json").read_text())
    assert record["choices"] == {"training.lr": [0.05]}
    places = sys.modules["search"].Places("data")
    (run,) = Run.of(Catalogue().configuration("toy-tree"), [1])
    config = places.locate(run.run_config())
    config = replace(config, training=replace(config.training, lr=0.05))
    second = train(config, tmp_path / "second", test=False, echo=lambda line: None)
    assert search(main, "--trials=1", "--out=first", *one) == 0
    first = json.loads((tmp_path / "first" / "toy-tree.json").read_text())["trials"][0]
    (both,) = record["trials"]
    for name, figure in both["dev"].items():
        assert figure == pytest.approx((first["dev"][name] + second["dev"][name]) / 2, abs=1e-6)
    assert both["best_epochs"] == [*first["best_epochs"], second["best_epoch"]]
    assert search(main, "--trials=2", *one) == 2  # with one seed


def test_usage_errors_give_one_line(main, tmp_path, capsys):
    assert search(main, "--trials=1", "--choose", "training.rate", "1") == 2
    assert "unknown training option 'rate'" in capsys.readouterr().err
    assert search(main, "--trials=1", "--choose", "training.lr") == 2
    assert "at least one value per setting" in capsys.readouterr().err
    assert search(main, "--trials=1", "--choose", "model.hidden", "4") == 2
    assert "error: --choose: 'hidden' names a part" in capsys.readouterr().err
    assert search(main, "--trials=1", *CHOICES) == 0
    assert search(main, "--trials=1", *CHOICES[:4]) == 2
    assert "a search with other settings" in capsys.readouterr().err
    (tmp_path / "search" / "toy-tree.json").write_text("[]")
    assert search(main, "--trials=1", *CHOICES) == 2
    assert "a search with other settings" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (["training.lr", "[1"], "--choose: expected a value in YAML, got '[1'"),
        (["training.epochs", "1", "one"], "epochs: expected an integer, got 'one'"),
        (["training.lr", "0.1", "1e-1"], "expected different values, got [0.1, 0.1]"),
        (["training.lr", "0.1", "--choose", "training.lr", "0.2"], "expected each setting once"),
        (["training.seed", "1", "2"], "--choose training.seed: varied by --seeds"),
    ],
)
def test_choices_are_checked_before_the_first_trial(main, tmp_path, capsys, choice, message):
    assert search(main, "--choose", *choice) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "search").exists()


def test_settings_are_checked_together(main, tmp_path, capsys):
    tuned = ("--trials=1", "--choose", "inputs.finetune_encoder", "true")
    assert search(main, *tuned) == 2
    assert "there is no encoder to train" in capsys.readouterr().err
    assert search(main, *tuned, "--choose", "inputs.encoder", "nowhere") == 2
    assert "no encoder to train" not in capsys.readouterr().err


def test_an_output_that_cannot_be_written_is_found_before_the_first_trial(main, capsys):
    assert main(["toy-tree", "--data-dir=data", "--out=vectors/tiny.txt", *CHOICES]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert "File exists" in said.err


def test_a_trial_that_fails_does_not_end_the_search(main, tmp_path, capsys):
    choices = ("--choose", "training.lr", "1e30", "0.02", "--choose", "training.epochs", "1", "2")
    assert search(main, "--trials=3", *choices) == 0
    assert search(main, "--trials=4", *choices) == 0  # with those of the file
    assert "training.lr: 0.02" in capsys.readouterr().out.rpartition("best of 4 trials")[2]
    trials = json.loads((tmp_path / "search" / "toy-tree.json").read_text())["trials"]
    failed = [each for each in trials if each["settings"]["training.lr"] == 1e30]
    assert len(failed) == 2
    assert all("epoch 1 is nan" in each["failed"] and not each["dev"] for each in failed)


def test_two_searches_side_by_side_keep_the_trials_of_both(main, tmp_path, monkeypatch):
    module, path = sys.modules["search"], tmp_path / "search" / "toy-tree.json"
    trained = module._trained

    def meanwhile(*given):
        monkeypatch.setattr(module, "_trained", trained)
        assert search(main, "--trials=3", *CHOICES) == 0
        return trained(*given)

    monkeypatch.setattr(module, "_trained", meanwhile)
    assert search(main, "--trials=1", *CHOICES) == 0
    trials = json.loads(path.read_text())["trials"]
    assert len({tuple(each["settings"].items()) for each in trials}) == len(trials) == 3


def test_an_interruption_between_epochs_gives_one_line(main, monkeypatch, capsys):
    def interrupted(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["search"], "train", interrupted)
    assert search(main, *CHOICES) == 130
    assert "the same command resumes" in capsys.readouterr().out
