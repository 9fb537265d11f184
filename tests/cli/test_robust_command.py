"""The command under typos, interruptions and malicious input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import status_of
from toy_treebank import TINY

from graphsent.cli import main, statuses
from graphsent.cli.train import TrainingOptions
from graphsent.errors import DataError
from graphsent.training.errors import TrainingFailed

COMMAND = [sys.executable, "-m", "graphsent"]
posix = pytest.mark.skipif(os.name == "nt", reason="signals and limits of resources")


def outcome(capsys, *arguments: str) -> tuple[int, str]:
    """Exit status and standard error."""
    status = status_of(arguments)
    return status, capsys.readouterr().err


def test_help_says_what_the_statuses_mean(capsys):
    assert outcome(capsys)[0] == statuses.USAGE
    with pytest.raises(SystemExit):
        main(["--help"])
    assert statuses.EXPLANATION in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (DataError("no data"), 2, "no data"),
        (TrainingFailed("the loss is nan"), 1, "the loss is nan"),
        (OSError(28, "No space left on device", "runs/a"), 1, "runs/a: No space left on device"),
        (OSError(28, "No space left on device"), 1, "input or output: No space left on device"),
        (MemoryError(), 1, "not enough memory"),
        (
            RuntimeError("[enforce fail] can't allocate memory: 9\nx"),
            1,
            "not enough memory: [enforce fail]",
        ),
        (KeyboardInterrupt(), 130, "interrupted"),
        (UnicodeEncodeError("ascii", "é", 0, 1, "no"), 1, "ascii cannot write 'é'"),
    ],
)
def test_every_error_has_its_status(capsys, monkeypatch, error, status, line):
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("graphsent.cli._run", fail)
    found, err = outcome(capsys, "train")
    assert found == status
    assert err.startswith(f"graphsent train: {line}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "a film", "--out="],
        ["encode", "a film", "--out", ""],
        ["train", "--train=a.tsv", "--dev", "", "--out=run"],
        ["train", "--train=a.tsv", "--vectors", "v.txt", "", "--out=run"],
        ["train", "--resume="],
        ["evaluate", "run", "--json="],
    ],
)
def test_an_empty_value_is_refused(capsys, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert ": expected a value, got an empty one" in capsys.readouterr().err


def test_a_bug_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr("graphsent.cli._run", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["train"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predct"], "did you mean 'predict'?"),
        (["train", "--task=sst5", "--out=a", "--epoch=1"], "did you mean '--epochs'?"),
        (["train", "--task=sst5", "--out=a", "--hiden", "3"], "did you mean '--hidden'?"),
        (["draw", "a.txt", "--directoin", "sibling"], "did you mean '--direction'?"),
        (["train", "--task=sst6", "--out=a"], "did you mean 'sst5'?"),
        (["train", "--task=sst5", "--model=treelsm", "--out=a"], "did you mean 'treelstm'?"),
        (["train", "--task=sst5", "--out=a", "--batching=shufled"], "did you mean 'shuffled'?"),
        (["train", "--task=sst5", "--out=a", "--cell=nry"], "did you mean 'nary'?"),
        (
            ["train", "--task=sst5", "--out=a", "--epochs=x"],
            "--epochs: expected an integer, got 'x'",
        ),
        (["train", "--task=sst5", "--average", ""], "--average: expected a finite number, got ''"),
        (["train", "my.tsv"], "unrecognized arguments: my.tsv; did you mean --train my.tsv?"),
        (["debug-data", "my.csv"], "unrecognized arguments: my.csv; did you mean --train my.csv?"),
        (["train", "my.yaml"], "did you mean --config my.yaml?"),
        (["train", "1.5"], "unrecognized arguments: 1.5 (see"),
        (["train", "--task=sst5", "--out=a", "--lr=nan"], "--lr: expected a finite number"),
        (["train", "--task=sst5", "--out=a", "--hidden=0"], "hidden: expected at least 1, got 0"),
        (["train", "--task=sst5", "--out=a", "--hidden=1000000000000"], "hidden: expected at most"),
        (
            ["train", "--task=sst5", "--out=a", "--device=cuda:77"],
            "device: cuda:77 is not available",
        ),
        (["train", "--task=sst5", "--out=a", "--epochs=-1"], "epochs: expected at least 1, got -1"),
        (["train", "--task=sst5", "--out=a", "--num-threads=99999999999"], "at most 1024"),
        (["train", "--task=sst5", "--out=a\udcff"], "expected a valid UTF-8 name"),
        (["train", "--task=sst5", "--out=" + "a" * 300], "File name too long"),
        (["evaluate", "none" * 100], "is not a run"),
        (["evaluate", ".", "--device=cuda:77"], "--device: cuda:77 is not available; torch sees"),
        (["predict", "A film.", "--device=cuda:77"], "--device: cuda:77 is not available"),
        (["encode", "A film.", "--device=tpu"], "--device: expected cpu, cuda or cuda:N, got"),
        (["predict", "none" * 100], "no such run, model or file"),
        (["draw", "--tree=(A a)", "--out=."], "--out .: expected a file, found a directory"),
    ],
)
def test_misspelt_names_get_a_suggestion(
    capsys, monkeypatch, toy_data, tmp_path, arguments, message
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHSENT_DATA", str(toy_data))
    status, err = outcome(capsys, *arguments)
    assert status == 2
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_its_option_may_have_any_name(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("my labels").write_text("pos\ta film\n")
    _, err = outcome(capsys, "train", "my labels")
    assert "unrecognized arguments: my labels; did you mean --train 'my labels'?" in err


@pytest.mark.parametrize(
    "text",
    [
        "data_dir: 3",
        "parses_dir: [1]",
        "vectors: [3]",
        "tree_kind: 3",
        "training: {lr: .nan}",
        "training: {lr: .inf}",
        "training: {epochs: 1.5}",
        "training: {optimizr: adam}",
        "model_options: {embedding_dim: x}",
        "model_options: {embedding_dim: 1000000000000}",
        "model_options: {dropout: .nan}",
        "model: dcnn\nmodel_options: {widths: 3}",
        "model: dcnn\nmodel_options: {widths: [a, 3]}",
        "1: 2",
    ],
)
def test_configurations_with_wrong_values(capsys, toy_data, tmp_path, monkeypatch, text):
    monkeypatch.setenv("GRAPHSENT_DATA", str(toy_data))
    config = tmp_path / "config.yaml"
    lines = {"task": "task: sst5", "model": "model: nbow"}
    config.write_text("\n".join([*(v for k, v in lines.items() if f"{k}:" not in text), text]))
    status, err = outcome(capsys, "train", f"--config={config}", f"--out={tmp_path}/run")
    assert (status, err.count("\n")) == (2, 1)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("place", [0, 1, 3])
def test_debug_shows_where_an_error_comes_from(capsys, trained, place):
    arguments = ["predict", str(trained), "none.txt"]
    status, err = outcome(capsys, *arguments[:place], "--debug", *arguments[place:])
    assert status == 2
    assert err.startswith("Traceback")
    assert err.splitlines()[-1].startswith("graphsent predict: cannot read none.txt")


def test_debug_alone_changes_nothing(capsys, trained):
    status, err = outcome(capsys, "predict", str(trained), os.devnull, "--debug")
    assert (status, "Traceback" in err) == (0, False)
    status, err = outcome(capsys, "train", f"--resume={trained}", "--debug")
    assert (status, "this run is complete" in err) == (2, True)


def test_results_replace_no_file_of_a_run_and_no_input(capsys, trained, tmp_path):
    before = (trained / "results.json").read_bytes()
    for name in ("results.json", "config.yaml", "model/config.json"):
        status, err = outcome(capsys, "evaluate", str(trained), f"--json={trained / name}")
        assert (status, "would overwrite" in err) == (2, True)
    assert (trained / "results.json").read_bytes() == before
    trees = tmp_path / "trees.svg"
    trees.write_text("(A a)")
    status, err = outcome(
        capsys, "draw", str(trees), f"--out={tmp_path}/../{tmp_path.name}/trees.svg"
    )
    assert (status, "would overwrite" in err) == (2, True)
    assert trees.read_text() == "(A a)"


def test_a_demonstration_replaces_no_other_run(capsys, trained, tmp_path):
    other = tmp_path / "treelstm"
    other.mkdir()
    for name in ("config.yaml", "results.json"):
        (other / name).write_bytes((trained / name).read_bytes())
    status, err = outcome(capsys, "demo", f"--out={tmp_path}")
    assert (status, "holds another run: expected a demonstration" in err) == (2, True)
    assert json.loads((other / "results.json").read_text())["finished"]


@posix
@pytest.mark.parametrize("seconds", [1.0, 3.0])
def test_an_early_ctrl_c_is_one_line(toy_data, tmp_path, seconds):
    arguments = ["train", "--task=sst5", *TINY, f"--data-dir={toy_data}", "--epochs=100000"]
    with subprocess.Popen(
        [*COMMAND, *arguments, f"--out={tmp_path}/run"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.count("\n") == 1
    assert err.startswith("graphsent train: interrupted")


@posix
def test_sigterm_leaves_no_temporary_file(trained, tmp_path):
    arguments = ["predict", str(trained), "-", f"--out={tmp_path}/predicted.txt"]
    with subprocess.Popen(
        [*COMMAND, *arguments], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 60
        while not os.listdir(tmp_path):
            assert time.monotonic() < deadline, "no file was written"
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 143
    assert err == "graphsent predict: interrupted\n"
    assert not os.listdir(tmp_path)


_FAILS = """
import sys, time
from graphsent import cli
from graphsent.errors import FailedError

class Group:
    def __del__(self):
        time.sleep(600)

def fail(*_):
    group = Group()
    raise FailedError("another process has ended")

cli._run = fail
print("epoch 1")
sys.exit(cli.main())
"""


def test_a_failed_command_ends_even_if_what_it_used_cannot_be_freed():
    """As torch's process group without one of its processes."""
    result = subprocess.run(
        [sys.executable, "-c", _FAILS, "train"], capture_output=True, text=True, timeout=60
    )
    assert (result.returncode, result.stdout) == (statuses.FAILED, "epoch 1\n")
    assert result.stderr == "graphsent train: another process has ended\n"


@posix
@pytest.mark.parametrize("size", [pytest.param(100, marks=pytest.mark.slow), 2000])
def test_files_beyond_the_size_limit(toy_data, tmp_path, size):
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    arguments = ["train", "--task=sst5", *TINY, f"--data-dir={toy_data}", "--epochs=3"]
    done = subprocess.run(
        [*COMMAND, *arguments, f"--out={tmp_path}/run"],
        capture_output=True,
        text=True,
        preexec_fn=limit,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"graphsent train: {tmp_path}/run")
    assert done.stderr.endswith(": File too large\n")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_options_reject_nan():
    for name in ("lr", "embedding_lr", "weight_decay", "max_grad_norm"):
        for value in (float("nan"), float("inf")):
            with pytest.raises(ValueError, match=f"{name}: expected a finite number"):
                TrainingOptions(**{name: value})
