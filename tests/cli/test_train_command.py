"""`graphsent train` and `graphsent evaluate`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from toy_treebank import TINY

from graphsent.cli import main
from graphsent.cli import train as train_command
from graphsent.cli.arguments.train import add_arguments
from graphsent.cli.usage import CommandParser
from graphsent.models import MODELS
from graphsent.tasks import TASKS
from graphsent.training import RunConfig


def test_train_prints_corpus_and_results(toy_data, tmp_path, capsys):
    out = tmp_path / "run"
    arguments = ["train", "--task=sst2", f"--data-dir={toy_data}", "--epochs=1", f"--out={out}"]
    assert main([*arguments, "--neutral=class", "--test", *TINY]) == 0
    captured = capsys.readouterr()
    first, model, epoch, best, test, wrote = captured.out.splitlines()
    assert f"from {toy_data}/sentiment" in first
    assert "treelstm" in model
    assert "parameters" in model
    assert epoch.startswith("epoch 1/1: loss ")
    assert best.startswith("best epoch: 1, dev root accuracy ")
    assert test.startswith("test: root accuracy ")
    assert str(out) in wrote
    assert captured.err == ""
    options = json.loads((out / "results.json").read_text())["task_options"]
    assert options == {"neutral": "class", "neutral_roots": "drop"}


def test_flags_override_a_configuration(trained, tmp_path, capsys):
    config = f"--config={trained / 'config.yaml'}"
    out = tmp_path / "run"
    arguments = ["train", config, "--epochs=1", "--dropout=0", "--embedding-lr=0", f"--out={out}"]
    assert main(arguments) == 0
    assert "test:" not in capsys.readouterr().out
    before, after = RunConfig.load(trained / "config.yaml"), RunConfig.load(out / "config.yaml")
    assert after.model_options == {**before.model_options, "dropout": 0.0}
    changed = {**before.training.to_dict(), "epochs": 1, "embedding_lr": 0.0}
    assert after.training.to_dict() == changed
    other = tmp_path / "other"
    assert main(["train", config, "--model=nbow", "--epochs=1", f"--out={other}"]) == 0
    after = RunConfig.load(other / "config.yaml")
    assert (before.tree_kind, after.tree_kind) == ("constituency", "words")
    assert after.model_options["embedding_dim"] == 48


def test_a_run_is_not_replaced_unless_asked(trained, toy_data, tmp_path, capsys):
    arguments = ["train", "--task=sst5", f"--data-dir={toy_data}", "--epochs=1", *TINY]
    assert main([*arguments, f"--out={trained}"]) == 2
    assert "holds a run: continue it (--resume" in capsys.readouterr().err
    for _ in range(2):
        assert main([*arguments, f"--out={tmp_path}/run", "--overwrite"]) == 0


def test_a_configuration_is_copied_before_training(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        main(["train", "--config=kimcnn-trec", "--out=run"])
    assert "graphsent config copy kimcnn-trec kimcnn-trec.yaml" in capsys.readouterr().err
    assert main(["train", "--config=kimcnn-trek", "--out=run"]) == 2
    assert "kimcnn-trek: cannot read the configuration" in capsys.readouterr().err


def test_a_complete_run_resumes_only_with_more_epochs(toy_data, tmp_path, capsys):
    arguments = ["train", "--task=sst5", f"--data-dir={toy_data}", "--epochs=1", *TINY]
    assert main([*arguments, f"--out={tmp_path}/run"]) == 0
    assert main(["train", f"--resume={tmp_path}/run"]) == 2
    error = capsys.readouterr().err
    assert "this run is complete" in error
    assert "evaluate" not in error
    assert main(["train", f"--resume={tmp_path}/run", "--test"]) == 2
    assert f"graphsent evaluate {tmp_path}/run --split test\n" in capsys.readouterr().err
    assert main(["train", f"--resume={tmp_path}/run", "--epochs=2", "--test"]) == 0
    printed = capsys.readouterr().out
    assert "epoch 2/2: " in printed
    assert "test: root accuracy " in printed


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_says_how_to_resume(toy_data, tmp_path):
    out = tmp_path / "run"
    command = [sys.executable, "-u", "-m", "graphsent", "train", "--task=sst5", *TINY]
    with subprocess.Popen(
        [*command, f"--data-dir={toy_data}", f"--out={out}", "--epochs=100000", "--test"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for line in process.stdout:
            if line.startswith("epoch 1/"):
                break
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"continue with: graphsent train --resume {out} --test\n" in err
    assert "Traceback" not in err
    assert main(["predict", str(out), "--format=trees", os.devnull]) == 0


def test_evaluate_reproduces_the_metrics_of_the_run(trained, tmp_path, capsys):
    results = json.loads((trained / "results.json").read_text())
    assert main(["evaluate", str(trained), f"--json={tmp_path / 'f.json'}"]) == 0
    written = json.loads((tmp_path / "f.json").read_text())
    assert written["metrics"] == results["test"]
    assert written["corpus"]["splits"]["test"] == results["corpus"]["splits"]["test"]
    percent = f"{100 * results['test']['root_accuracy']:.2f} %"
    assert f"test: root accuracy {percent}" in capsys.readouterr().out
    assert main(["evaluate", str(trained), "--split=dev"]) == 0
    percent = f"{100 * results['dev']['root_accuracy']:.2f} %"
    assert f"dev: root accuracy {percent}" in capsys.readouterr().out


def test_evaluate_gives_the_same_metrics_on_any_engine(trained, tmp_path, capsys):
    for engine in ("dgl", "levels"):
        assert main(["evaluate", str(trained), f"--engine={engine}"]) == 0
    first, second = [line for line in capsys.readouterr().out.splitlines() if "test:" in line]
    assert first == second
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", str(trained), "--engine=fast"])
    assert "invalid choice: 'fast'" in capsys.readouterr().err


def test_evaluate_on_other_data(trained, tmp_path, capsys):
    corpus = tmp_path / "sentiment"
    corpus.mkdir()
    for split in ("train", "dev", "test"):
        (corpus / f"{split}.txt").write_text("(3 (2 a) (3 film))\n")
    assert main(["evaluate", str(trained), f"--data-dir={tmp_path}"]) == 0
    assert "(test 1)" in capsys.readouterr().out


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("task", TASKS)
def test_options_of_models_and_tasks_can_be_combined(model, task):
    arguments = [f"--task={task}", f"--model={model}"]
    parser = CommandParser("train", "", arguments)
    add_arguments(parser)
    assert parser.parse_args(arguments).task == task


def test_an_option_of_both_model_and_task_goes_to_the_task():
    config = train_command._config({"task": "mr", "model": "dcnn", "fold": 3, "k_top": 5})
    assert config.task_options == {"fold": 3}
    assert config.model_options == {"k_top": 5}
