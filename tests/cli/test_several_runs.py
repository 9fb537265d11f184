"""``train --folds`` and ``--seeds``, and evaluate and predict on their directory."""

from __future__ import annotations

import json
import shutil

import pytest
from commands import status_of
from toy_treebank import TINY

from graphsent.cli import main
from graphsent.cli.several_runs import numbers, table
from graphsent.cli.usage import UsageError


@pytest.fixture(scope="module")
def seeds(toy_data, tmp_path_factory):
    """The directory of two finished runs, and the command."""
    out = tmp_path_factory.mktemp("several") / "out"
    command = ["train", "--task=sst5", f"--data-dir={toy_data}", "--epochs=1", f"--out={out}"]
    command += [*TINY, "--seeds=0-1", "--test"]
    assert main(command) == 0
    return out, command


def test_output_has_one_line_per_run_and_a_table(seeds, capsys):
    out, command = seeds
    assert main(command) == 0  # again: everything is complete
    printed = capsys.readouterr().out
    results = json.loads((out / "results.json").read_text())
    accuracy = 100 * results["summary"]["test"]["root_accuracy"]["mean"]
    assert "seed-1: complete, best epoch 1, dev root accuracy" in printed
    (mean,) = [line for line in printed.splitlines() if line.startswith("mean")]
    assert f"{accuracy:.2f} %" in mean
    assert "std (n = 2)" in printed
    assert main(["train", f"--resume={out}"]) == 0
    assert capsys.readouterr().out == printed


def test_evaluate_covers_all_runs(seeds, tmp_path, capsys):
    out, _ = seeds
    results = json.loads((out / "results.json").read_text())
    assert main(["evaluate", str(out), f"--json={tmp_path / 'f.json'}"]) == 0
    found = json.loads((tmp_path / "f.json").read_text())
    assert found["summary"]["test"] == results["summary"]["test"]
    assert [run["metrics"] for run in found["runs"]] == [run["test"] for run in results["runs"]]
    assert "std (n = 2)" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", str(out), f"--page={tmp_path / 'page.html'}"])
    assert f"--page is for a single run, such as {out / 'seed-0'} " in capsys.readouterr().err


def test_evaluate_says_which_runs_have_no_mean(seeds, tmp_path, capsys):
    out = tmp_path / "out"
    shutil.copytree(seeds[0], out)
    assert main(["evaluate", str(out), "--split=dev"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["train", f"--resume={out / 'seed-1'}", "--epochs=2"]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(out), "--split=dev"]) == 0
    first = "graphsent evaluate: epochs is 1 in seed-0, but 2 in seed-1: the figures of these runs"
    assert capsys.readouterr().err.startswith(first)
    results = out / "seed-0" / "results.json"
    results.write_text(json.dumps({**json.loads(results.read_text()), "finished": False}))
    assert main(["evaluate", str(out), "--split=dev"]) == 0
    assert "graphsent evaluate: seed-0 is not complete: the figures" in capsys.readouterr().err


def test_a_single_run_must_be_named_if_required(seeds, capsys):
    out, _ = seeds
    assert main(["predict", str(out), "/dev/null"]) == 2
    assert f"such as {out / 'seed-0'}" in capsys.readouterr().err
    assert main(["predict", str(out / "seed-0"), "/dev/null"]) == 0


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--seeds=0-1", "--seed=3"], "--seed and --seeds are mutually exclusive"),
        (["--seeds=4-0"], "--seeds: expected numbers such as 0-4 or 0,2,5"),
        (["--seeds=all"], "--seeds: expected numbers"),
        (["--folds=all"], "the corpora of the task 'sst5' have splits, not folds"),
        (["--seeds=0-1", "--lr=3"], "training.lr was 0.05, now 3.0"),
    ],
)
def test_conflicting_options(seeds, capsys, flags, message):
    _, command = seeds
    status = status_of([*command[:-1], *flags])
    assert status == 2
    assert message in capsys.readouterr().err


def test_resuming_uses_the_options_of_the_runs(seeds, capsys):
    out, _ = seeds
    with pytest.raises(SystemExit, match="2"):
        main(["train", f"--resume={out}", "--epochs=2"])
    assert "--resume cannot change their options" in capsys.readouterr().err


def test_lists_and_ranges_of_numbers_are_read():
    assert numbers("3", "--seeds") == [3]
    assert numbers("0-2, 5,1", "--seeds") == [0, 1, 2, 5]
    for text in ("", "-1", "1-", "a", "3-1", "0-99999999999"):
        with pytest.raises(UsageError, match="--seeds: expected numbers"):
            numbers(text, "--seeds")


def test_one_run_has_no_standard_deviation():
    runs = [{"name": "seed-0", "dev": {"mse": 0.5}}]
    summary = {"dev": {"mse": {"mean": 0.5, "std": None}}}
    assert table(runs, summary).splitlines()[1:] == [
        "seed-0        0.5000",
        "mean          0.5000",
        "std (n = 1)        -",
    ]
