"""Runs, result files, and what makes a finished run stale."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from on_gpu import needs_gpu

from graphsent._locks import locked
from graphsent.errors import DataError
from graphsent.reproduction import Catalogue, FinishedRuns, Places, Run, places, repeat, run_all
from graphsent.reproduction.examples import Examples, addends, metric_of, unpack
from graphsent.reproduction.execution import execute
from graphsent.reproduction.report import entries
from graphsent.reproduction.verdict import verdicts
from graphsent.tasks import get_task
from graphsent.training import RunDirectory, train
from graphsent.training.callbacks import EpochKeeper


@pytest.fixture
def run(catalogue) -> Run:
    return Run(catalogue.configuration("toy-tree"), "seed", 1)


def test_saved_results_equal_those_of_train_and_evaluate(execution, run, tmp_path):
    kept = execute(execution, run)
    config = execution.places.locate(run.run_config())
    assert config.training.seed == 1
    results = train(config, tmp_path / "run", echo=lambda line: None)
    assert kept["dev"] == pytest.approx(results["dev"], abs=1e-6)
    assert kept["test"] == pytest.approx(results["test"], abs=1e-6)
    assert kept["best_epoch"] == results["best_epoch"]
    columns, values = unpack(kept["examples"])
    assert columns == ("right",)
    assert values.mean() == pytest.approx(kept["test"]["root_accuracy"], abs=1e-6)
    assert FinishedRuns(execution.finished).read(run) == {**run.key, **kept}
    assert not list(execution.work.glob("toy-tree/*"))


def test_times_on_a_gpu_are_not_cpu_times(execution, run, catalogue):
    execute(execution, run)
    finished = FinishedRuns(execution.finished)
    other = replace(run, number=2)
    content = finished.read(run)
    versions = {**content["versions"], "gpu": "an accelerator"}
    finished.write(other, {**content, **other.key, "minutes": 5.0, "versions": versions})
    (mean,) = {e["minutes"] for e in entries(catalogue, finished) if e["n"]}
    assert mean == content["minutes"]
    finished.file(run).unlink()
    (mean,) = {e["minutes"] for e in entries(catalogue, finished) if e["n"]}
    assert mean is None


@needs_gpu
def test_a_run_on_a_gpu(execution, run):
    execution = replace(execution, device="cuda")
    kept = execute(execution, run)
    assert kept["versions"]["gpu"] == torch.cuda.get_device_name()
    assert FinishedRuns(execution.finished).read(run) == {**run.key, **kept}
    assert repeat(execution, run).is_chance


def interrupt(execution, run, monkeypatch):
    """Executes two epochs of a run."""
    keep = EpochKeeper.on_train_epoch_end

    def stop_after_two(self, trainer, module):
        keep(self, trainer, module)
        if len(self.history) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(EpochKeeper, "on_train_epoch_end", stop_after_two)
        with pytest.raises(KeyboardInterrupt):
            execute(execution, run)
    assert len(RunDirectory(execution.directory(run)).read_results()["history"]) == 2


def assert_equal_results(some, others):
    for name in ("data", "dev", "test", "examples", "best_epoch", "epochs"):
        assert some[name] == others[name]


def test_it_resumes_after_an_interruption(execution, run, monkeypatch):
    whole = execute(execution, run)
    execution.finished.joinpath(f"{run.name}.json").unlink()
    interrupt(execution, run, monkeypatch)
    assert_equal_results(execute(execution, run), whole)


def test_minutes_of_an_earlier_process_are_estimated(execution, run, monkeypatch):
    interrupt(execution, run, monkeypatch)
    directory = RunDirectory(execution.directory(run))

    def process_time() -> float:
        """A clock by which every epoch takes a minute."""
        return 60.0 * len(directory.read_results().get("history", ()))

    clock = SimpleNamespace(process_time=process_time)
    monkeypatch.setattr("graphsent.reproduction.execution.time", clock)
    assert execute(execution, run)["minutes"] == 5


def test_it_is_not_resumed_on_other_data(execution, run, monkeypatch, tmp_path):
    interrupt(execution, run, monkeypatch)
    other = tmp_path / "other"
    shutil.copytree(execution.places.data_dir, other)
    path = other / "sentiment" / "train.txt"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[::2]))
    moved = replace(execution, places=Places(str(other)))
    alone = replace(moved, finished=tmp_path / "alone", work=tmp_path / "work-alone")
    assert_equal_results(execute(moved, run), execute(alone, run))


def test_a_run_that_was_trained_but_not_stored_keeps_its_minutes(execution, run, monkeypatch):
    def full(*_):
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(FinishedRuns, "write", full)
        with pytest.raises(OSError, match="full"):
            execute(execution, run)
    path = execution.directory(run) / "results.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "training_seconds": 600}))
    assert 10 <= execute(execution, run)["minutes"] < 11


def test_other_settings_or_data_make_it_stale(execution, run, catalogue, shipped, data):
    execute(execution, run)
    finished = FinishedRuns(execution.finished)
    config = execution.places.locate(run.run_config())
    assert finished.read(run, execution.places.checksums(config)) is not None
    assert list(finished.of(run.configuration)) == [run]
    (execution.finished / "toy-tree" / "seed-1-old.json").touch()
    assert list(finished.of(run.configuration)) == [run]
    assert finished.read(Run(run.configuration, "seed", 2)) is None
    assert not finished.of(catalogue.configuration("toy-nbow"))

    path = shipped / "configurations" / "toy.yaml"
    path.write_text(path.read_text().replace("revision: 1", "revision: 2"))
    renewed = type(catalogue)().configuration("toy-tree")
    assert not finished.of(renewed)

    path = data / "sentiment" / "dev.txt"
    path.write_text(path.read_text() + "(3 (2 a) (3 film))\n")
    places._corpus.cache_clear()
    assert finished.read(run, execution.places.checksums(config)) is None


def test_runs_of_different_data_are_not_averaged(execution, run):
    kept = execute(execution, run)
    finished = FinishedRuns(execution.finished)
    other = Run(run.configuration, "seed", 2)
    finished.write(other, {**kept, "data": {**kept["data"], "corpus": "another"}})
    with pytest.raises(DataError, match=r"seed-1\.json and .*seed-2\.json: made with different"):
        finished.of(run.configuration)
    finished.file(run).unlink()
    assert list(finished.of(run.configuration)) == [other]


@pytest.mark.parametrize("lines", [slice(None, -1), slice(None, None, -1)])
def test_runs_on_different_test_data_are_not_compared(execution, catalogue, data, lines):
    kept = FinishedRuns(execution.finished)
    execute(execution, Run(catalogue.configuration("toy-tree"), "seed", 0))
    assert list(filter(None, verdicts(catalogue, kept).values())) == []
    other = Run(catalogue.configuration("toy-nbow"), "seed", 0)
    execute(execution, other)
    assert len(list(filter(None, verdicts(catalogue, kept).values()))) == 1
    path = data / "sentiment" / "test.txt"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[lines]))
    places._corpus.cache_clear()
    execute(execution, other)
    with pytest.raises(DataError, match=r"toy-tree and .*toy-nbow: made with different test data"):
        verdicts(catalogue, kept)


def test_checksums_cover_corpus_and_vectors(execution, run, data):
    sums = execution.places.checksums(execution.places.locate(run.run_config()))
    assert sums["corpus"] == "sentiment"
    assert set(sums["files"]) == {"train", "dev", "test"}
    assert set(sums["vectors"]) == {"tiny.txt"}
    assert str(data) not in json.dumps(sums)  # the same on another machine


def test_missing_files_are_named(run, data, tmp_path):
    (tmp_path / "vectors" / "tiny.txt").unlink()
    with pytest.raises(DataError, match=r"tiny\.txt does not exist"):
        Places(str(data)).locate(run.run_config())
    with pytest.raises(DataError, match="no directory of word vectors"):
        Places(str(data), vectors_dir=str(tmp_path / "none")).locate(run.run_config())


def test_a_damaged_file_is_named(execution, run):
    file = FinishedRuns(execution.finished).file(run)
    file.parent.mkdir(parents=True)
    for text, message in (("{", "damaged"), ("{}", "expected a finished run with digest")):
        file.write_text(text)
        with pytest.raises(DataError, match=rf"seed-1\.json: damaged.*{message}|{message}"):
            FinishedRuns(execution.finished).read(run)
    file.unlink()
    file.mkdir()  # a file without permission is like that, except for root
    with pytest.raises(DataError, match=r"seed-1\.json: cannot read it: "):
        FinishedRuns(execution.finished).read(run)


def test_places_of_vectors(run, data, tmp_path, monkeypatch):
    def found(**given: str) -> list[str]:
        return [*Places(str(data), **given).locate(run.run_config()).vectors]

    monkeypatch.delenv("GRAPHSENT_VECTORS", raising=False)
    beside = tmp_path / "vectors"
    assert found() == [str(beside / "tiny.txt")]
    inside, other = (shutil.copytree(beside, path) for path in (data / "vectors", tmp_path / "own"))
    assert found() == [str(inside / "tiny.txt")]
    monkeypatch.setenv("GRAPHSENT_VECTORS", str(other))
    assert found() == [str(other / "tiny.txt")]
    assert found(vectors_dir=str(beside)) == [str(beside / "tiny.txt")]


def test_places_of_an_encoder(data, tmp_path, monkeypatch):
    config = Catalogue().configuration("nbow-tuned-sst5").run_config()
    monkeypatch.delenv("GRAPHSENT_ENCODER", raising=False)
    with pytest.raises(DataError, match=r"no encoder '.*': set --encoder DIR or GRAPHSENT_ENCODER"):
        Places(str(data)).locate(config)
    monkeypatch.setenv("GRAPHSENT_ENCODER", str(tmp_path / "none"))
    with pytest.raises(DataError, match=r"no encoder '.*': expected one at .*none"):
        Places(str(data)).locate(config)
    monkeypatch.setenv("GRAPHSENT_ENCODER", str(tmp_path))
    assert Places(str(data)).locate(config).inputs.encoder == str(tmp_path)
    assert Places(str(data), encoder=str(data)).locate(config).inputs.encoder == str(data)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("test", {}),
        ("test", None),
        ("test", {"root_accuracy": float("nan")}),
        ("dev", {"accuracy": None}),
        ("dev", {"accuracy": float("inf")}),
        ("data", None),
        ("minutes", "x"),
        ("minutes", float("nan")),
        ("minutes", -3.0),
    ],
)
def test_values_of_another_type_are_named(execution, run, name, value):
    kept = execute(execution, run)
    finished = FinishedRuns(execution.finished)
    finished.write(run, {**kept, name: value})
    with pytest.raises(DataError, match=r"seed-1\.json: damaged: expected"):
        finished.read(run)


def test_metrics_that_do_not_match_the_examples_are_rejected(execution, run):
    kept = execute(execution, run)
    finished = FinishedRuns(execution.finished)
    test = {**kept["test"], "root_accuracy": kept["test"]["root_accuracy"] + 0.01}
    finished.write(run, {**kept, "test": test})
    with pytest.raises(DataError, match=r"root_accuracy on test is 0\.\d+, that of its examples"):
        finished.read(run)
    test["root_accuracy"] = kept["test"]["root_accuracy"] + 1e-4  # examples are right or wrong
    finished.write(run, {**kept, "test": test})
    with pytest.raises(DataError, match="that of its examples"):
        finished.read(run)
    for change in ({"number": 1}, {"columns": ["wrong"]}):
        finished.write(run, {**kept, "examples": {**kept["examples"], **change}})
        with pytest.raises(DataError, match=r"seed-1\.json: damaged: expected the values of test"):
            finished.read(run)


def test_a_run_is_repeated_only_on_its_own_data(execution, run, data):
    with pytest.raises(DataError, match="no finished run to repeat"):
        repeat(execution, run)
    kept = execute(execution, run)
    found = repeat(execution, run)
    assert (found.is_same, found.is_chance, found.num_kept) == (True, True, 1)
    assert found.kept == {**run.key, **kept}
    other = replace(run, number=2)
    FinishedRuns(execution.finished).write(other, {**kept, **other.key})
    assert repeat(execution, run).num_kept == 2
    path = data / "sentiment" / "dev.txt"
    path.write_text(path.read_text() + "(3 (2 a) (3 film))\n")
    places._corpus.cache_clear()
    with pytest.raises(DataError, match="made with other data"):
        repeat(execution, run)


def test_parallel_processes_with_a_failure_and_a_budget(execution, run):
    bad = Run(run.configuration, "seed", -1)
    said: list[str] = []
    outcome = run_all(execution, [bad, run], jobs=2, echo=said.append)
    assert outcome.finished == [run]
    assert "seed: expected a non-negative number, got -1" in outcome.failed[bad]
    assert any(line.startswith("toy-tree/seed--1: failed: seed: expected") for line in said)
    assert any("toy-tree/seed-1: dev root accuracy" in line for line in said)
    assert "that was the last" in said[-1]
    outcome = run_all(execution, [bad, run], budget=0.15, echo=said.append)
    assert outcome.left == [bad, run]  # they take 0.2 minutes each


class Faulty(Places):
    """Places that fail in the process of a run, as a mistake in the code would."""

    def checksums(self, config):
        if multiprocessing.parent_process():
            raise ZeroDivisionError("no such number")
        return super().checksums(config)


def test_a_mistake_in_the_code_is_in_the_log_of_the_last_attempt(execution, run):
    faulty = replace(execution, places=Faulty(execution.places.data_dir))
    for _ in range(2):
        outcome = run_all(faulty, [run], echo=lambda line: None)
    log = execution.log(run)
    assert outcome.failed == {run: f"ZeroDivisionError: no such number ({log})"}
    assert log.read_text().count("Traceback (most recent call last)") == 1


@pytest.mark.skipif(os.name == "nt", reason="names of files are text on Windows")
@pytest.mark.parametrize(
    "errors", [pytest.param("strict", marks=pytest.mark.slow), "surrogateescape"]
)
def test_a_failure_may_name_a_file_whose_name_is_not_utf_8(execution, run, monkeypatch, errors):
    monkeypatch.setenv("PYTHONIOENCODING", f"utf-8:{errors}")
    there = replace(execution, places=replace(execution.places, data_dir=os.fsdecode(b"/no/\xff")))
    said: list[str] = []
    outcome = run_all(there, [run], echo=said.append)
    assert "not a directory: /no/\\udcff (" in outcome.failed[run]
    assert len(said) == 1


def test_runs_of_other_processes_are_left_to_them(execution, run):
    log = execution.log(run)
    log.parent.mkdir(parents=True)
    log.write_text("epoch 1\n")
    said: list[str] = []
    with locked(log):
        outcome = run_all(execution, [run], echo=said.append)
    assert (outcome.elsewhere, outcome.finished) == ([run], [])
    assert said == ["toy-tree/seed-1: another process is executing it; that was the last"]
    assert log.read_text() == "epoch 1\n"
    assert run_all(execution, [run]).finished == [run]
    assert not log.exists()
    assert run_all(execution, [run]).finished == []  # it has been finished since it was planned


def test_examples_agree_with_the_metrics():
    scores, gold = (torch.rand(40) * 4 + 1 for _ in range(2))
    gold[7] = float("nan")  # no gold score
    pairs = SimpleNamespace(gold=gold, roots=torch.arange(40))
    counts = torch.randint(5, 20, (12, 3))
    lists = SimpleNamespace(
        candidates=[(0, 4), (4, 9), (9, 12)],
        gold=torch.tensor([3, -1, 11]),
        counts=counts,
        base=torch.rand(12),
    )
    roots = torch.arange(0, 60, 2)
    trees = SimpleNamespace(gold=torch.randint(-1, 3, (60,)), roots=roots)
    judged = int((trees.gold[roots] % 2 == 0).sum())  # neither neutral nor unlabelled
    for name, options, outputs, batch, metric, number in (
        ("sick", {}, scores[:, None], pairs, "pearson", 39),
        ("rerank", {}, torch.rand(12), lists, "f1", 2),
        ("sst2", {"neutral": "class"}, torch.rand(60, 3), trees, "root_accuracy", judged),
    ):
        task = get_task(name, **options)
        metrics, examples = task.metrics(), Examples(task)
        for collector in (metrics, examples):
            collector.update(outputs, batch)
        assert len(examples.values) == number
        sums = addends(examples.columns, examples.values).sum(0)
        found = metric_of(examples.columns, sums, number)
        assert float(found) == pytest.approx(float(metrics.compute()[metric]), abs=1e-3)
