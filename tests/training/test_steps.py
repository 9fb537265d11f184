"""The steps of training are those of a plain loop, with a choice on dev after each epoch."""

from __future__ import annotations

import copy

import pytest
import torch
from pytorch_lightning import Trainer

from graphsent.models import NBoW
from graphsent.sentences import Sentence
from graphsent.tasks import get_task
from graphsent.training import TrainingModule, TrainingOptions, TreeDataModule
from graphsent.training.batching import batch_sampler
from graphsent.training.optimizers import build_optimizers
from graphsent.vocabulary import Vocabulary

VOCABULARY = Vocabulary(("a", "b", "c"))
SENTENCES = [Sentence(text.split(), label) for text, label in [("a b", "1"), ("b c", "0")] * 3]


def fit(model: NBoW, options: TrainingOptions, epochs: int) -> None:
    Trainer(
        max_epochs=epochs,
        logger=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=False,
        num_sanity_val_steps=0,
    ).fit(
        TrainingModule(model, get_task("sst5"), options),
        TreeDataModule(model, SENTENCES, SENTENCES[:1], options),
    )


@pytest.mark.parametrize("embedding_optimizer", ["sgd", "same"])
def test_each_step_takes_the_gradients_of_its_batch(embedding_optimizer):
    model = NBoW(VOCABULARY, 5, 3, dropout=0.0)
    other = copy.deepcopy(model)
    options = TrainingOptions(batch_size=2, embedding_optimizer=embedding_optimizer)
    fit(model, options, 1)
    optimizers = build_optimizers(other, options)
    for numbers in batch_sampler(SENTENCES, options.batching, 2, options.seed):
        batch = other.collate([SENTENCES[number] for number in numbers])
        other.zero_grad()
        other.loss(other(batch), batch).backward()
        for optimizer in optimizers:
            optimizer.step()
    for name, value in model.named_parameters():
        torch.testing.assert_close(value, other.get_parameter(name))


def test_a_model_chooses_on_dev_after_each_epoch(monkeypatch):
    chosen = []
    monkeypatch.setattr(NBoW, "choose_on_dev", lambda model, dev: chosen.append(list(dev)))
    fit(NBoW(VOCABULARY, 5, 3), TrainingOptions(), 2)
    assert chosen == [SENTENCES[:1]] * 2
