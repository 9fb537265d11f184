"""Whole runs: learning, model selection, outputs and errors."""

from __future__ import annotations

import csv
import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from toy_treebank import ADAM, silent

from graphsent.errors import DataError, ModelError
from graphsent.models import TreeLSTMClassifier, load_pretrained
from graphsent.tasks import get_task
from graphsent.training import (
    RunConfig,
    TrainingError,
    evaluate,
    load_model,
    resume,
    train,
)


def figures(results: dict) -> list[dict]:
    """The history without times."""
    return [
        {name: value for name, value in entry.items() if name != "seconds"}
        for entry in results["history"]
    ]


def test_a_tree_lstm_learns_what_not_does(configure, tmp_path):
    lines: list[str] = []
    config = configure(epochs=30, batch_size=10, **{**ADAM, "lr": 0.03, "embedding_lr": 0.03})
    sizes = {"embedding_dim": 16, "hidden": 16, "dropout": 0.0}
    config = replace(config, model_options=sizes)
    results = train(config, tmp_path / "tree", echo=lines.append)
    losses = [entry["loss"] for entry in results["history"]]
    assert losses[-1] < 0.2 * losses[0]
    assert results["test"]["root_accuracy"] > 0.8
    assert any("train 60, dev 20, test 20" in line for line in lines)
    assert sum(line.startswith("epoch ") for line in lines) == 30


def test_one_seed_gives_the_same_numbers_and_another_seed_others(quietly_trained):
    first, again = quietly_trained("a", seed=3), quietly_trained("b", seed=3)
    assert figures(first) == figures(again)
    assert first["test"] == again["test"]
    assert figures(quietly_trained("c", seed=4)) != figures(first)


def test_training_does_not_depend_on_the_default_device(configure, tmp_path):
    config = configure(epochs=2)
    expected = train(config, tmp_path / "expected", echo=silent)
    torch.set_default_device("meta")
    try:
        train(replace(config, training=replace(config.training, epochs=1)), tmp_path / "run")
        found = resume(tmp_path / "run", epochs=2, echo=silent)
        task, data = config.load_data(splits=["test"])
        judged = evaluate(load_model(tmp_path / "run"), task, data.splits["test"])
    finally:
        torch.set_default_device(None)
    assert figures(found) == figures(expected)
    assert judged == found["test"] == expected["test"]


def test_training_leaves_inference_mode(quietly_trained, tmp_path):
    with torch.inference_mode():
        quietly_trained(epochs=1)
        resumed = resume(tmp_path / "run", epochs=2, echo=silent)
    assert figures(resumed) == figures(quietly_trained("b"))


def test_the_first_of_the_best_epochs_is_saved(configure, quietly_trained, tmp_path):
    results = quietly_trained(epochs=6, lr=0.2)
    accuracies = [entry["dev_root_accuracy"] for entry in results["history"]]
    assert results["best_epoch"] == accuracies.index(max(accuracies)) + 1
    model = load_pretrained(tmp_path / "run" / "model")
    assert model.ordered_classes
    data = get_task("sst5").load(configure().data_dir)
    values = evaluate(model, get_task("sst5"), data.splits["dev"], batch_size=7)
    assert values == pytest.approx(results["dev"], abs=1e-6)
    assert list(values) == ["root_accuracy", "phrase_accuracy"]
    values = evaluate(load_model(tmp_path / "run"), get_task("sst5"), data.splits["test"])
    assert values == results["test"]


def test_results_describe_the_run(quietly_trained, configure, tmp_path):
    results = quietly_trained(epochs=2, seed=5)
    run = tmp_path / "run"
    assert json.loads((run / "results.json").read_text()) == results
    corpus = results["corpus"]["splits"]["train"]
    path = f"{configure().data_dir}/sentiment/train.txt"
    with open(path, "rb") as file:
        assert corpus["sha256"] == hashlib.sha256(file.read()).hexdigest()
    assert (corpus["path"], corpus["examples"]) == (path, 60)
    assert results["finished"]
    assert results["training"]["seed"] == 5
    assert results["model_options"]["leaf"] == "gated"  # an explicit default
    assert results["embedding_parameters"] == 8 * results["vocabulary"]
    assert [entry["epoch"] for entry in results["history"]] == [1, 2]
    with (run / "logs" / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["loss"]) for row in rows] == [each["loss"] for each in results["history"]]
    assert list((run / "logs" / "tensorboard").glob("events*"))
    assert RunConfig.load(run / "config.yaml").to_dict().items() <= results.items()


def test_evaluation_on_test_can_be_skipped(configure, tmp_path):
    assert "test" not in train(configure(epochs=1), tmp_path / "run", test=False, echo=silent)


def test_vectors_set_the_dimension_and_are_described(configure, tmp_path):
    words = np.array(["film", "good", "not"])
    vectors = np.arange(12, dtype=np.float16).reshape(3, 4)
    np.savez(tmp_path / "v.npz", words=words, vectors=vectors, index=np.arange(3, dtype=np.int32))
    config = replace(
        configure(epochs=1, embedding_lr=0.0),
        vectors=(str(tmp_path / "v.npz"),),
        model_options={"hidden": 3},
    )
    lines: list[str] = []
    results = train(config, tmp_path / "run", echo=lines.append)
    assert results["word_vectors"]["coverage_of_train"]["types_found"] == 3
    assert results["word_vectors"]["files"] == [{"name": "v.npz", "dimension": 4}]
    assert any("3 (33.33 %) of 9 words" in line for line in lines)
    model = load_model(tmp_path / "run")
    # Frozen: still the vectors of the file.
    row = model.embedding.weight[model.vocab["good"]]
    torch.testing.assert_close(row, torch.arange(4.0, 8.0))
    wrong = replace(config, model_options={"embedding_dim": 5})
    with pytest.raises(TrainingError, match="vectors have 4 dimensions, but embedding_dim is 5"):
        train(wrong, tmp_path / "wrong", echo=silent)


@pytest.mark.parametrize(
    "change",
    [
        {"batch_size": 10},
        {"optimizer": "adadelta", "lr": 1.0},
        {"lr": 0.01},
        {"embedding_optimizer": "same"},
        {"embedding_optimizer": "lazy_adam"},
        {"batching": "size"},
        {"precision": "bfloat16"},
        {"embedding_lr": 0.01},
        {"weight_decay": 0.1},
        {"max_grad_norm": 0.1},
        {"loss_nodes": "root"},
    ],
    ids=str,
)
def test_every_option_changes_what_is_learned(quietly_trained, change):
    plain = quietly_trained("plain", epochs=1)
    changed = quietly_trained("changed", epochs=1, **change)
    assert changed["history"][0]["loss"] != plain["history"][0]["loss"]


def test_engines_learn_the_same(quietly_trained):
    runs = [quietly_trained(engine, epochs=2, engine=engine) for engine in ("dgl", "levels")]
    losses = [[entry["loss"] for entry in run["history"]] for run in runs]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


@pytest.mark.parametrize(
    ("precision", "expected"), [("float32", "highest"), ("tf32", "high"), ("bfloat16", "highest")]
)
def test_products_have_the_requested_precision(quietly_trained, monkeypatch, precision, expected):
    seen = set()
    original = TreeLSTMClassifier.forward

    def forward(model, batch):
        kind = "training" if model.training else "dev"
        seen.add((kind, torch.get_float32_matmul_precision(), torch.is_autocast_enabled("cpu")))
        return original(model, batch)

    monkeypatch.setattr(TreeLSTMClassifier, "forward", forward)
    before = torch.get_float32_matmul_precision()
    quietly_trained(epochs=1, precision=precision)
    assert seen == {("training", expected, precision == "bfloat16"), ("dev", "highest", False)}
    assert torch.get_float32_matmul_precision() == before


def test_the_progress_of_each_epoch_is_shown_and_removed(configure, tmp_path, capsys):
    train(configure(epochs=2), tmp_path / "run", echo=silent, progress=True)
    bars = capsys.readouterr().err
    assert "epoch 1/2" in bars
    assert "epoch 2/2" in bars
    assert not bars.rpartition("\r")[2].strip()


def test_patience_stops_a_run_without_progress(quietly_trained):
    # Such learning rates change nothing, so the first epoch stays the best.
    results = quietly_trained(epochs=9, lr=1e-12, embedding_lr=0.0, patience=2)
    assert (len(results["history"]), results["best_epoch"]) == (3, 1)


def test_the_number_of_threads_is_set_for_the_run_alone(configure, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("torch.set_num_threads", seen.append)
    train(configure(epochs=1, num_threads=3), tmp_path / "run", echo=silent)
    assert seen == [3, torch.get_num_threads()]


def test_a_loss_that_is_not_finite_ends_the_run(quietly_trained, tmp_path):
    with pytest.raises(TrainingError, match=r"the loss of epoch 1 is (nan|inf): try a lower lr"):
        quietly_trained(lr=1e30, optimizer="adam")
    assert not (tmp_path / "run" / "model").exists()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"task": "sst6"}, DataError, "unknown task 'sst6': expected one of"),
        ({"model": "lstm"}, ModelError, "unknown model 'lstm': expected one of"),
        ({"data_dir": "nowhere"}, DataError, "not a directory: nowhere"),
        ({"vectors": ("none.txt",)}, DataError, "none.txt"),
        ({"model_options": {"hiden": 3}}, TrainingError, "treelstm has no option 'hiden'"),
        ({"task_options": {"neutral": "mask"}}, DataError, "unknown option 'neutral'"),
    ],
)
def test_a_user_error_leaves_no_directory(configure, tmp_path, change, error, message):
    with pytest.raises(error, match=message):
        train(replace(configure(), **change), tmp_path / "run", echo=silent)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("device", ["tpu9", "cuda:99", "meta"])
def test_an_absent_device_is_an_error(quietly_trained, device):
    with pytest.raises(TrainingError, match="device: "):
        quietly_trained(device=device)


def test_a_convolutional_model_learns_from_phrases_of_neutral_sentences(configure, tmp_path):
    config = replace(configure(epochs=1), task="sst2", model="kimcnn", model_options={"maps": 2})
    results = train(config, tmp_path / "phrases", echo=silent)
    assert results["task_options"] == {"neutral": "mask", "neutral_roots": "phrases"}
    assert results["corpus"]["splits"]["train"]["examples"] == 60
    config = replace(config, task_options={"neutral_roots": "drop"})
    results = train(config, tmp_path / "drop", echo=silent)
    assert results["corpus"]["splits"]["train"]["examples"] < 60
    config = replace(config, model="nbow", model_options={}, task_options={})
    results = train(config, tmp_path / "nbow", echo=silent)
    assert results["task_options"] == {"neutral": "mask", "neutral_roots": "drop"}
