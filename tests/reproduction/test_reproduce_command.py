"""`graphsent reproduce`, from an empty directory to a report."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnProcess

import numpy as np
import pytest
from commands import status_of

from graphsent.cli import main
from graphsent.reproduction import Catalogue, FinishedRuns, Run, run_all
from graphsent.reproduction.examples import pack, unpack
from graphsent.reproduction.execution import UNDER_WAY, execute
from graphsent.training import TrainingInterrupted

FIELDS = (
    "table task model metric paper mean std n vectors trees selected_on minutes "
    "row configuration dev deviations chosen"
)


def test_missing_runs_of_a_table_and_a_report(here, execution, catalogue, capsys):
    *most, last = catalogue.runs(catalogue.asked(["toys"]), [0, 1])
    for each in most:
        execute(execution, each)
    capsys.readouterr()
    assert main(["reproduce", "toys", "--data-dir=data", "--seeds=0-1"]) == 0
    printed = capsys.readouterr().out
    assert "6 runs, 1 to do" in printed
    assert f"{last.name}: dev root accuracy" in printed
    assert "wrote docs/results.md, docs/results.json" in printed
    entries = json.loads((here / "docs/results.json").read_text())
    assert all(set(entry) == set(FIELDS.split()) for entry in entries)
    words, phrases, trees, left = entries
    assert (words["row"], words["metric"], words["paper"]) == ("words", "root_accuracy", 40.5)
    assert (phrases["metric"], phrases["paper"]) == ("phrase_accuracy", None)
    assert (words["n"], words["vectors"], words["trees"]) == (2, "tiny", "none")
    assert (trees["trees"], left["trees"]) == ("constituency, of the corpus", "left")
    assert trees["selected_on"] == "dev"
    assert left["deviations"] == ["smaller", "left-branching trees"]
    kept = [json.loads(path.read_text()) for path in here.glob("docs/results/toy-tree/*.json")]
    figures = sorted(100 * each["test"]["root_accuracy"] for each in kept)
    assert trees["mean"] == pytest.approx(sum(figures) / 2, abs=1e-3)
    assert trees["std"] == pytest.approx((figures[1] - figures[0]) / 2**0.5, abs=1e-3)
    page = (here / "docs/results.md").read_text()
    assert f"| trees | `sst5` | root accuracy | 51.0 | {trees['mean']:.1f} (" in page
    assert "A remark on all of it." in page
    assert "1. smaller\n2. settings: as they came\n3. left-branching trees" in page
    assert "All runs of all tables take 0 hours on one core" in page
    (line,) = [line for line in page.splitlines() if line.startswith("| trees are better")]
    assert line.split(" | ")[1:3] == ["`toy-tree`", "`toy-nbow`"]
    assert line.split(" | ")[6] == "2 and 2"
    verdict, differing = line.split(" | ")[7:]
    assert verdict in ("supported", "reversed", "undecided")
    assert differing == "tree_kind constituency / words |"

    assert main(["reproduce", "all", "--data-dir=data", "--seeds=0-1"]) == 0
    assert "6 runs, 0 to do" in capsys.readouterr().out
    assert (here / "docs/results.md").read_text() == page
    (here / "docs/results.md").unlink()
    document = here / "README.md"
    document.write_text("Before\n<!-- results -->\nold\n<!-- end of results -->\nafter\n")
    assert main(["reproduce", "--report", "--into=README.md"]) == 0
    assert (here / "docs/results.md").read_text() == page
    main_results = f"""\
| ours (deviation, n) / paper | `sst5`, root accuracy |
| --- | --- |
| trees | {trees["mean"]:.1f} ({trees["std"]:.1f}, 2) / 51.0 |"""
    assert document.read_text() == (
        f"Before\n<!-- results -->\n{main_results}\n<!-- end of results -->\nafter\n"
    )
    assert f"## In short\n\n{main_results}\n" in page
    assert main(["reproduce", "--list", "toys", "--seeds=0-2"]) == 0
    assert "toy-nbow" in capsys.readouterr().out


def test_a_repeated_run_is_the_same_or_other_by_chance_or_more(here, execution, catalogue, capsys):
    run = Run(catalogue.configuration("toy-nbow"), "seed", 0)
    kept = execute(execution, run)
    command = ["reproduce", "--check", "--data-dir=data"]
    assert main(command) == 0
    assert "identical on every example" in capsys.readouterr().out
    FinishedRuns(execution.finished).write(run, {**kept, "minutes": 9.0})
    assert main([*command, "--budget=8"]) == 2
    assert "no finished run to repeat within 8 minutes" in capsys.readouterr().err

    def change(how: Callable[[np.ndarray], np.ndarray]) -> None:
        """Changes the finished run's record of where the model was correct."""
        path = FinishedRuns(execution.finished).file(run)
        content = json.loads(path.read_text())
        columns, values = unpack(content["examples"])
        values = how(values)
        content["examples"] = pack(columns, values)
        content["test"]["root_accuracy"] = values.mean()
        path.write_text(json.dumps(content))

    change(lambda right: np.concatenate((1 - right[:1], right[1:])))
    path = FinishedRuns(execution.finished).file(run)
    content = json.loads(path.read_text())
    processor = content["versions"].pop("processor")
    for another, said in ((processor, ""), ("6502", "versions or hardware"), (None, "perhaps on")):
        versions = {**content["versions"], **({"processor": another} if another else {})}
        path.write_text(json.dumps({**content, "versions": versions}))
        assert main(command) == 0
        printed = capsys.readouterr().out
        assert "chance explains the difference from the finished run, p = " in printed
        assert said in printed if said else "on " not in printed.split("p = ")[1]
    change(lambda right: np.full_like(right, right.mean() < 0.5))
    assert main(command) == 1
    assert "chance does not explain the difference" in capsys.readouterr().err


def test_a_figure_changed_by_hand_is_noticed(here, execution, catalogue, capsys):
    run = Run(catalogue.configuration("toy-nbow"), "seed", 0)
    kept = execute(execution, run)
    for change, status in ((0.005, 0), (0.02, 1)):  # the former may be rounding
        changed = {**kept["dev"], "phrase_accuracy": kept["dev"]["phrase_accuracy"] + change}
        FinishedRuns(execution.finished).write(run, {**kept, "dev": changed})
        assert main(["reproduce", "--check", "--data-dir=data"]) == status
    message = "the results on all test examples are identical, but not dev phrase_accuracy"
    assert message in capsys.readouterr().err


def test_an_interrupted_repetition_names_no_directory(
    here, execution, catalogue, monkeypatch, capsys
):
    execute(execution, Run(catalogue.configuration("toy-nbow"), "seed", 0))

    def stop(self, trainer, module):
        raise KeyboardInterrupt

    monkeypatch.setattr("graphsent.training.callbacks.EpochKeeper.on_train_epoch_end", stop)
    assert main(["reproduce", "--check", "--data-dir=data"]) == 130
    assert "interrupted; the repetition is not kept\n" in capsys.readouterr().err


def test_the_newlines_of_a_document_are_kept(here):
    (here / "docs" / "results").mkdir(parents=True)
    document = here / "README.md"
    for newline in (b"\n", b"\r\n"):
        lines = [b"Toys", b"<!-- results -->", b"old", b"<!-- end of results -->", b"The end", b""]
        document.write_bytes(newline.join(lines))
        assert main(["reproduce", "--report", "--into=README.md"]) == 0
        text = document.read_bytes()
        assert b"old" not in text
        assert b"ours" in text
        assert text.count(b"\n") == text.count(newline)


def test_a_document_that_is_not_text(here, capsys):
    (here / "docs" / "results").mkdir(parents=True)
    (here / "README.md").write_bytes(b"\xff<!-- results --><!-- end of results -->")
    assert main(["reproduce", "--report", "--into=README.md"]) == 2
    assert "README.md: cannot read it: 'utf-8' codec" in capsys.readouterr().err


def test_the_fast_version_says_so(here, execution, catalogue, capsys):
    (run, _) = Run.of(catalogue.configuration("toy-tree"), range(5), fast=True)
    execute(replace(execution, finished=here / "runs" / "results-fast"), run)
    assert main(["reproduce", "toys", "--data-dir=data", "--fast", "--budget=0"]) == 0
    assert "5 runs did not fit in the budget" in capsys.readouterr().out
    page = (here / "runs/results-fast.md").read_text()
    assert "**This is the fast version**" in page
    assert "on the corpora\nsentiment. " in page
    assert "not run yet" in page
    entries = json.loads((here / "runs/results-fast.json").read_text())
    assert [entry["n"] for entry in entries] == [0, 0, 1, 0]
    assert not (here / "docs").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected a TABLE, or all; --list prints the names of tables"),
        (["toy"], "unknown table 'toy'"),
        (["toys", "--jobs=0"], "--jobs: expected at least 1, got 0"),
        (["toys", "--budget=-1"], "--budget: expected at least 0 minutes, got -1"),
        (["toys", "--seeds=x"], "--seeds: expected numbers such as 0-4"),
        (["toys", "--data-dir=none"], "is not a directory: none"),
        (["--check", "--data-dir=data"], "no finished run to repeat"),
        (["--check", "--report"], "expected one of --check and --report"),
        (["--check", "--into=README.md"], "--into has no effect with --check"),
        (["--check", "--jobs=2"], "--jobs has no effect with --check"),
        (["--list", "--budget=5"], "--budget has no effect with --list"),
        (["--report", "--seeds=0-9"], "--seeds has no effect with --report"),
        (["--report", "--device=cuda:0"], "--device"),
        (["toys", "--device=cuda:99"], "--device: "),
        (["--report", "toys"], "--report covers all tables: leave out toys"),
        (["--report", "--out=none"], "none: there are no finished runs"),
        (["--report", "--out=/"], "--out: expected a directory with a name, got /"),
        (["toys", "--data-dir=data", "--work=shipped/tables/toys.yaml"], "toys.yaml: File exists"),
        (["toys", "--data-dir=data", "--out=shipped/tables/toys.yaml/x"], "/x: Not a directory"),
        (["toys", "--data-dir=data", "--into=none.md"], "none.md: cannot read it"),
        (["--report", "--fast", "--into=README.md"], "--into: expected the results of full runs"),
        (["--report", "--out=shipped", "--into=none.md"], "none.md: cannot read it"),
        (
            ["--report", "--out=shipped", "--into=shipped/tables/toys.yaml"],
            "expected the lines '<!-- results -->'",
        ),
    ],
)
def test_usage_errors(here, capsys, arguments, message):
    status = status_of(["reproduce", *arguments])
    assert status == 2
    assert message in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="/proc")
@pytest.mark.parametrize("flag", ["--out", "--work"])
def test_a_directory_that_cannot_be_written_is_found_before_the_first_run(here, capsys, flag):
    with pytest.raises(SystemExit, match="2"):
        main(["reproduce", "toys", "--data-dir=data", f"{flag}=/proc/self"])
    captured = capsys.readouterr()
    assert f"{flag}: /proc/" in captured.err
    assert not captured.out


def test_a_report_on_the_current_directory_is_beside_it(here, monkeypatch):
    (here / "kept").mkdir()
    monkeypatch.chdir(here / "kept")
    assert main(["reproduce", "--report", "--out=."]) == 0
    assert (here / "kept.md").is_file()


def test_the_embedded_data_are_only_for_the_fast_version(here, repository, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["reproduce", "toys", f"--data-dir={repository / 'data'}"])
    assert "published corpora: expected --data-dir DIR" in capsys.readouterr().err


def test_what_is_missing_is_run_and_what_cannot_run_is_named(here, execution, shipped, capsys):
    path = shipped / "configurations" / "toy.yaml"
    path.write_text(path.read_text().replace("{model: nbow}", "{model: nbow, vectors: []}"))
    (here / "vectors" / "tiny.txt").unlink()
    execute(execution, Run(Catalogue().configuration("toy-nbow"), "seed", 3))
    capsys.readouterr()
    names = ["toy-nbow", "toy-tree", "toy-tree-left"]
    assert main(["reproduce", *names, "--data-dir=data", "--seeds=3-4"]) == 1
    captured = capsys.readouterr()
    assert "toy-tree: cannot run: word vectors:" in captured.out
    assert "6 runs, 1 to do" in captured.out
    assert "toy-nbow/seed-4: dev root accuracy" in captured.out
    assert "2 failures, see above" in captured.err
    assert json.loads((here / "docs/results.json").read_text())[0]["n"] == 2
    assert {path.parent.name for path in here.glob("docs/results/*/*.json")} == {"toy-nbow"}
    assert main(["reproduce", "--list", "toys", "--seeds=3-4"]) == 0
    listed = capsys.readouterr().out
    assert re.search(r"toy-nbow +2 of 2", listed)
    assert re.search(r"toy-tree +0 of 2", listed)


SCRIPT = """
import os, sys
from pathlib import Path
from graphsent.cli import main
from graphsent.reproduction import catalogue
catalogue._SHIPPED = Path(sys.argv[1])
if __name__ == "__main__":
    sys.exit(main(["reproduce", "toys", "--data-dir=data", "--seeds=0"]))
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_sigterm_keeps_completed_epochs(here, execution, shipped):
    path = shipped / "configurations" / "toy.yaml"
    path.write_text(path.read_text().replace("epochs: 5", "epochs: 100000"))
    (here / "script.py").write_text(SCRIPT)
    with subprocess.Popen(
        [sys.executable, "script.py", str(shipped)], stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 240
        while not list(here.glob("runs/reproduce/*/*/last.ckpt")):
            assert time.monotonic() < deadline, "no epoch was completed"
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 143
    assert "interrupted after 0 runs; the same command continues" in err
    (checkpoint,) = here.glob("runs/reproduce/*/*/last.ckpt")
    results = json.loads((checkpoint.parent / "results.json").read_text())
    assert not results["finished"]
    assert results["history"]
    assert not list(here.glob("docs/results/*"))


def test_an_interruption_interrupts_training(execution, catalogue, monkeypatch):
    from graphsent.reproduction import scheduling

    def interrupt(sentinels):
        raise KeyboardInterrupt

    monkeypatch.setattr(scheduling, "wait", interrupt)
    runs = Run.of(Catalogue().configuration("toy-nbow"), [0])
    with pytest.raises(TrainingInterrupted, match="interrupted after 0 runs") as caught:
        run_all(execution, runs)
    assert caught.value.signal_number == signal.SIGINT
    assert FinishedRuns(execution.finished).read(runs[0]) is None


def blocked() -> bool:
    """Whether Ctrl-C does not reach this process."""
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def exit_as_blocked(_execution, _run) -> None:
    """In place of a run: an exit status that says whether Ctrl-C reaches it."""
    sys.exit(UNDER_WAY if blocked() else 1)


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_does_not_reach_a_process_that_is_starting(execution, catalogue, monkeypatch):
    """Nor the first one, with which Python starts its tracker of resources."""
    from graphsent.reproduction import scheduling

    resource_tracker._resource_tracker._stop()
    monkeypatch.setattr(scheduling, "execute_in_process", exit_as_blocked)
    runs = Run.of(Catalogue().configuration("toy-nbow"), [0])
    assert run_all(execution, runs).elsewhere == runs
    assert not blocked()


def end_unusually(execution, run) -> None:
    """In place of a run: killed, an exit without a word, or one whose last word is not UTF-8."""
    if run.number == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    if run.number == 2:
        log = execution.log(run)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(b"caf\xe9\n")  # as libraries in C may write
    os._exit(3)


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_processes_that_end_unusually(execution, catalogue, monkeypatch):
    from graphsent.reproduction import scheduling

    monkeypatch.setattr(scheduling, "execute_in_process", end_unusually)
    runs, said = Run.of(Catalogue().configuration("toy-nbow"), range(3)), []
    outcome = run_all(execution, runs, echo=said.append)
    assert [outcome.failed[run].partition(" (")[0] for run in runs] == [
        "its process was killed by signal 9",
        "its process exited with status 3",
        r"caf\xe9",
    ]
    assert said[0].endswith("; 2 left, about 0 min")


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_process_starts_leaves_none_behind(
    execution, catalogue, monkeypatch, number
):
    start, started = SpawnProcess.start, []

    def start_and_signal(process):
        start(process)
        started.append(process)
        signal.raise_signal(number)

    monkeypatch.setattr(SpawnProcess, "start", start_and_signal)
    runs = Run.of(Catalogue().configuration("toy-nbow"), [0])
    try:
        with pytest.raises(TrainingInterrupted) as caught:
            run_all(execution, runs)
        assert caught.value.signal_number == number
        assert not started[0].is_alive()
    finally:
        started[0].kill()
