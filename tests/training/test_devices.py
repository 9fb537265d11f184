"""Training in several processes, by the command and by launchers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from toy_treebank import TINY, silent

from graphsent.cli import main
from graphsent.training import RunConfig, TrainingError, TrainingOptions, train, train_runs

COMMAND = [sys.executable, "-W", "ignore", "-m", "graphsent", "train"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
# The variables of srun, which starts one process on each of two nodes.
SLURM = {
    "SLURM_JOB_ID": "1",
    "SLURM_JOB_NAME": "graphsent",
    "SLURM_NNODES": "2",
    "SLURM_NODELIST": "localhost",
    "SLURM_NTASKS": "2",
    "SLURM_NTASKS_PER_NODE": "1",
    "SLURM_LOCALID": "0",
}
pytestmark = pytest.mark.skipif(os.name == "nt", reason="gloo needs what Windows lacks")


def flags(data: Path, batch_size: int) -> list[str]:
    return [
        "--task=sst5",
        f"--data-dir={data}",
        f"--batch-size={batch_size}",
        "--epochs=2",
        "--dropout=0",
        "--test",
        *TINY,
    ]


def run(command: list[str], **variables: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=environment, text=True, **pipes)


def printed(process: subprocess.Popen[str]) -> str:
    out, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    return out


def check_equal(run: Path, expected: Path) -> None:
    """Up to rounding, two processes equal one with batches of twice the size."""
    one, two = (json.loads((each / "results.json").read_text()) for each in (expected, run))
    for ours, theirs in zip(one["history"], two["history"], strict=True):
        assert {**theirs, "seconds": 0} == pytest.approx({**ours, "seconds": 0}, rel=1e-3)
    assert two["finished"]
    assert two["test"] == pytest.approx(one["test"])


MODULE = """
import torch
from graphsent.models import TreeLSTMClassifier

class Spare(TreeLSTMClassifier):
    def __init__(self, vocab, num_classes, embedding_dim, hidden, **options):
        super().__init__(vocab, num_classes, embedding_dim, hidden, **options)
        self.spare = torch.nn.Linear(2, 2)  # which no step uses
"""


@pytest.fixture(scope="module")
def one(toy_data, tmp_path_factory) -> Path:
    """A run of one process."""
    out = tmp_path_factory.mktemp("one") / "run"
    assert main(["train", *flags(toy_data, 10), f"--out={out}"]) == 0
    return out


@pytest.mark.slow
def test_two_devices_are_one_with_the_doubled_batch(toy_data, tmp_path, monkeypatch):
    """A custom model with a part that no step uses."""
    (tmp_path / "own_model_of_two.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    own = "--model=own_model_of_two:Spare"
    assert main(["train", *flags(toy_data, 10), own, "--out=one"]) == 0
    process = run([*COMMAND, *flags(toy_data, 5), own, "--devices=2", "--out=two"])
    out, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert errors == ""
    assert out.count("2 processes, 10 sentences per step") == 1
    assert out.count("epoch 2/2") == out.count("wrote ") == 1  # only one of them prints
    check_equal(tmp_path / "two", tmp_path / "one")


@pytest.mark.slow
def test_a_run_of_two_processes_is_resumed(toy_data, one, tmp_path):
    out = tmp_path / "run"
    given = [flag for flag in flags(toy_data, 5) if flag not in ("--epochs=2", "--test")]
    printed(run([*COMMAND, *given, "--epochs=1", "--devices=2", f"--out={out}"]))
    printed(run([*COMMAND, f"--resume={out}", "--epochs=2", "--test"]))
    check_equal(out, one)


@pytest.mark.slow
def test_processes_of_torchrun(toy_data, one, tmp_path):
    out = tmp_path / "run"
    module = ["-m", *COMMAND[4:], *flags(toy_data, 5), "--devices=2", f"--out={out}"]
    assert printed(run([*TORCHRUN, *module])).count("epoch 2/2") == 1
    check_equal(out, one)


@pytest.mark.slow
def test_nodes_of_slurm(toy_data, one, tmp_path):
    out = tmp_path / "run"
    command = [*COMMAND, *flags(toy_data, 5), "--nodes=2", f"--out={out}"]
    tasks = [
        run(command, **SLURM, SLURM_PROCID=rank, SLURM_NODEID=rank, MASTER_PORT="29517")
        for rank in "01"
    ]
    first, second = map(printed, tasks)
    assert first.count("epoch 2/2") == 1
    assert second == ""
    check_equal(out, one)


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ({"devices": 0}, "devices: expected at least 1, got 0"),
        ({"nodes": 2}, "nodes: expected a launcher that starts 1 of this command on each of 2"),
    ],
)
def test_impossible_numbers_of_processes_are_rejected(configure, tmp_path, training, message):
    with pytest.raises(TrainingError, match=message):
        train(configure(**training), tmp_path / "run", echo=silent)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"SLURM_NTASKS": "1", "SLURM_NTASKS_PER_NODE": ""}, "2 processes .* launcher started 1;"),
        ({"SLURM_NTASKS_PER_NODE": "3"}, "`--ntasks-per-node=3` does not match"),
        ({"SLURM_NTASKS_PER_NODE": ""}, "`--ntasks=2` in your SLURM bash script"),
        ({"TORCHELASTIC_RUN_ID": "1", "WORLD_SIZE": "4"}, "does not match the world size"),
    ],
)
def test_launchers_of_another_number_of_processes_are_rejected(
    configure, tmp_path, monkeypatch, variables, message
):
    for name, value in {**SLURM, "SLURM_NNODES": "1", **variables}.items():
        monkeypatch.setenv(name, value)
        if not value:
            monkeypatch.delenv(name)
    with pytest.raises(TrainingError, match=f"^devices: .*{message}"):
        train(configure(devices=2), tmp_path / "run", echo=silent)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_single_process_is_any_task_of_slurm(toy_data, tmp_path):
    """It trains by itself and logs, although it is the second of two tasks."""
    variables = {**SLURM, "SLURM_PROCID": "1", "SLURM_LOCALID": "1", "SLURM_NODEID": "0"}
    del variables["SLURM_NTASKS_PER_NODE"]
    command = [*COMMAND, *flags(toy_data, 25), "--epochs=1", f"--out={tmp_path / 'run'}"]
    printed(run(command, **variables))
    assert any((tmp_path / "run" / "logs" / "tensorboard").iterdir())


def test_more_processes_than_examples_in_dev_are_rejected(tmp_path):
    train_file, dev_file = tmp_path / "train.tsv", tmp_path / "dev.tsv"
    train_file.write_text("a\tgood film\nb\tbad film\n" * 5)
    dev_file.write_text("a\tnice film\n")
    files = {"train": str(train_file), "dev": str(dev_file), "split": 0}
    config = RunConfig("own", "nbow", task_options=files, training=TrainingOptions(devices=2))
    with pytest.raises(TrainingError, match=r"devices: expected at most .* examples, 1, got 2"):
        train(config, tmp_path / "run", echo=silent)
    assert not (tmp_path / "run").exists()


def test_several_runs_are_for_one_process_each(configure, tmp_path):
    with pytest.raises(TrainingError, match="several runs are trained one by one"):
        train_runs(configure(devices=2), tmp_path / "runs", seeds=(0, 1), echo=silent)
