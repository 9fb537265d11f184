"""Optimizers: which parameters they change, and how."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from graphsent.models.embeddings.contextual import Contextual, ContextualFeatures
from graphsent.training.optimizers import (
    build_optimizers,
    clip_gradients,
    freeze_word_tables,
    take_step,
    takes_rows,
)
from graphsent.training.options import TrainingOptions


def make_model(sparse: bool = False) -> nn.ModuleDict:
    return nn.ModuleDict(
        {"embedding": nn.Embedding(5, 3, sparse=sparse), "output": nn.Linear(3, 2)}
    )


def step(model: nn.ModuleDict, options: TrainingOptions) -> None:
    """One step on a loss whose gradients are those of a sum."""
    optimizers = build_optimizers(model, options)
    model["embedding"](torch.tensor([1, 3, 3])).sum().backward()
    model["output"].weight.sum().backward()
    for optimizer in optimizers:
        optimizer.step()


@pytest.mark.parametrize("sparse", [False, True])
def test_word_vectors_take_plain_steps_without_decay(sparse):
    model = make_model(sparse)
    before = model["embedding"].weight.detach().clone()
    step(model, TrainingOptions(embedding_lr=0.5, weight_decay=10.0))
    change = model["embedding"].weight.detach() - before
    expected = -0.5 * torch.tensor([0.0, 1.0, 0.0, 2.0, 0.0])[:, None].expand(5, 3)
    torch.testing.assert_close(change, expected)


def test_the_rest_takes_adagrad_steps_on_gradients_with_decay():
    model = make_model()
    before = model["output"].weight.detach().clone()
    step(model, TrainingOptions(lr=0.05, weight_decay=0.5))
    gradient = 1.0 + 0.5 * before  # of sum + 0.5 / 2 * squared norm
    expected = before - 0.05 * gradient / (gradient.abs() + 1e-10)
    torch.testing.assert_close(model["output"].weight.detach(), expected)


@pytest.mark.parametrize("name", ["adagrad", "adadelta", "adam"])
def test_one_optimizer_for_all_with_the_learning_rate_of_the_vectors(name):
    options = TrainingOptions(
        optimizer=name, embedding_optimizer="same", lr=0.5, embedding_lr=0.25, weight_decay=0.125
    )
    (optimizer,) = build_optimizers(make_model(), options)
    assert type(optimizer).__name__.lower().removeprefix("row") == name
    rest, tables = optimizer.param_groups
    assert (rest["lr"], rest["weight_decay"]) == (0.5, 0.125)
    assert (tables["lr"], tables["weight_decay"]) == (0.25, 0.0)
    assert [len(group["params"]) for group in (rest, tables)] == [2, 1]


@pytest.mark.parametrize(
    ("optimizer", "embedding_optimizer", "rows"),
    [
        ("adam", "sgd", True),
        ("adagrad", "same", True),
        ("adam", "lazy_adam", True),
        ("adam", "same", False),
        ("adadelta", "same", True),
    ],
)
def test_which_optimizers_take_rows(optimizer, embedding_optimizer, rows):
    options = TrainingOptions(optimizer=optimizer, embedding_optimizer=embedding_optimizer)
    assert takes_rows(options) is rows


def trained_table(options: TrainingOptions, *, sparse: bool) -> torch.Tensor:
    """Vectors after steps on some words, some twice in a step, one never."""
    torch.manual_seed(0)
    model = make_model(sparse).double()
    optimizers = build_optimizers(model, options)
    for words in ([1, 3, 3], [1, 2], [4, 4, 1], [3, 2]):
        for optimizer in optimizers:
            optimizer.zero_grad()
        (model["output"](model["embedding"](torch.tensor(words))) ** 2).sum().backward()
        take_step(optimizers)
    return model["embedding"].weight.detach()


@pytest.mark.parametrize(
    ("optimizer", "embedding_optimizer"),
    [("adagrad", "sgd"), ("adagrad", "same"), ("adadelta", "same")],
)
def test_steps_on_rows_are_those_on_the_whole_table(optimizer, embedding_optimizer):
    options = TrainingOptions(
        optimizer=optimizer, embedding_optimizer=embedding_optimizer, embedding_lr=0.25
    )
    whole = trained_table(options, sparse=False)
    torch.testing.assert_close(trained_table(options, sparse=True), whole, rtol=1e-12, atol=1e-12)


def test_lazy_adam_is_adam_for_words_in_every_step():
    torch.manual_seed(0)
    models = [make_model(sparse) for sparse in (True, False)]
    models[1].load_state_dict(models[0].state_dict())
    for model, name in zip(models, ("lazy_adam", "same"), strict=True):
        options = TrainingOptions(optimizer="adam", embedding_optimizer=name, embedding_lr=0.1)
        optimizers = build_optimizers(model, options)
        for words in ([1, 2], [1], [1]):
            for optimizer in optimizers:
                optimizer.zero_grad()
            (model["embedding"](torch.tensor(words)) ** 2).sum().backward()
            take_step(optimizers)
            if words == [1, 2]:
                after_first = model["embedding"].weight.detach()[2].clone()
        if name == "lazy_adam":  # unlike with Adam, whose moments keep moving it
            assert torch.equal(model["embedding"].weight[2], after_first)
        else:
            assert not torch.equal(model["embedding"].weight[2], after_first)
    lazy, plain = (model["embedding"].weight.detach() for model in models)
    torch.testing.assert_close(lazy[1], plain[1])


def test_lazy_adam_is_adam_for_tables_with_whole_gradients():
    torch.manual_seed(0)
    models = [make_model(sparse) for sparse in (True, False)]
    for model in models:
        model["labels"] = nn.Embedding(4, 3)
    models[1].load_state_dict(models[0].state_dict())
    for model, name in zip(models, ("lazy_adam", "same"), strict=True):
        options = TrainingOptions(optimizer="adam", embedding_optimizer=name, embedding_lr=0.1)
        optimizers = build_optimizers(model, options)
        for label in (0, 2):
            model.zero_grad()
            words = model["embedding"](torch.tensor([1, 2]))
            (words * model["labels"](torch.tensor([label, label]))).sum().backward()
            take_step(optimizers)
    lazy, plain = (model["labels"].weight.detach() for model in models)
    torch.testing.assert_close(lazy, plain)


def test_an_encoder_takes_steps_of_adam_at_its_own_rate():
    model = make_model()
    network = nn.Sequential(nn.Embedding(4, 3), nn.Linear(3, 3))
    model["features"] = ContextualFeatures(Contextual("bert", "", 3, tuned=True), 0.0)
    model["features"].network = network
    rest, tables, encoder = build_optimizers(model, TrainingOptions(encoder_lr=0.5))
    (group,) = encoder.param_groups
    assert isinstance(encoder, torch.optim.Adam)
    assert (group["lr"], group["weight_decay"]) == (0.5, 0.0)
    assert [*map(id, group["params"])] == [*map(id, network.parameters())]
    assert [len(each.param_groups[0]["params"]) for each in (rest, tables)] == [2, 1]


@pytest.mark.parametrize("embedding_optimizer", ["sgd", "same"])
def test_a_rate_of_zero_freezes_word_vectors(embedding_optimizer):
    model = make_model()
    options = TrainingOptions(embedding_lr=0, embedding_optimizer=embedding_optimizer)
    (optimizer,) = build_optimizers(model, options)
    freeze_word_tables(model, options)
    assert not model["embedding"].weight.requires_grad
    assert len(optimizer.param_groups) == 1


@pytest.mark.parametrize("sparse", [False, True])
def test_clipping_scales_all_gradients_to_one_norm(sparse):
    model = make_model(sparse)
    model["embedding"](torch.tensor([1, 3, 3])).sum().backward()
    model["output"].weight.sum().backward()
    norm = (3 * 1.0 + 3 * 4.0 + 6 * 1.0) ** 0.5
    clip_gradients(model.parameters(), 2 * norm)  # short enough already
    assert model["output"].weight.grad.eq(1).all()
    clip_gradients(model.parameters(), 1.0)
    torch.testing.assert_close(model["output"].weight.grad[0, 0], torch.tensor(1 / norm))
    table = model["embedding"].weight.grad
    table = table.to_dense() if sparse else table
    torch.testing.assert_close(table[3, 0], torch.tensor(2 / norm))
