"""Learning-rate schedules."""

from __future__ import annotations

from typing import Any

import pytest
from pytorch_lightning import Trainer
from pytorch_lightning.callbacks import StochasticWeightAveraging
from toy_treebank import silent

from graphsent.models import TreeLSTMClassifier
from graphsent.tasks import get_task
from graphsent.training import (
    TrainingError,
    TrainingModule,
    TrainingOptions,
    TreeDataModule,
    resume,
    train,
)
from graphsent.training.schedules import share_of_rate
from graphsent.trees import parse_trees
from graphsent.vocabulary import Vocabulary


@pytest.mark.parametrize(
    ("schedule", "warmup", "expected"),
    [
        ("constant", 0.0, [1, 1, 1, 1, 1]),
        ("linear", 0.0, [1, 0.8, 0.6, 0.4, 0.2]),
        ("constant", 0.5, [1 / 2, 1, 1, 1, 1]),
        ("linear", 0.4, [1 / 2, 1, 1, 2 / 3, 1 / 3]),
        ("linear", 0.99, [1 / 4, 2 / 4, 3 / 4, 1, 1]),
        ("linear", 0.1, [1, 0.8, 0.6, 0.4, 0.2]),
    ],
)
def test_factors_of_the_learning_rate(schedule, warmup, expected):
    assert [share_of_rate(step, 5, schedule, warmup) for step in range(5)] == pytest.approx(
        expected
    )


def test_a_run_of_one_step_and_steps_after_the_last():
    assert share_of_rate(0, 1, "linear", 0.9) == 1
    assert share_of_rate(7, 5, "linear", 0.0) == 0


@pytest.fixture
def rates(monkeypatch) -> list[list[float]]:
    """The learning rates of each step."""
    seen: list[list[float]] = []
    original = TrainingModule.training_step

    def step(module, *arguments):
        groups = [group for each in module.trainer.optimizers for group in each.param_groups]
        seen.append([group["lr"] for group in groups])
        original(module, *arguments)

    monkeypatch.setattr(TrainingModule, "training_step", step)
    return seen


@pytest.mark.parametrize("embedding_optimizer", ["sgd", "same"])
def test_learning_rates_of_a_run(quietly_trained, rates, embedding_optimizer):
    options = {"lr": 0.05, "embedding_lr": 0.2, "embedding_optimizer": embedding_optimizer}
    quietly_trained(epochs=4, schedule="linear", warmup=0.25, **options)
    shares = [share_of_rate(step, 12, "linear", 0.25) for step in range(12)]
    # 60 sentences in batches of 25
    assert rates == [pytest.approx([0.05 * share, 0.2 * share]) for share in shares]


def test_a_run_with_more_epochs_resumes_at_their_learning_rates(configure, tmp_path, rates):
    train(configure(epochs=2, schedule="linear", lr=0.05), tmp_path / "run", echo=silent)
    resume(tmp_path / "run", epochs=4, echo=silent)
    expected = [0.05 * share_of_rate(step, 6, "linear", 0.0) for step in range(6)]
    expected += [0.05 * share_of_rate(step, 12, "linear", 0.0) for step in range(6, 12)]
    assert [first for first, *_ in rates] == pytest.approx(expected)


def trainer_of(options: TrainingOptions, **limits) -> tuple[Trainer, dict[str, Any]]:
    """A Trainer, and the arguments of its ``fit``: a small model with four batches per epoch."""
    task = get_task("sst5")
    trees = parse_trees("(1 (2 good) (3 film))" * 4)
    model = TreeLSTMClassifier(vocab=Vocabulary(["good", "film"]), num_classes=5, hidden=3)
    trainer = Trainer(**limits, logger=False, enable_checkpointing=False, enable_progress_bar=False)
    data = TreeDataModule(model, trees, trees, options)
    return trainer, {"model": TrainingModule(model, task, options), "datamodule": data}


@pytest.mark.parametrize("embedding_optimizer", ["sgd", "same"])
@pytest.mark.parametrize(("max_steps", "max_epochs"), [(6, 100), (7, -1), (100, 2)])
def test_a_trainer_may_limit_the_steps(rates, embedding_optimizer, max_steps, max_epochs):
    options = TrainingOptions(
        schedule="linear", lr=0.05, batch_size=1, embedding_optimizer=embedding_optimizer
    )
    trainer, arguments = trainer_of(options, max_steps=max_steps, max_epochs=max_epochs)
    trainer.fit(**arguments)
    num_steps = len(rates)
    expected = [0.05 * share_of_rate(step, num_steps, "linear", 0.0) for step in range(num_steps)]
    assert [first for first, *_ in rates] == pytest.approx(expected)


@pytest.mark.parametrize("schedule", ["constant", "linear"])
def test_stochastic_weight_averaging_reaches_its_learning_rate(rates, schedule):
    options = TrainingOptions(schedule=schedule, lr=0.05, embedding_optimizer="same")
    averaging = StochasticWeightAveraging(
        0.01, swa_epoch_start=2, annealing_epochs=2, annealing_strategy="linear"
    )
    trainer, arguments = trainer_of(options, max_epochs=5, callbacks=[averaging])
    trainer.fit(**arguments)
    first = [0.05, 0.05 if schedule == "constant" else 0.04]
    assert [rate for rate, *_ in rates[:2]] == pytest.approx(first)
    assert [rate for rate, *_ in rates[3:]] == pytest.approx([0.01, 0.01])


def test_a_trainer_without_a_maximum_of_steps_is_rejected():
    trainer, arguments = trainer_of(TrainingOptions(schedule="linear"), max_epochs=-1)
    with pytest.raises(TrainingError, match="the Trainer needs max_epochs or max_steps"):
        trainer.fit(**arguments)
