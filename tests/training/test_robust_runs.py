"""What failed, killed or damaged runs leave, and concurrent runs in one directory."""

from __future__ import annotations

import errno
import io
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from toy_treebank import silent, tiny_config, write_treebank

from graphsent.errors import DataError
from graphsent.training import RunConfig, RunDirectory, TrainingError, load_model, resume, train
from graphsent.training.checkpoints import CheckedCheckpoints
from graphsent.training.errors import TrainingFailed
from graphsent.training.module import TrainingModule

CONFIG = RunConfig("sst5", "nbow")


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def test_an_absent_device_leaves_no_directory(configure, tmp_path):
    for device in ("cuda:77", "cuda:9999999999999", "tpu", "meta", "", "cuda:-1"):
        with pytest.raises(TrainingError, match="device: "):
            train(configure(device=device), tmp_path / "run", echo=silent)
        assert names(tmp_path) == set()
    train(configure(), tmp_path / "run", echo=silent)


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), OSError(28, "No space")])
def test_a_failure_in_the_first_epoch_leaves_no_directory(configure, tmp_path, monkeypatch, error):
    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(TrainingModule, "training_step", fail)
        with pytest.raises(type(error)):
            train(configure(), tmp_path / "runs" / "a", echo=silent)
    assert names(tmp_path / "runs") == set()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").touch()
    RunDirectory(tmp_path / "mine").config.write_text("task: sst5\nmodel: nbow\n")
    with monkeypatch.context() as patch:
        patch.setattr(TrainingModule, "training_step", fail)
        with pytest.raises(type(error)):
            train(configure(), tmp_path / "mine", echo=silent)
    assert names(tmp_path / "mine") == {"notes"}


def test_a_later_failure_keeps_completed_epochs(configure, tmp_path, monkeypatch):
    original = TrainingModule.training_step

    def fail(self: TrainingModule, *args: object) -> None:
        if self.current_epoch:
            raise RuntimeError("out of memory")
        original(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingModule, "training_step", fail)
        with pytest.raises(RuntimeError):
            train(configure(), tmp_path / "run", echo=silent)
    load_model(tmp_path / "run")
    with pytest.raises(TrainingError, match="holds a run"):
        train(configure(), tmp_path / "run", echo=silent)
    resume(tmp_path / "run", echo=silent)


def test_standard_output_on_a_full_disk_is_named(configure, tmp_path, monkeypatch):
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            if text.startswith("epoch"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(text)

    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as failed:
        train(configure(), tmp_path / "run")
    assert failed.value.filename == "standard output"  # not the logs of the run


def test_a_run_without_a_complete_epoch_is_replaced(tmp_path):
    run = RunDirectory(tmp_path / "run")
    run.create(RunConfig("sst2", "nbow"))
    (run.path / ".123-config.yaml").write_text("task: ")
    (run.path / "notes.txt").write_text("mine")
    with run.held():
        run.create(CONFIG)
    assert run.open() == CONFIG
    assert names(run.path) == {"config.yaml", "notes.txt"}


@pytest.mark.parametrize("process", ["another", "this one"])
def test_leftovers_of_a_killed_start_block_nothing(configure, tmp_path, process):
    name = f".{os.getpid() if process == 'this one' else 123}-config.yaml"
    (tmp_path / name).write_text("task: ss")
    train(configure(epochs=1), tmp_path, echo=silent)
    assert name not in names(tmp_path)


KILLED = """
import os, sys
from graphsent.errors import DataError
from graphsent.training import RunConfig, RunDirectory
os.replace = lambda *_: os._exit(9)
run = RunDirectory(sys.argv[1])
with run.held():
    run.create(RunConfig("sst5", "nbow"))
"""


def test_a_start_that_is_killed_before_the_rename(tmp_path):
    run = RunDirectory(tmp_path / "run")
    command = [sys.executable, "-c", KILLED, run.path]
    assert subprocess.run(command, check=False).returncode == 9
    assert [name.endswith("-config.yaml") for name in names(run.path)] == [True]
    with run.held():
        run.create(CONFIG)
    assert names(run.path) == {"config.yaml"}


def test_a_start_that_is_killed_after_the_splits(tmp_path):
    run = RunDirectory(tmp_path)
    run.splits.write_text("{}")
    with run.held():
        run.create(CONFIG)
    assert names(run.path) == {"config.yaml"}


def test_a_resumed_run_cleans_up_and_finds_its_model(configure, tmp_path):
    run = RunDirectory(tmp_path / "run")
    train(configure(epochs=1, lr=1e-9, embedding_lr=0.0), run.path, echo=silent)
    before = load_model(run.path).state_dict()
    os.replace(run.model, run.path / ".model.1.old")  # process 1 is alive
    (run.path / ".model.1.new").mkdir()
    for name in (".1-last.ckpt", ".1-results.json", "logs/.1-metrics.csv"):
        (run.path / name).touch()
    resume(run.path, epochs=2, echo=silent)
    after = load_model(run.path).state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert not list(run.path.rglob(".*"))


def test_a_run_that_is_killed_while_it_writes_the_card(configure, tmp_path):
    run = RunDirectory(tmp_path / "run")
    train(configure(epochs=1), run.path, echo=silent)
    (run.model / ".1-README.md").touch()
    resume(run.path, epochs=2, echo=silent)
    assert not list(run.path.rglob(".*"))


@pytest.mark.parametrize("instead", ["nothing", "a new run", "a complete run"])
def test_a_directory_that_is_removed_during_the_run(configure, tmp_path, monkeypatch, instead):
    original, run = TrainingModule.on_train_epoch_start, RunDirectory(tmp_path / "run")

    def remove(self: TrainingModule) -> None:
        if self.current_epoch == 1:
            run.path.rename(tmp_path / "moved")  # as good as removed, while it is open
            if instead == "a new run":
                run.create(configure(seed=1))
            elif instead == "a complete run":
                with monkeypatch.context() as patch:
                    patch.setattr(TrainingModule, "on_train_epoch_start", original)
                    train(configure(epochs=1, seed=1), run.path, echo=silent)
        original(self)

    monkeypatch.setattr(TrainingModule, "on_train_epoch_start", remove)
    with pytest.raises(TrainingFailed, match="run: the directory was removed or moved"):
        train(configure(epochs=3, logger="none"), run.path, echo=silent)
    assert run.path.exists() == (instead != "nothing")
    if run.path.exists():
        assert run.open().training.seed == 1
    if instead == "a complete run":
        assert run.read_results()["training"]["seed"] == 1


def test_one_run_at_a_time(configure, tmp_path):
    run = RunDirectory(tmp_path / "run")
    train(configure(epochs=1), run.path, echo=silent)
    with run.held():
        with pytest.raises(TrainingError, match="another run is in it now"):
            train(configure(), run.path, overwrite=True, echo=silent)
        with pytest.raises(TrainingError, match="another run is in it now"):
            resume(run.path, epochs=2, echo=silent)
    assert len(resume(run.path, epochs=2, echo=silent)["history"]) == 2


def test_places_where_no_directory_can_be_created(configure, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(TrainingError, match="cannot create the run"):
        train(configure(), tmp_path / "file" / "run", echo=silent)
    with pytest.raises(TrainingError, match="expected a directory for the run, found a file"):
        train(configure(), tmp_path / "link", echo=silent)
    with pytest.raises(TrainingError, match="cannot create the run: File name too long"):
        train(configure(), tmp_path / ("n" * 300), echo=silent)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> dict[str, bytes]:
    """The files of a finished run of one epoch."""
    data = write_treebank(tmp_path_factory.mktemp("toy") / "data")
    run = tmp_path_factory.mktemp("runs") / "run"
    train(tiny_config(data, epochs=1), run, echo=silent)
    files = ("config.yaml", "last.ckpt", "results.json")
    return {name: (run / name).read_bytes() for name in files}


@pytest.fixture
def run(finished, tmp_path) -> RunDirectory:
    run = RunDirectory(tmp_path / "run")
    run.path.mkdir()
    for name, content in finished.items():
        (run.path / name).write_bytes(content)
    return run


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", "[" * 100_000, '{"history": 3}', "1" * 10_000, "\xff"]
)
def test_damaged_results(run, text):
    run.results.write_text(text, encoding="latin-1")
    with pytest.raises(TrainingError, match=r"results\.json: damaged") as caught:
        resume(run.path, epochs=2, echo=silent)
    assert len(str(caught.value)) < 500


def same(first: object, second: object) -> bool:
    if isinstance(first, torch.Tensor):
        return torch.equal(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    return first == second


def test_flipped_bits_of_a_checkpoint_are_noticed_or_mean_nothing(run):
    content = run.checkpoint.read_bytes()
    reader = CheckedCheckpoints()
    sound = reader.load_checkpoint(run.checkpoint)
    rng = random.Random(0)
    noticed = 0
    for _ in range(100):
        damaged = bytearray(content)
        damaged[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        run.checkpoint.write_bytes(damaged)
        try:
            assert same(reader.load_checkpoint(run.checkpoint), sound)
        except TrainingError:
            noticed += 1
    assert noticed > 50


@pytest.mark.parametrize(
    "damage", ["empty", "cut", "zeros", "foreign", "list", "shapes", "history"]
)
def test_a_damaged_checkpoint_is_one_error(run, damage):
    content = run.checkpoint.read_bytes()
    path = run.checkpoint
    if damage in ("shapes", "history"):
        changed = torch.load(path, weights_only=True)
        if damage == "shapes":
            name = next(iter(changed["state_dict"]))
            changed["state_dict"][name] = torch.zeros(3)
        else:
            changed["callbacks"]["EpochKeeper"] = {}
        torch.save(changed, path)
    elif damage in ("foreign", "list"):
        torch.save({"a": 1} if damage == "foreign" else [1], path)
    else:
        path.write_bytes({"empty": b"", "cut": content[:-100], "zeros": bytes(999)}[damage])
    with pytest.raises(TrainingError, match=r"last\.ckpt: ") as caught:
        resume(run.path, epochs=2, echo=silent)
    assert "\n" not in str(caught.value)


class Harm:
    """Would create a file if unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return Path.touch, (self.path,)


def test_a_checkpoint_runs_no_code(run, tmp_path, monkeypatch):
    # As if torch's default were used.
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0")
    content = torch.load(run.checkpoint, weights_only=True)
    torch.save({**content, "harm": Harm(tmp_path / "harm")}, run.checkpoint)
    with pytest.raises(TrainingError, match=r"last\.ckpt: damaged or not a checkpoint of a run"):
        resume(run.path, epochs=2, echo=silent)
    assert not (tmp_path / "harm").exists()


def test_checkpoints_are_loaded_with_weights_only(run, monkeypatch):
    given = []
    load = torch.load

    def recorded(*args: object, **options: object) -> object:
        given.append(options.get("weights_only"))
        return load(*args, **options)

    monkeypatch.setattr(torch, "load", recorded)
    resume(run.path, epochs=2, test=False, echo=silent)
    assert given == [True]


def test_a_deep_configuration_is_one_error(run):
    run.config.write_text("[" * 100_000)
    with pytest.raises(DataError, match=r"config\.yaml: expected a configuration"):
        resume(run.path, echo=silent)


def test_nan_weights_are_not_saved(configure, tmp_path, monkeypatch):
    original = TrainingModule.training_step

    def spoil(self: TrainingModule, *args: object) -> None:
        original(self, *args)
        with torch.no_grad():
            self.model.output.weight[0, 0] = float("nan")

    # The loss of the last step is still finite, so the epoch has one.
    monkeypatch.setattr(TrainingModule, "training_step", spoil)
    message = "after epoch 1 the weights 'output.weight' hold NaN or infinity: try a lower lr"
    with pytest.raises(TrainingFailed, match=message):
        train(configure(batch_size=100), tmp_path / "run", echo=silent)
    assert names(tmp_path) == set()


KILLED_AT_THE_END = """
import os, sys
from graphsent.cli import main
from graphsent.training import RunDirectory
name, call, *arguments = sys.argv[1:]
method, calls = getattr(RunDirectory, name), []
def killed(*given):
    calls.append(given)
    if len(calls) == int(call):
        os._exit(9)
    return method(*given)
setattr(RunDirectory, name, killed)
sys.exit(main(arguments))
"""


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("write_results", 3),
        pytest.param("write_history", 3, marks=pytest.mark.slow),
        pytest.param("write_history", 2, marks=pytest.mark.slow),
        pytest.param("write_card", 1, marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_killed_at_its_end_lacks_nothing_once_resumed(
    configure, tmp_path, name, call
):
    config = configure(epochs=2, logger="none")
    config.save(tmp_path / "config.yaml")
    train(config, tmp_path / "whole", echo=silent)
    run = RunDirectory(tmp_path / "run")
    flags = ["train", f"--config={tmp_path / 'config.yaml'}", f"--out={run.path}"]
    command = [sys.executable, "-c", KILLED_AT_THE_END, name, str(call), *flags]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 9
    resume(run.path, echo=silent)
    whole = RunDirectory(tmp_path / "whole")
    assert [entry["loss"] for entry in run.read_history()] == [
        entry["loss"] for entry in whole.read_history()
    ]
    assert names(run.model) == names(whole.model)
    with pytest.raises(TrainingError, match="this run is complete"):
        resume(run.path, echo=silent)
