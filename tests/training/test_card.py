"""The card of a run's model."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from graphsent._files import sha256
from graphsent.training import RunConfig, TrainingOptions, load_model, train
from graphsent.training.figures import figure


@pytest.mark.parametrize(("model", "test"), [("nbow", True), ("treelstm", False)])
def test_the_card_describes_the_run_and_names_no_directory(toy_data, tmp_path, model, test):
    options = TrainingOptions(epochs=2)
    config = RunConfig("sst5", model, data_dir=str(toy_data), training=options)
    results = train(config, tmp_path / "run", test=test, echo=lambda line: None)
    card = load_model(tmp_path / "run").card
    assert card == (tmp_path / "run" / "model" / "README.md").read_text()
    _, metadata, body = card.split("---\n", 2)
    assert yaml.safe_load(metadata)["library_name"] == "graphsent"
    accuracies = [figure("accuracy", results["dev"]["root_accuracy"])]
    accuracies += [figure("accuracy", results["test"]["root_accuracy"])] if test else []
    assert f"| root accuracy | {' | '.join(accuracies)} |\n" in body
    assert results["corpus"]["splits"]["train"]["sha256"] in body
    settings = yaml.safe_load(re.search(r"```yaml\n(.*?)```", body, re.DOTALL)[1])
    assert settings["training"] == results["training"]
    assert settings["model"] == model
    assert str(tmp_path) not in card
    assert str(toy_data) not in card


def trained_on(task: str, tmp_path: Path, **where: Any) -> str:
    """The card of a model, trained on one of two tiny corpora in two files."""
    config = RunConfig(task, "nbow", training=TrainingOptions(epochs=1), **where)
    train(config, tmp_path / "run", echo=lambda line: None)
    return load_model(tmp_path / "run").card


def test_custom_data_have_no_title(tmp_path):
    file = tmp_path / "my.tsv"
    file.write_text("".join(f"{label}\ta {label} {n}\n" for n in range(10) for label in "ab"))
    card = trained_on("own", tmp_path, task_options={"train": str(file)})
    assert "# nbow: custom data\n" in card
    assert f"train: 16 examples `my.tsv`, SHA-256 `{sha256(file)}`\n" in card


@pytest.mark.skipif(sys.platform != "linux", reason="file names are Unicode")
def test_a_file_whose_name_is_not_in_utf8(tmp_path):
    file = tmp_path / os.fsdecode(b"my\xff.tsv")
    file.write_text("".join(f"{label}\ta {label} {n}\n" for n in range(10) for label in "ab"))
    card = trained_on("own", tmp_path, task_options={"train": str(file)})
    assert "train: 16 examples `my\\udcff.tsv`, SHA-256" in card


def test_all_parts_of_a_corpus_are_named(tmp_path):
    (tmp_path / "cr").mkdir()
    for name in ("neg", "pos"):
        text = "".join(f"a {name} film {number}\n" for number in range(20))
        (tmp_path / "cr" / f"custrev.{name}").write_text(text)
    card = trained_on("cr", tmp_path, data_dir=str(tmp_path))
    for name in ("neg", "pos"):
        digest = sha256(tmp_path / "cr" / f"custrev.{name}")
        assert f"`custrev.{name}`, SHA-256 `{digest}`" in card
