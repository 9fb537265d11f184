"""The command as a whole: help, versions, usage errors and exit codes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import outcome

import graphsent as package
from graphsent.cli import COMMANDS
from graphsent.cli.arguments.train import COMMON


def test_version_is_that_of_the_package(capsys):
    assert outcome(capsys, "--version") == (0, f"graphsent {package.__version__}\n", "")


def test_help_lists_all_commands_and_imports_nothing_heavy():
    script = """
import sys
from graphsent.cli import main
try:
    main(["--help"])
finally:
    heavy = {"torch", "dgl", "jsonargparse", "pytorch_lightning", "numpy"} & set(sys.modules)
    print("heavy", heavy)
"""
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0
    assert "heavy set()" in result.stdout
    assert all(f"\n  {command} " in result.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(capsys, command):
    code, out, err = outcome(capsys, command, "--help")
    assert (code, err) == (0, "")
    assert f"  graphsent {command} " in out.partition("Examples:")[2] or "Example:" in out


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, "3000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, "None")],
)
def test_threads_wait_briefly_unless_the_environment_says_how(given, expected):
    script = """
import os, sys
from graphsent.cli import main
sys.argv[1:] = ["completion", "bash"]
main()
assert "torch" not in sys.modules  # which reads it
print(os.environ.get("GOMP_SPINCOUNT"))
"""
    names = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    others = {name: value for name, value in os.environ.items() if name not in names}
    result = subprocess.run(
        [sys.executable, "-c", script],
        env={**others, **given},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.splitlines()[-1] == expected


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("predict <&-", 0, "standard input is empty"),
        ("predict 'a b' 2>&-", 0, ""),
        ("completion bash >&-", 0, ""),
        ("predict 'a b' >&-", 1, "graphsent predict: standard output is closed: name a file"),
    ],
)
def test_a_closed_stream_is_an_empty_one_but_results_are_not_lost(command, status, message):
    command = f"{sys.executable} -m graphsent {command}"
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert result.returncode == status
    assert "Traceback" not in result.stderr
    assert message in result.stderr


FULL = Path("/dev/full")  # where each write fails as on a full disk


@pytest.mark.skipif(not FULL.exists(), reason="a device of Linux")
@pytest.mark.parametrize(
    ("command", "stream", "status"),
    [("config list", "stdout", 1), ("config show none", "stderr", 2)],
)
def test_output_that_cannot_be_written_is_one_line(command, stream, status):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with FULL.open("w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "graphsent", *command.split()],
            **{**streams, stream: full},
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": ""},
            check=False,
        )
    assert result.returncode == status
    if stream == "stdout":
        assert result.stderr.endswith(": input or output: No space left on device\n")
        assert result.stderr.count("\n") == 1


def shown_options(help_text: str) -> set[str]:
    return set(re.findall(r"^  (--[a-z-]+)", help_text, re.MULTILINE))


def test_train_help_is_short_and_help_all_is_complete(capsys):
    _, common, _ = outcome(capsys, "train", "--help")
    names = {"--" + name.replace("_", "-") for name in COMMON}
    assert shown_options(common) == {*names, "--help-all"}
    assert "options of the model" not in common
    assert "More examples" not in common
    _, every, _ = outcome(capsys, "train", "--model=nbow", "--help-all")
    assert shown_options(common) < shown_options(every)
    assert {"--patience", "--embedding-dropout", "--debug"} < shown_options(every)
    assert "options of the model nbow:" in every
    assert "More examples" in every


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "graphsent: no command (see graphsent --help)"),
        (["trian"], "graphsent: unknown command: 'trian' (choose from"),
        (["evaluate"], "graphsent evaluate: "),
        (["predict", "run", "--format=xml"], "invalid choice: 'xml'"),
        (["draw", "--tree=(A a)"], "required: --out"),
        (["draw", "f.txt", "--tree=(A a)", "--out=x.png"], "expected a file or --tree, got both"),
        (["draw", "--tree=(A a)", "--out=-"], "--out: expected a file, such as /dev/stdout, got"),
        (["train", "--task=sst5"], "--out RUN is missing"),
        (["train", "--out=a"], "--task is missing: expected one of"),
        (["train", "--task=sst5", "--out=a", "--epochs=x"], "epochs"),
        (["train", "--task=sst5", "--out=a", "--model=nbow", "--hidden=3"], "--hidden"),
        (["train", "--task=sst5", "--out=a", "--neutral=mask"], "--neutral"),
        (
            ["train", "--resume=a", "--lr=3"],
            "--lr cannot change with --resume: only --epochs and --encoder can",
        ),
        (["train", "--resume=a", "--embedding-lr=0"], "--embedding-lr cannot change with --resume"),
    ],
)
def test_wrong_arguments_give_one_line_and_status_2(capsys, arguments, message):
    code, out, err = outcome(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--model=lstm"], "graphsent train: unknown model 'lstm': expected one of"),
        (["train", "--task=sst6", "--out=a"], "unknown task 'sst6': expected one of"),
        (["train", "--task=sst5", "--out=a", "--data-dir=x"], "is not a directory: x"),
        (["train", "--task=sst5", "--out=a", "--lr=0"], "lr: expected a positive number"),
        (["train", "--config=none.yaml"], "none.yaml: cannot read the configuration"),
        (["train", "--resume=none"], "none is not a run: it has no config.yaml"),
        (["evaluate", "none"], "none is not a run"),
        (["predict", "none"], "no such run, model or file: none"),
        (["draw", "none.txt", "--out=x.png"], "cannot read none.txt: No such file"),
        (["draw", "--tree=(A a", "--out=x.png"], "--tree:1:1: the bracket"),
        (["draw", "--tree=(A a)", "--out=x.pdf"], "expected the suffix .png or .svg"),
        (["draw", "--tree=(A a)", "--number=2", "--out=x.png"], "--tree: no tree 2: there are 1"),
    ],
)
def test_user_errors_give_one_line_and_status_2(capsys, monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = outcome(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("hint", ["", ": pip install 'graphsent[train]'"])
def test_a_missing_extra_is_named(capsys, monkeypatch, hint):
    text = f"No module named 'torchmetrics'{hint}"
    error = ModuleNotFoundError(text, name="torchmetrics")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("graphsent.cli._run", fail)
    code, _, err = outcome(capsys, "draw")
    assert code == 1
    assert err.endswith("No module named 'torchmetrics': pip install 'graphsent[train]'\n")


def test_a_missing_part_of_ray_is_named(capsys, monkeypatch):
    """`pip install ray` leaves out pyarrow, which Ray Data imports."""

    def fail(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

    monkeypatch.setattr("graphsent.cli._run", fail)
    code, _, err = outcome(capsys, "draw")
    assert code == 1
    assert err.endswith("No module named 'pyarrow': pip install 'graphsent[ray]'\n")


def test_files_that_cannot_be_written_are_named(capsys, tmp_path):
    (tmp_path / "file").touch()
    code, _, err = outcome(capsys, "draw", "--tree=(A a)", f"--out={tmp_path / 'file' / 'x.png'}")
    assert code == 1
    assert str(tmp_path / "file") in err
    assert err.count("\n") == 1
