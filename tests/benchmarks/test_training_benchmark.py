"""The steps that the benchmark times are those of ``graphsent train`` itself, one at a time."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from toy_treebank import silent, tiny_config, write_treebank

from graphsent.models import load_pretrained
from graphsent.training import train
from graphsent.training.setting import prepare
from graphsent.training.subnormals import flushes

BATCH_SIZE = 20
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def config(tmp_path):
    return tiny_config(write_treebank(tmp_path), epochs=1, batch_size=BATCH_SIZE)


@pytest.fixture
def start(config):
    """Starts trainees of one setting, and stops them."""
    from harness.trainees import Trainee

    setting = prepare(config, silent)
    started = []

    def start(make=Trainee, **options):
        started.append(make(setting, config.training, "it", **options))
        return started[-1]

    yield start
    for trainee in reversed(started):
        trainee.close()


@pytest.fixture
def batches(config):
    """All batches of an epoch."""
    from harness.trainees import examples_of, portions

    setting = prepare(config, silent)
    return portions(examples_of(setting), config.training, 3)


def weights(model):
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


def test_steps_are_those_of_the_program(config, batches, start, tmp_path):
    train(config, tmp_path / "run", test=False, echo=silent)
    trained = load_pretrained(tmp_path / "run" / "model")
    trainee = start()
    for batch in batches:
        trainee.step(trainee.prepare(batch))
    assert torch.equal(weights(trainee.model), weights(trained))


def test_batches_are_full_and_continue_after_an_epoch(config, batches):
    from harness.trainees import examples_of, portions

    examples = examples_of(prepare(config, silent))
    found = portions(examples, replace(config.training, batch_size=25), 5)
    assert [len(batch.indices) for batch in found] == [25] * 5
    assert found[0].examples == [examples[index] for index in found[0].indices]
    assert found[0].indices[:20] == batches[0].indices


def test_each_contender_has_its_own_flush_setting(batches, start, monkeypatch):
    seen = []
    contenders = [start(flush=True), start(flush=False)]
    for trainee in contenders:
        monkeypatch.setattr(trainee.model, "after_step", lambda: seen.append(flushes()))
    for trainee in (*contenders, *contenders):
        trainee.step(batches[0])
        assert not flushes()
    assert seen == [True, False, True, False]


def test_another_engine_continues_from_the_trained_state(batches, start):
    ours, theirs = start(), start(engine="dgl")
    for batch in batches[:2]:
        ours.step(batch)
    theirs.take(ours)
    assert theirs.model.engine == "dgl"
    for trainee in (ours, theirs):
        torch.manual_seed(1)  # seeds dropout
        trainee.step(batches[2])
    difference = weights(ours.model) - weights(theirs.model)
    assert difference.abs().max() < 1e-6


def test_a_beginner_always_takes_first_steps(batches, start):
    from harness.trainees import Beginner

    new, beginner = start(), start(make=Beginner)
    for batch in (batches[1], batches[2], batches[0]):
        beginner.step(beginner.fresh(batch))
    torch.manual_seed(1)  # seeds dropout
    new.step(batches[0])
    torch.manual_seed(1)
    beginner.step(beginner.fresh(batches[0]))
    assert torch.equal(weights(new.model), weights(beginner.model))


PEERS = [("dgl_example", "DglExample"), ("dynet38", "DyNet")]


@pytest.mark.parametrize(("module", "name"), PEERS)
def test_other_packages_train_and_hand_over_their_state(config, batches, module, name):
    from harness.bench import quiet_dgl

    # Not imported: that would flush subnormal numbers in all later tests.
    if module == "dynet38" and not importlib.util.find_spec("dynet"):
        pytest.skip("dynet38 is not installed")
    make = getattr(importlib.import_module(f"peers.{module}"), name)
    assert not flushes()
    model = prepare(config, silent).model
    first, second = (make(model, config.training, flush) for flush in (False, True))
    prepared = [first.prepare(batch) for batch in batches]
    with quiet_dgl():
        before = first.outcome(prepared[0])[1]
        assert second.outcome(prepared[0])[1] == pytest.approx(before)
        for each in prepared * 5:
            first.step(each)
        after = first.outcome(prepared[0])[1]
        assert after < 0.8 * before
        second.take(first)
        assert second.outcome(prepared[0])[1] == pytest.approx(after, rel=1e-4)
        second.step(prepared[1])
        assert first.outcome(prepared[0])[1] == pytest.approx(after)


@pytest.mark.parametrize("name", ["treelstm", "treenet", "recnn", "arnn", "bitreelstm"])
def test_dynet_computes_the_same_as_every_tree_model(name, config):
    if not importlib.util.find_spec("dynet"):
        pytest.skip("dynet38 is not installed")
    from harness.trainees import Trainee, examples_of, portions
    from peers.dynet38 import DyNet

    options = {"embedding_dim": 8, "hidden": 8}
    config = replace(config, model=name, model_options=options)
    if name == "arnn":
        config = replace(config, data_dir=str(REPOSITORY / "data"))  # with dependency trees
    setting = prepare(config, silent)
    (batch,) = portions(examples_of(setting), config.training, 1)
    ours = Trainee(setting, config.training, "ours")
    logits, loss = ours.outcome(batch)
    ours.close()
    theirs = DyNet(setting.model, config.training, True)
    its_logits, its_loss = theirs.outcome(theirs.prepare(batch))
    np.testing.assert_allclose(its_logits, logits, atol=1e-5)
    assert its_loss == pytest.approx(loss, rel=1e-5)


def test_exceptions_of_a_run_are_raised_by_step(batches, start, monkeypatch):
    trainee = start()
    monkeypatch.setattr(trainee.model, "after_step", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        trainee.step(batches[0])
    trainee.close()
    assert not trainee.thread.is_alive()
