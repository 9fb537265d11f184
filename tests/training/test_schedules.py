"""Learning rates over the steps of a run."""

from __future__ import annotations

import pytest
from pytorch_lightning import Trainer

from graphsent.models import TreeLSTMClassifier
from graphsent.tasks import get_task
from graphsent.training import TrainingError, TrainingModule, TrainingOptions, TreeDataModule
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
def test_shares_of_the_rate(schedule, warmup, expected):
    assert [share_of_rate(step, 5, schedule, warmup) for step in range(5)] == pytest.approx(
        expected
    )


def test_a_run_of_one_step_and_steps_after_the_last():
    assert share_of_rate(0, 1, "linear", 0.9) == 1
    assert share_of_rate(7, 5, "linear", 0.0) == 0


@pytest.mark.parametrize("embedding_optimizer", ["sgd", "same"])
def test_every_rate_of_a_run(quietly_trained, monkeypatch, embedding_optimizer):
    rates: list[list[float]] = []
    original = TrainingModule.training_step

    def step(module, *arguments):
        groups = [group for each in module.trainer.optimizers for group in each.param_groups]
        rates.append([group["lr"] for group in groups])
        original(module, *arguments)

    monkeypatch.setattr(TrainingModule, "training_step", step)
    options = {"lr": 0.05, "embedding_lr": 0.2, "embedding_optimizer": embedding_optimizer}
    quietly_trained(epochs=4, schedule="linear", warmup=0.25, **options)
    shares = [share_of_rate(step, len(rates), "linear", 0.25) for step in range(len(rates))]
    assert len(rates) == 12  # 60 sentences by 25
    assert rates == [pytest.approx([0.05 * share, 0.2 * share]) for share in shares]


def test_a_rate_of_nearly_zero_leaves_weights_nearly_as_they_are(quietly_trained):
    """Warming up in all but the last step is the same as small rates."""
    constant = quietly_trained("constant", epochs=1)
    warming = quietly_trained("warming", epochs=1, warmup=0.99)
    assert constant["history"][0]["loss"] < warming["history"][0]["loss"]


def test_a_trainer_without_an_end_is_refused():
    task = get_task("sst5")
    trees = [parse_trees("(1 (2 good) (3 film))")[0]]
    model = TreeLSTMClassifier(vocab=Vocabulary(["good", "film"]), num_classes=5, hidden=3)
    options = TrainingOptions(schedule="linear")
    trainer = Trainer(
        max_epochs=-1, logger=False, enable_checkpointing=False, enable_progress_bar=False
    )
    with pytest.raises(TrainingError, match="the Trainer needs max_epochs or max_steps"):
        trainer.fit(
            TrainingModule(model, task, options),
            datamodule=TreeDataModule(model, trees, trees, options),
        )
