"""The card of a run's model."""

from __future__ import annotations

import re

import pytest
import yaml

from graphsent.training import RunConfig, TrainingOptions, load_model, train
from graphsent.training.figures import figure


@pytest.mark.parametrize(("model", "test"), [("nbow", True), ("treelstm", False)])
def test_it_says_what_the_run_says_and_names_no_directory(toy_data, tmp_path, model, test):
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
