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
