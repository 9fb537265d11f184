"""`make packaged-model`, on a few trees."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import torch

import graphsent
from graphsent.models.base.storage import read_model
from graphsent.training import RunDirectory

TOOL = Path(__file__).resolve().parents[2] / "tools" / "packaged_model.py"


def test_it_trains_converts_evaluates_and_writes_a_card(toy_data, tmp_path, monkeypatch, capsys):
    names = runpy.run_path(str(TOOL))
    words = ["good", "bad", "film", "not", "the"]
    np.savez(
        tmp_path / "vectors.npz",
        words=np.array(words),
        vectors=np.eye(5, 210, dtype=np.float16),
        index=np.arange(5, dtype=np.int32),
    )
    arguments = ["--data-dir", str(toy_data), "--vectors", str(tmp_path / "vectors.npz")]
    monkeypatch.setattr(sys, "argv", ["tool", *arguments, "--out", str(tmp_path / "run")])
    monkeypatch.setitem(names["main"].__globals__, "TARGET", tmp_path / "made")
    monkeypatch.setitem(names["main"].__globals__, "EPOCHS", 1)
    names["main"]()
    assert f"wrote {tmp_path / 'made'}" in capsys.readouterr().out
    saved = read_model(tmp_path / "made")
    assert saved.tensors["embedding.weight"].dtype == torch.float16
    assert saved.arguments["embedding_dim"] == names["DIMENSION"] == 200
    model = graphsent.load(tmp_path / "made")
    assert "Terms and limits" in model.card
    assert str(tmp_path) not in model.card
    run = RunDirectory(tmp_path / "run")
    assert read_model(run.model).tensors.keys() == saved.tensors.keys()
