"""The circuits benchmark: both models agree, and the measurements are printed."""

from __future__ import annotations

import importlib

import pytest


def test_both_models_agree_and_ratios_are_printed(tmp_path, capsys):
    pytest.importorskip("torch_geometric", reason="needs torch_geometric")
    file = tmp_path / "table.md"
    assert importlib.import_module("circuits").main(["--quick", f"--markdown={file}"]) == 0
    text = capsys.readouterr().out
    assert file.read_text() == text
    ratios = [float(line.split("|")[-2]) for line in text.splitlines()[2:]]
    assert len(ratios) == 2
    assert all(ratio > 0 for ratio in ratios)
