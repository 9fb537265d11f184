"""The demonstration, on a few trees."""

from __future__ import annotations

import pytest

from graphsent.cli import demo, main
from graphsent.training import RunConfig, TrainingOptions


@pytest.fixture
def small(toy_data, monkeypatch):
    options = {"data_dir": str(toy_data), "training": TrainingOptions(epochs=1)}
    sizes = {"embedding_dim": 4, "hidden": 4}
    configs = {
        "Tree-LSTM": RunConfig("sst5", "treelstm", model_options=sizes, **options),
        "bag of words": RunConfig("sst5", "nbow", **options),
    }
    monkeypatch.setattr(demo, "_configs", lambda seed: configs)


def test_it_compares_models_predicts_and_draws(small, tmp_path, capsys):
    assert main(["demo", f"--out={tmp_path}"]) == 0
    printed = capsys.readouterr().out
    assert "Tree-LSTM " in printed
    assert "bag of words " in printed
    assert "some test sentences (predicted, gold):" in printed
    assert printed.endswith("tree.svg (a picture)\n")
    assert (tmp_path / "tree.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    "error",
    [
        ImportError("drawing needs matplotlib", name="matplotlib"),
        FileNotFoundError(2, "No such file or directory", "DejaVuSans.ttf"),
    ],
)
def test_without_matplotlib_or_its_fonts_it_goes_without_a_picture(
    small, tmp_path, capsys, monkeypatch, error
):
    def fail(*_arguments, **_options) -> None:
        raise error

    monkeypatch.setattr("graphsent.graphs.draw_tree", fail)
    assert main(["demo", f"--out={tmp_path}"]) == 0
    captured = capsys.readouterr()
    assert captured.out.endswith("(the model)\n")
    assert f"there is no picture: {error}" in captured.err
