"""The steps of training are those of a plain loop, with a choice on dev after each epoch."""

from __future__ import annotations

import copy

import pytest
import torch

from graphsent.models import NBoW
from graphsent.sentences import Sentence
from graphsent.training import TrainingOptions
from graphsent.training.batching import batch_sampler
from graphsent.training.optimizers import build_optimizers
from graphsent.vocabulary import Vocabulary

VOCABULARY = Vocabulary(("a", "b", "c"))
SENTENCES = [Sentence(text.split(), label) for text, label in [("a b", "1"), ("b c", "0")] * 3]


@pytest.mark.parametrize("embedding_optimizer", ["sgd", "same"])
def test_each_step_takes_the_gradients_of_its_batch(embedding_optimizer, fit):
    model = NBoW(VOCABULARY, 5, 3, dropout=0.0)
    other = copy.deepcopy(model)
    options = TrainingOptions(batch_size=2, embedding_optimizer=embedding_optimizer)
    fit(model, SENTENCES, options, 1)
    optimizers = build_optimizers(other, options)
    for numbers in batch_sampler(SENTENCES, options.batching, 2, options.seed):
        batch = other.collate([SENTENCES[number] for number in numbers])
        other.zero_grad()
        other.loss(other(batch), batch).backward()
        for optimizer in optimizers:
            optimizer.step()
    for name, value in model.named_parameters():
        torch.testing.assert_close(value, other.get_parameter(name))


def test_a_model_chooses_on_dev_after_each_epoch(monkeypatch, fit):
    chosen = []
    monkeypatch.setattr(NBoW, "choose_on_dev", lambda model, dev: chosen.append(list(dev)))
    fit(NBoW(VOCABULARY, 5, 3), SENTENCES, TrainingOptions(), 2)
    assert chosen == [SENTENCES[:1]] * 2
