"""Runs with an encoder: frozen or fine-tuned, resumed, evaluated, moved."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import status_of
from toy_treebank import silent

pytest.importorskip("transformers", reason="transformers is not installed: make test-contextual")

from tiny_encoders import write_bert

from graphsent.cli import main
from graphsent.errors import ModelError
from graphsent.models import load_pretrained
from graphsent.training import RunConfig, TrainingError, load_model, resume, train, train_runs
from graphsent.training.inputs import InputOptions

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    return write_bert(tmp_path_factory.mktemp("encoders") / "bert")


@pytest.fixture
def bert(made, tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("GRAPHSENT_CACHE", str(tmp_path / "cache"))
    return Path(shutil.copytree(made, tmp_path / "bert"))


@pytest.fixture
def run_config(configure, bert):
    def make(epochs=1, **inputs) -> RunConfig:
        config = configure(epochs=epochs, encoder_lr=0.01)
        options = {"hidden": 6, "dropout": 0.0}
        if inputs.pop("with_words", False):
            options["embedding_dim"] = 5
        given = InputOptions(encoder=str(bert), **inputs)
        return replace(config, model_options=options, inputs=given)

    return make


def losses(results) -> list[float]:
    return [entry["loss"] for entry in results["history"]]


def test_frozen_features_are_computed_once(run_config, tmp_path):
    lines: list[str] = []
    results = train(run_config(), tmp_path / "run", echo=lines.append)
    assert any(line.startswith("features of ") for line in lines)
    assert results["encoder_parameters"] == results["embedding_parameters"] == 0
    assert results["model_options"]["embedding_dim"] == 0
    lines.clear()
    again = train(run_config(), tmp_path / "again", echo=lines.append)
    assert not any(line.startswith("features of ") for line in lines)
    assert losses(again) == losses(results)
    assert again["test"] == results["test"]


@pytest.mark.parametrize("finetune_encoder", [False, True])
@pytest.mark.parametrize("other", [{}, {"with_words": True}, {"projection": 4}], ids=str)
def test_runs_are_resumed(finetune_encoder, other, run_config, tmp_path, bert):
    inputs = {"finetune_encoder": finetune_encoder, **other}
    whole = train(run_config(2, **inputs), tmp_path / "whole", echo=silent)
    train(run_config(1, **inputs), tmp_path / "run", echo=silent)
    moved = bert.rename(tmp_path / "moved")
    with pytest.raises(
        TrainingError, match=r"is not in .*bert: pass its directory \(--encoder DIR"
    ):
        resume(tmp_path / "run", epochs=2, echo=silent)
    resumed = resume(tmp_path / "run", epochs=2, encoder=moved, echo=silent)
    assert losses(resumed) == losses(whole)
    assert resumed["test"] == whole["test"]
    config = RunConfig.load(tmp_path / "run" / "config.yaml")
    assert config.inputs.encoder == str(moved)


@pytest.mark.parametrize("finetune_encoder", [False, True])
def test_streamed_runs_equal_others_and_are_resumed(finetune_encoder, run_config, tmp_path):
    def config(epochs, *, stream):
        found = run_config(epochs, finetune_encoder=finetune_encoder)
        return replace(found, stream=stream)

    whole = train(config(2, stream=False), tmp_path / "whole", echo=silent)
    train(config(1, stream=True), tmp_path / "run", echo=silent)
    resumed = resume(tmp_path / "run", epochs=2, echo=silent)
    assert losses(resumed) == losses(whole)
    assert resumed["test"] == whole["test"]


def test_a_tuned_encoder_is_saved_whole(run_config, tmp_path, bert):
    results = train(run_config(finetune_encoder=True), tmp_path / "run", echo=silent)
    assert results["encoder_parameters"] > 0
    start = torch.load(tmp_path / "run" / "last.ckpt", weights_only=True)["state_dict"]
    shutil.rmtree(bert)
    model = load_model(tmp_path / "run")
    (key,) = (name for name in start if name.endswith("word_embeddings.weight"))
    found = model.embedding.contextual.encoder.model.embeddings.word_embeddings.weight
    assert torch.equal(found, start[key])
    directory = tmp_path / "run" / "model"
    assert (directory / "encoder" / "tokenizer.json").is_file()
    tree = ["(S (A the) (B film))"]
    expected = model.predict(tree)[0].probabilities
    model.save_pretrained(directory)  # over the run itself
    assert load_pretrained(directory).predict(tree)[0].probabilities == pytest.approx(expected)
    with pytest.raises(ModelError, match="its encoder was fine-tuned and is saved with it"):
        load_pretrained(directory, encoder=directory / "encoder")
    config = directory / "encoder" / "config.json"
    config.write_text(config.read_text().replace("1e-12", "1e-2"))
    with pytest.raises(ModelError, match=r"encoder: damaged or changed since it was saved"):
        load_pretrained(directory)


def test_a_frozen_encoder_is_located(run_config, tmp_path, bert, capsys, monkeypatch):
    train(run_config(), tmp_path / "run", echo=silent)
    run, trees = str(tmp_path / "run"), tmp_path / "trees.txt"
    trees.write_text("(S (A the) (B film))\n", encoding="utf-8")

    def predict(*flags: str) -> tuple[int, str, str]:
        status = main(["predict", run, str(trees), *flags])
        return (status, *capsys.readouterr())

    assert main(["evaluate", run]) == 0
    capsys.readouterr()
    status, before, _ = predict()
    assert status == 0
    moved = bert.rename(tmp_path / "moved")
    status, _, error = predict()
    assert status == 2
    assert f"the encoder of the model is not in {bert}: pass its directory" in error
    assert predict(f"--encoder={moved}") == (0, before, "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert predict(f"--encoder=~/{moved.name}") == (0, before, "")
    assert main(["evaluate", run, f"--encoder={moved}"]) == 0
    capsys.readouterr()
    other = write_bert(tmp_path / "other", seed=1)
    status, _, error = predict(f"--encoder={other}")
    assert status == 2
    assert "is not that of the model: its SHA-256 is" in error
    plain = json.loads((tmp_path / "run" / "model" / "config.json").read_text())
    assert plain["inputs"]["contextual"]["directory"] == str(bert)


def test_raw_text_from_the_command_line(bert, toy_data, tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("The film isn't good (yet).\n", encoding="utf-8")
    for model, flags in (
        ("kimcnn", ["--maps=3", "--finetune-encoder", "--embedding-dim=4"]),
        ("dcnn", ["--projection=6", "--lower", "--encoder-pooling=first", "--k-top=2"]),
        ("nbow", []),
    ):
        run = str(tmp_path / model)
        arguments = ["--task=sst5", f"--data-dir={toy_data}", "--epochs=1", "--num-threads=1"]
        arguments += [f"--model={model}", f"--encoder={bert}", *flags, f"--out={run}"]
        assert main(["train", *arguments]) == 0
        capsys.readouterr()
        assert main(["predict", run, str(text)]) == 0
        assert capsys.readouterr().out.endswith("The film is n't good ( yet ) .\n")


@pytest.mark.parametrize("with_words", [False, True])
def test_words_are_unknown_only_to_a_table(run_config, tmp_path, capsys, with_words):
    train(run_config(with_words=with_words), tmp_path / "run", echo=silent)
    tree = "(S (A unheard) (B of))"
    (tmp_path / "trees.txt").write_text(tree, encoding="utf-8")
    assert main(["predict", str(tmp_path / "run"), tree]) == 0
    assert ("unknown words: unheard of" in capsys.readouterr().out) == with_words
    assert main(["predict", str(tmp_path / "run"), str(tmp_path / "trees.txt")]) == 0
    assert ("2 of 2 words are unknown" in capsys.readouterr().err) == with_words


@pytest.mark.parametrize("finetune_encoder", [False, True])
@pytest.mark.parametrize("with_words", [False, True])
def test_models_in_other_precisions(run_config, tmp_path, finetune_encoder, with_words):
    config = run_config(finetune_encoder=finetune_encoder, with_words=with_words)
    train(config, tmp_path / "run", echo=silent)
    model, tree = load_model(tmp_path / "run"), "(S (A the) (B film))"
    expected = model.predict([tree])[0].probabilities
    for dtype, tolerance in ((torch.float64, 1e-6), (torch.bfloat16, 0.05)):
        model.to(dtype).save_pretrained(tmp_path / "other")
        for each in (model, load_pretrained(tmp_path / "other")):
            found = each.predict([tree])[0].probabilities
            np.testing.assert_allclose(found, expected, atol=tolerance)
            assert {parameter.dtype for parameter in each.parameters()} == {dtype}


def test_word_vectors_beside_an_encoder_from_the_command_line(bert, toy_data, tmp_path):
    flags = ["train", "--task=sst5", f"--data-dir={toy_data}", "--model=nbow", "--epochs=1"]
    encoder = f"--encoder={bert}"
    assert main([*flags, encoder, "--embedding-dim=5", f"--out={tmp_path}/a"]) == 0
    config = f"--config={tmp_path}/a/config.yaml"
    assert main(["train", config, "--seed=1", f"--out={tmp_path}/b"]) == 0
    assert main(["train", config, encoder, f"--out={tmp_path}/c"]) == 0
    dims = [load_model(tmp_path / name).inputs.word_dim for name in "abc"]
    assert dims == [5, 5, 0]  # --encoder alone leaves the dimension in --config out
    results = json.loads((tmp_path / "a" / "results.json").read_text())
    assert results["embedding_parameters"] == 5 * results["vocabulary"]


def test_user_errors_are_found_before_anything_is_written(toy_data, tmp_path, capsys):
    run = tmp_path / "run"
    arguments = ["train", "--task=sst5", f"--data-dir={toy_data}", f"--out={run}"]
    for flags, message in (
        ([f"--encoder={tmp_path / 'absent'}"], "is not a directory"),
        ([f"--encoder={tmp_path}"], "is not a Hugging Face encoder: it has no config.json"),
        (["--finetune-encoder"], "there is no encoder to train"),
        (["--encoder-pooling=max"], "invalid choice: 'max'"),
        ([f"--encoder={tmp_path}", "--encoder-lr=0"], "encoder_lr: expected a positive number"),
    ):
        status = status_of([*arguments, *flags])
        assert status == 2
        assert message in capsys.readouterr().err
        assert not run.exists()


def test_a_changed_encoder_is_no_longer_that_of_the_run(run_config, tmp_path, bert):
    train(run_config(1), tmp_path / "run", echo=silent)
    shutil.rmtree(bert)
    write_bert(bert, seed=1)
    lines: list[str] = []
    with pytest.raises(TrainingError, match="the encoder changed since this run began"):
        resume(tmp_path / "run", epochs=2, echo=lines.append)
    assert not any(line.startswith("features of ") for line in lines)  # which may take hours


def test_an_encoder_that_changed_between_runs(run_config, tmp_path, bert):
    train_runs(run_config(), tmp_path / "runs", seeds=[0], echo=silent)
    shutil.rmtree(bert)
    write_bert(bert, seed=1)
    expected = r"bert has changed between seed-0 and seed-1, .*: start new runs"
    with pytest.raises(TrainingError, match=expected):
        train_runs(run_config(), tmp_path / "runs", seeds=[0, 1], echo=silent)
    assert not (tmp_path / "runs" / "seed-1").exists()
