"""Options: defaults in one place, values checked."""

from __future__ import annotations

import pytest

from graphsent.training import TrainingError, TrainingOptions


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("epochs", 0, "epochs: expected at least 1, got 0"),
        ("batch_size", -1, "batch_size: expected at least 1, got -1"),
        ("lr", 0, "lr: expected a positive number, got 0.0"),
        ("embedding_lr", -0.1, "embedding_lr: expected a non-negative number, got -0.1"),
        ("weight_decay", -1, "weight_decay: expected a non-negative number"),
        ("max_grad_norm", -1, "max_grad_norm: expected a non-negative number"),
        ("average", -1.0, "average: expected a non-negative number"),
        ("warmup", -0.1, "warmup: expected a non-negative number"),
        ("warmup", 1, "warmup: expected less than 1, got 1.0"),
        ("schedule", "lineal", "schedule: expected one of constant, linear, got 'lineal'"),
        ("patience", -1, "patience: expected a non-negative number"),
        ("optimizer", "sgdd", "optimizer: expected one of adagrad, adadelta, adam, got 'sgdd'"),
        ("embedding_optimizer", "adam", "embedding_optimizer: expected one of sgd, same"),
        ("loss_nodes", "leaves", "loss_nodes: expected one of all, root, got 'leaves'"),
        ("epochs", 2.5, "epochs: expected an integer, got 2.5"),
        ("lr", "fast", "lr: expected a number, got 'fast'"),
        ("lr", 10**400, "lr: expected a number, got 1000"),
        ("lr", float("nan"), r"lr: expected a finite number below 3e\+38, got nan"),
        ("seed", 2**63, f"seed: expected at most {2**63 - 1}, got {2**63}"),
        ("device", 0, "device: expected a string, got 0"),
        ("device", "gpu", "device: expected cpu, cuda or cuda:N, got 'gpu'"),
    ],
)
def test_values_out_of_range_are_rejected(name, value, message):
    with pytest.raises(TrainingError, match=message):
        TrainingOptions(**{name: value})


def test_numbers_may_be_written_as_integers():
    options = TrainingOptions(lr=1)
    assert options.lr == 1
    assert isinstance(options.lr, float)


def test_the_options_are_plain_values():
    options = TrainingOptions(epochs=3)
    assert TrainingOptions(**options.to_dict()) == options
