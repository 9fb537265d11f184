"""`graphsent demo`, on a few trees."""

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
    assert "tree.svg (a picture)\n" in printed
    assert (tmp_path / "tree.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize("name", ["config.yaml", "runs.yaml"])
def test_another_run_is_left_alone(name, tmp_path, capsys):
    (tmp_path / name).write_text("task: sst5\n")
    with pytest.raises(SystemExit, match="2"):
        main(["demo", f"--out={tmp_path}"])
    assert "is a run: expected a demonstration or a new directory" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    "error",
    [
        ImportError("drawing needs matplotlib", name="matplotlib"),
        FileNotFoundError(2, "No such file or directory", "DejaVuSans.ttf"),
    ],
)
def test_without_matplotlib_or_its_fonts_there_is_no_picture(
    small, tmp_path, capsys, monkeypatch, error
):
    def fail(*_arguments, **_options) -> None:
        raise error

    monkeypatch.setattr(demo, "draw_tree", fail)
    assert main(["demo", f"--out={tmp_path}"]) == 0
    captured = capsys.readouterr()
    assert "(the model)\n" in captured.out
    assert "(a picture)" not in captured.out
    assert f"cannot draw the picture: {error}" in captured.err


def test_it_finally_classifies_typed_sentences(capsys, monkeypatch):
    typed = iter(["A wonderful film.", ""])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt: next(typed))
    demo._ask()
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split(maxsplit=1)[0] in {"very", "positive"}
    assert lines[2].endswith("A film of great charm.")
    assert len(lines) == 2 + len(demo._EXAMPLES) + 5
    assert lines[5].split()[-2] == "positive"


def test_without_a_terminal_nothing_is_asked(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt: pytest.fail("asked"))
    demo._ask()
    assert len(capsys.readouterr().out.splitlines()) == 2 + len(demo._EXAMPLES)


def test_end_of_input_ends_it(monkeypatch):
    def end(_prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", end)
    assert demo._typed() == ""
