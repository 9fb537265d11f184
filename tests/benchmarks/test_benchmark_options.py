"""Options of the benchmarks: numbers that measure nothing are errors before anything is run."""

from __future__ import annotations

import importlib

import pytest


@pytest.mark.parametrize(
    ("script", "option"),
    [
        ("circuits", "--rounds"),
        ("gpu", "--batch-sizes"),
        ("gpu", "--rounds"),
        ("own_cells", "--rounds"),
        ("propagation", "--rounds"),
        ("reading", "--rounds"),
        ("sequences", "--rounds"),
        ("sequences", "--threads"),
        ("streaming", "--turns"),
        ("streaming", "--slices"),
    ],
)
def test_numbers_are_at_least_one(script, option, capsys):
    with pytest.raises(SystemExit) as caught:
        importlib.import_module(script).main([f"{option}=0"])
    assert caught.value.code == 2
    message = f"{option}: expected an integer of at least 1, got 0\n"
    assert capsys.readouterr().err.endswith(message)


def test_unknown_models_are_named(capsys):
    with pytest.raises(SystemExit):
        importlib.import_module("gpu").main(["--models=treelstm,treelsmt"])
    assert "--models: unknown 'treelsmt': expected some of treelstm, " in capsys.readouterr().err
