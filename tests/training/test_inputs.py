"""Runs with rare words, lower case and projection: messages and saved models."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from toy_treebank import silent

from graphsent.errors import DataError
from graphsent.models import Inputs, load_pretrained
from graphsent.training import RunConfig, TrainingError, evaluate, resume, train
from graphsent.training.inputs import InputOptions


def test_the_vector_of_rare_words_is_learned(configure, tmp_path):
    lines: list[str] = []
    config = replace(configure(epochs=1), inputs=InputOptions(min_count=25))
    results = train(config, tmp_path / "run", echo=lines.append)
    assert results["inputs"]["min_count"] == 25
    rare = next(line for line in lines if line.startswith("<unk>: "))
    assert not rare.startswith("<unk>: 0 ")
    fixed = replace(config, training=replace(config.training, embedding_lr=0.0))
    train(fixed, tmp_path / "fixed", echo=silent)
    learnt, start = (load_pretrained(tmp_path / name / "model") for name in ("run", "fixed"))
    assert len(learnt.vocab) == len(start.vocab)
    assert not torch.equal(learnt.embedding.weight[0], start.embedding.weight[0])


def test_a_run_with_all_of_it_can_be_resumed(configure, tmp_path):
    config = replace(configure(epochs=2), inputs=InputOptions(2, lower=True, projection=5))
    whole = train(config, tmp_path / "whole", echo=silent)
    train(
        replace(config, training=replace(config.training, epochs=1)),
        tmp_path / "run",
        test=False,
        echo=silent,
    )
    saved = RunConfig.load(tmp_path / "run" / "config.yaml")
    assert saved.inputs == config.inputs
    resumed = resume(tmp_path / "run", epochs=2, echo=silent)
    assert resumed["history"][1]["loss"] == whole["history"][1]["loss"]
    assert resumed["test"] == whole["test"]

    model = load_pretrained(tmp_path / "run" / "model")
    assert model.inputs == Inputs(saved.model_options["embedding_dim"], projected=True)
    assert model.embedding.embedding_dim == model.config["embedding_dim"] == 5
    task, data = saved.load_data()
    assert evaluate(model, task, data.splits["test"]) == pytest.approx(whole["test"])
    trees = ["(S (A a) (B good))", "(S (A A) (B GOOD))"]
    lower, upper = (each.probabilities for each in model.predict(trees))
    assert (lower == upper).all()


def test_vectors_of_files_are_projected(configure, tmp_path):
    vectors = tmp_path / "v.txt"
    vectors.write_text("good 1 2 3 4 5 6 7\nbad 7 6 5 4 3 2 1\n", encoding="utf-8")
    config = configure(epochs=1, embedding_lr=0.0)
    config = replace(
        config,
        model_options={"hidden": 4},
        vectors=(str(vectors),),
        inputs=InputOptions(1, projection=5),
    )
    results = train(config, tmp_path / "run", echo=silent)
    assert results["model_options"]["embedding_dim"] == 7
    model = load_pretrained(tmp_path / "run" / "model")
    assert model.embedding.weight[model.vocab["good"]].tolist() == [1, 2, 3, 4, 5, 6, 7]
    again = RunConfig.load(tmp_path / "run" / "config.yaml")
    assert train(again, tmp_path / "again", echo=silent)["test"] == results["test"]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"min_count": 0}, "min_count: expected at least 1, got 0"),
        ({"projection": -1}, "projection: expected a non-negative number, got -1"),
        ({"projection": 4.5}, "projection: expected an integer, got 4.5"),
        ({"lower": "no"}, "lower: expected true or false, got 'no'"),
        ({"encoder_pooling": "max"}, "encoder_pooling: expected one of mean, first, got 'max'"),
    ],
)
def test_invalid_options(inputs, message):
    with pytest.raises(TrainingError, match=message):
        InputOptions(**inputs)
    with pytest.raises(TrainingError, match=message):
        RunConfig.from_dict({"task": "sst5", "model": "nbow", "inputs": inputs})


def test_an_unknown_option_is_named():
    values = {"task": "sst5", "model": "nbow", "inputs": {"min_cuont": 2}}
    with pytest.raises(DataError, match=r"min_cuont.*did you mean 'min_count'"):
        RunConfig.from_dict(values)
