"""Interrupted runs: usable at any time, and resumed to bitwise the same results."""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from toy_treebank import ADAM, silent, tiny_config, write_treebank

from graphsent.errors import FailedError
from graphsent.training import TrainingError, TrainingInterrupted, load_model, resume, train
from graphsent.training.interruption import Interruption
from graphsent.training.module import TrainingModule

EPOCHS = 4


def signal_at(monkeypatch, method: str, call: int, number: int = signal.SIGINT) -> None:
    """Sends this process a signal in the n-th call of a method of the Lightning module."""
    original, count = getattr(TrainingModule, method), [0]

    def wrapped(self: TrainingModule, *args: Any) -> Any:
        count[0] += 1
        if count[0] == call:
            os.kill(os.getpid(), number)
        return original(self, *args)

    monkeypatch.setattr(TrainingModule, method, wrapped)


def assert_same(first: dict[str, Any], second: dict[str, Any], paths: list[Any]) -> None:
    def timeless(results: dict[str, Any]) -> dict[str, Any]:
        entries = [{**entry, "seconds": 0} for entry in results["history"]]
        times = {"training_seconds": 0, "test_seconds": 0}
        return {**results, "history": entries, **times}

    assert [*timeless(first).items()] == [*timeless(second).items()]
    weights, others = (load_model(path).state_dict() for path in paths)
    assert all(torch.equal(weights[name], others[name]) for name in weights)


# 60 training sentences in batches of 25: three steps and one evaluation on dev per epoch.
@pytest.mark.parametrize(
    ("method", "call", "kept", "options"),
    [
        ("training_step", 2, 0, {}),
        ("validation_step", 1, 0, {}),
        ("training_step", 5, 1, {}),
        ("validation_step", 3, 2, {}),
        ("training_step", 12, 3, {}),
        ("on_validation_epoch_end", EPOCHS, EPOCHS, {}),
        ("training_step", 6, 1, ADAM),
        ("training_step", 6, 1, {"embedding_optimizer": "lazy_adam", "batching": "depth"}),
        ("training_step", 6, 1, {"embedding_optimizer": "same", "batching": "size"}),
        ("training_step", 6, 1, {"average": 2.0}),
        ("validation_step", 3, 2, {"average": 2.0}),
        ("training_step", 6, 1, {"schedule": "linear", "warmup": 0.3}),
    ],
)
def test_ctrl_c_at_any_time(configure, tmp_path, monkeypatch, method, call, kept, options):
    config = configure(epochs=EPOCHS, **options)
    handler = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        signal_at(patch, method, call)
        with pytest.raises(
            TrainingInterrupted, match=r"continue with: graphsent train --resume"
        ) as it:
            train(config, tmp_path / "stopped", echo=silent)
    assert it.value.signal_number == signal.SIGINT
    expected = {0: "no epoch is complete", 1: "1 epoch is kept"}.get(
        kept, f"{kept} epochs are kept"
    )
    assert expected in str(it.value)
    assert signal.getsignal(signal.SIGINT) is handler
    if kept:
        load_model(tmp_path / "stopped")

    resumed = resume(tmp_path / "stopped", echo=silent)
    whole = train(config, tmp_path / "whole", echo=silent)
    assert len(whole["history"]) == EPOCHS
    assert_same(resumed, whole, [tmp_path / "stopped", tmp_path / "whole"])


def test_an_interruption_survives_pickling():
    """As from a pool of processes, which would break if it could not read the error."""
    error = pickle.loads(pickle.dumps(TrainingInterrupted("stopped", signal.SIGTERM)))
    assert (str(error), error.signal_number) == ("stopped", signal.SIGTERM)


def test_ctrl_c_where_exceptions_are_swallowed(configure, tmp_path, monkeypatch):
    class Ending:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    original = TrainingModule.training_step

    def training_step(self: TrainingModule, *args: Any) -> Any:
        Ending()  # is gone at once
        return original(self, *args)

    monkeypatch.setattr(TrainingModule, "training_step", training_step)
    with pytest.raises(TrainingInterrupted, match="no epoch is complete"):
        train(configure(), tmp_path / "run", echo=silent)


def test_a_second_ctrl_c_does_not_wait(configure, tmp_path, monkeypatch):
    steps = []

    def training_step(*_: Any) -> None:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
        steps.append("over")

    monkeypatch.setattr(TrainingModule, "training_step", training_step)
    with pytest.raises(TrainingInterrupted):
        train(configure(), tmp_path / "run", echo=silent)
    assert not steps


def test_resuming_twice(configure, tmp_path, monkeypatch):
    config = configure(epochs=EPOCHS)
    go: list[Callable[[], Any]] = [
        lambda: train(config, tmp_path / "stopped", echo=silent),
        lambda: resume(tmp_path / "stopped", echo=silent),
    ]
    for attempt in go:
        with monkeypatch.context() as patch:
            signal_at(patch, "training_step", 5)
            with pytest.raises(TrainingInterrupted):
                attempt()
    resumed = resume(tmp_path / "stopped", echo=silent)
    whole = train(config, tmp_path / "whole", echo=silent)
    assert_same(resumed, whole, [tmp_path / "stopped", tmp_path / "whole"])


def test_a_request_to_terminate(configure, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        signal_at(patch, "training_step", 5, signal.SIGTERM)
        with pytest.raises(TrainingInterrupted) as it:
            train(configure(), tmp_path / "run", echo=silent)
    assert it.value.signal_number == signal.SIGTERM


def test_a_request_to_terminate_before_training_begins():
    def work() -> None:
        with interruption.handled():
            os.kill(os.getpid(), signal.SIGTERM)  # while other processes start
            interruption.on_train_start(trainer, trainer)
            interruption.on_train_batch_end()

    interruption, trainer = Interruption("{}".format), SimpleNamespace(world_size=2)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    with pytest.raises(TrainingInterrupted) as it:
        work()
    assert it.value.signal_number == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_before_the_processes_are_connected():
    script = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"

    def work() -> None:
        with interruption.handled():
            subprocess.run([sys.executable, "-c", script], check=True)  # would print a traceback
            # To this thread: another one would receive it at once, and pass it on some time later.
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
            interruption.setup(trainer, trainer, "fit")
            interruption.on_train_batch_end()

    interruption, trainer = Interruption("{}".format, connects=True), SimpleNamespace()
    with pytest.raises(TrainingInterrupted) as it:
        work()
    assert it.value.signal_number == signal.SIGINT
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_processes_do_not_meet_in_a_handler():
    def handle(*_: Any) -> None:
        pytest.fail("Lightning's handler may wait forever for the other processes")

    def work() -> None:
        with interruption.handled():
            signal.signal(signal.SIGTERM, handle)
            interruption.on_train_start(trainer, trainer)
            os.kill(os.getpid(), signal.SIGTERM)
            interruption.on_train_batch_end()

    interruption, before = Interruption("{}".format), signal.getsignal(signal.SIGTERM)
    trainer: Any = SimpleNamespace(world_size=2)
    try:
        with pytest.raises(TrainingInterrupted) as it:
            work()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert it.value.signal_number == signal.SIGTERM


def test_the_loss_of_another_process_is_named():
    gloo = "[/third_party/gloo/gloo/transport/tcp/pair.cc:537] Connection reset by peer"
    for error in (RuntimeError(gloo), torch.distributed.DistBackendError("remote process exited")):
        with (
            pytest.raises(FailedError, match="another process of this run has ended"),
            Interruption("{}".format).handled(),
        ):
            raise error
    others = RuntimeError("[/gloo/device.cc:83] no address"), torch.distributed.DistError("in use")
    for error in others:
        with (
            pytest.raises(RuntimeError, match=r"no address|in use"),
            Interruption("{}".format).handled(),
        ):
            raise error


def test_more_epochs_give_what_a_longer_run_gives(configure, tmp_path):
    train(configure(epochs=2), tmp_path / "a", echo=silent)
    longer = resume(tmp_path / "a", epochs=EPOCHS, echo=silent)
    whole = train(configure(epochs=EPOCHS), tmp_path / "b", echo=silent)
    assert_same(longer, whole, [tmp_path / "a", tmp_path / "b"])


def test_random_numbers_of_custom_models(configure, tmp_path, monkeypatch):
    original, draws = TrainingModule.training_step, []

    def training_step(self: TrainingModule, *args: Any) -> None:
        draws.append((random.random(), np.random.rand(), float(torch.rand(()))))
        original(self, *args)

    monkeypatch.setattr(TrainingModule, "training_step", training_step)
    train(configure(epochs=2), tmp_path / "a", echo=silent)
    whole, draws = draws, []
    train(configure(epochs=1), tmp_path / "b", echo=silent)
    resume(tmp_path / "b", epochs=2, echo=silent)
    assert draws == whole
    assert len({*draws}) == len(draws) == 6


def test_more_epochs_that_were_interrupted_are_continued(configure, tmp_path, monkeypatch):
    train(configure(epochs=2), tmp_path / "a", echo=silent)
    with monkeypatch.context() as patch:
        signal_at(patch, "training_step", 2)  # before the results say anything about it
        with pytest.raises(TrainingInterrupted, match="2 epochs are kept; continue with"):
            resume(tmp_path / "a", epochs=EPOCHS, echo=silent)
    longer = resume(tmp_path / "a", echo=silent)
    whole = train(configure(epochs=EPOCHS), tmp_path / "b", echo=silent)
    assert_same(longer, whole, [tmp_path / "a", tmp_path / "b"])
    with pytest.raises(TrainingError, match="this run is complete"):
        resume(tmp_path / "a", echo=silent)


def test_a_run_that_stopped_early_is_complete(configure, tmp_path):
    config = configure(epochs=9, lr=1e-12, embedding_lr=0.0, patience=2)
    assert len(train(config, tmp_path / "run", echo=silent)["history"]) == 3
    for epochs in (None, 3, 9, 20):
        with pytest.raises(TrainingError, match="complete: it stopped early, after 3 epochs"):
            resume(tmp_path / "run", epochs=epochs, echo=silent)


def test_resuming_after_early_stopping_trains_no_further_epochs(configure, tmp_path, monkeypatch):
    config = configure(epochs=9, lr=1e-12, embedding_lr=0.0, patience=2)

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("graphsent.training.run.evaluate", stop)  # after the last epoch
        with pytest.raises(KeyboardInterrupt):
            train(config, tmp_path / "run", echo=silent)
    results = resume(tmp_path / "run", echo=silent)
    assert len(results["history"]) == 3
    assert "test" in results


def test_runs_that_cannot_be_resumed(configure, tmp_path):
    with pytest.raises(TrainingError, match="is not a run"):
        resume(tmp_path, echo=silent)
    train(configure(epochs=2), tmp_path / "run", echo=silent)
    with pytest.raises(TrainingError, match="this run is complete"):
        resume(tmp_path / "run", echo=silent)
    with pytest.raises(TrainingError, match="has 2 epochs already"):
        resume(tmp_path / "run", epochs=1, echo=silent)
    (tmp_path / "run" / "last.ckpt").unlink()
    with pytest.raises(
        TrainingError, match=r"last\.ckpt: there is no such file, so the run cannot"
    ):
        resume(tmp_path / "run", epochs=3, echo=silent)


def test_data_that_changed_are_noticed(tmp_path):
    data = write_treebank(tmp_path / "data")
    train(tiny_config(data, epochs=1), tmp_path / "run", echo=silent)
    with (data / "sentiment" / "train.txt").open("a") as file:
        file.write("(3 (2 a) (3 bonus))\n")
    with pytest.raises(TrainingError, match="the corpus changed since this run began"):
        resume(tmp_path / "run", epochs=2, echo=silent)


def test_data_that_were_moved_are_the_same(tmp_path):
    data, run = write_treebank(tmp_path / "data"), tmp_path / "run"
    train(tiny_config(data, epochs=1), run, echo=silent)
    data.rename(tmp_path / "moved")
    config = run / "config.yaml"
    config.write_text(config.read_text().replace(str(data), str(tmp_path / "moved")))
    splits = resume(run, epochs=2, echo=silent)["corpus"]["splits"]
    assert splits["train"]["path"] == str(tmp_path / "moved" / "sentiment" / "train.txt")


@pytest.mark.parametrize(
    ("before", "now", "message"),
    [
        ("  lr: 0.05", "  lr: 5.0", r"config\.yaml: lr was 0\.05 when this run began, now 5\.0"),
        ("adagrad", "adam", "optimizer was 'adagrad' when this run began, now 'adam'"),
        ("dropout: 0.2", "dropout: 0.0", r"dropout was 0\.2 when this run began, now 0\.0"),
        ("min_count: 1", "min_count: 2", "min_count was 1 when this run began, now 2"),
        ("lower_fallback: true", "lower_fallback: false", "lower_fallback was True when this run"),
    ],
)
def test_options_that_were_edited_are_noticed(configure, tmp_path, before, now, message):
    train(configure(epochs=1), tmp_path / "run", echo=silent)
    path = tmp_path / "run" / "config.yaml"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, now))
    with pytest.raises(TrainingError, match=message):
        resume(tmp_path / "run", epochs=2, echo=silent)
    path.write_text(text.replace("logger: ", "logger: none #"))
    assert len(resume(tmp_path / "run", epochs=2, echo=silent)["history"]) == 2
