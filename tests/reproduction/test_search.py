"""The search for settings in examples/."""

from __future__ import annotations

import json
import sys

import pytest

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


def test_trials_begin_with_what_is_shipped_and_go_on(main, tmp_path, capsys):
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


def test_mistakes_in_a_line(main, capsys):
    assert search(main, "--trials=1", "--choose", "training.rate", "1") == 2
    assert "unknown training option 'rate'" in capsys.readouterr().err
    assert search(main, "--trials=1", "--choose", "training.lr") == 2
    assert "a value after each setting" in capsys.readouterr().err
    assert search(main, "--trials=1", "--choose", "model.hidden", "4") == 2
    assert "error: --choose: 'hidden' is a part" in capsys.readouterr().err
    assert search(main, "--trials=1", *CHOICES) == 0
    assert search(main, "--trials=1", *CHOICES[:4]) == 2
    assert "a search with other settings" in capsys.readouterr().err
