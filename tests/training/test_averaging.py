"""Weight averaging: the averages, and where they replace the weights."""

from __future__ import annotations

import pytest
import torch
from toy_treebank import silent

from graphsent.training import evaluate, load_model, train
from graphsent.training.averaging import WeightAverage
from graphsent.training.module import TrainingModule

EXPONENT = 2.0


@pytest.mark.parametrize(("exponent", "shares"), [(0, [1, 1, 1, 1]), (1, [1, 2, 3, 4])])
def test_steps_are_weighted_by_a_power_of_their_number(exponent, shares):
    values = torch.randn(4, 3, dtype=torch.float64)
    weight = torch.zeros(3, dtype=torch.float64)
    average = WeightAverage([weight], exponent)
    for value in values:
        weight.copy_(value)
        average.update()
    with average.applied():
        expected = (values * torch.tensor(shares)[:, None]).sum(0) / sum(shares)
        torch.testing.assert_close(weight, expected)
    assert torch.equal(weight, values[-1])


def test_a_run_is_evaluated_and_saved_with_averaged_weights(configure, tmp_path, monkeypatch):
    steps: list[dict[str, torch.Tensor]] = []
    original = TrainingModule.training_step

    def step(module, *arguments):
        original(module, *arguments)
        state = module.model.state_dict()
        steps.append({name: value.clone() for name, value in state.items()})

    monkeypatch.setattr(TrainingModule, "training_step", step)
    config = configure(epochs=1, average=EXPONENT)
    results = train(config, tmp_path / "run", test=False, echo=silent)
    assert len(steps) > 2
    shares = torch.tensor([s * (s + 1.0) for s in range(1, len(steps) + 1)])
    shares /= shares.sum()
    model = load_model(tmp_path / "run")
    for name, weight in model.state_dict().items():
        values = torch.stack([each[name] for each in steps])
        expected = values[-1] if "embedding" in name else torch.tensordot(shares, values, 1)
        torch.testing.assert_close(weight, expected)
    assert not torch.allclose(model.output.weight, steps[-1]["output.weight"])
    task, data = config.load_data(splits=("dev",))
    assert results["dev"] == pytest.approx(evaluate(model, task, data.splits["dev"]), abs=1e-6)


def test_training_steps_are_unchanged_by_averaging(quietly_trained):
    plain = quietly_trained("plain", epochs=3)
    averaged = quietly_trained("averaged", epochs=3, average=EXPONENT)
    assert [entry["loss"] for entry in averaged["history"]] == [
        entry["loss"] for entry in plain["history"]
    ]
