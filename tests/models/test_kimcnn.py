"""Kim's CNN: which word vectors are tuned, and the norm constraint of the output weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from graphsent.errors import ModelError
from graphsent.models import KimCNN, Sentence
from graphsent.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["a", "b", "c"])
SENTENCES = [Sentence(["a", "b", "c"], "0"), Sentence(["c"], "1")]
VECTORS = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))


def after_training(variant: str) -> KimCNN:
    model = KimCNN(VOCABULARY, 2, 5, heights=(2, 3), maps=4, variant=variant)
    model.init_embeddings(VECTORS)
    batch = model.collate(SENTENCES)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        model.loss(model(batch), batch).backward()
        optimizer.step()
        model.after_step()
    return model


@pytest.mark.parametrize("variant", ["nonstatic", "static", "multichannel"])
def test_which_vectors_are_tuned(variant):
    model = after_training(variant)
    tuned = (model.embedding.weight != VECTORS).any(1)
    in_use = torch.tensor([False, True, True, True])
    assert torch.equal(tuned, in_use if variant != "static" else torch.zeros_like(in_use))
    if variant == "multichannel":
        assert torch.equal(model.fixed_vectors, VECTORS)
    else:
        assert model.fixed_vectors is None
    words = torch.tensor([1, 3])
    model.eval()
    expected = model.embedding.weight[words]
    expected = expected + VECTORS[words] if variant == "multichannel" else expected
    torch.testing.assert_close(model.word_vectors(words), expected)


def test_both_channels_are_saved(tmp_path):
    model = after_training("multichannel").eval()
    model.save_pretrained(tmp_path / "model")
    loaded = KimCNN.from_pretrained(tmp_path / "model")
    assert torch.equal(loaded.fixed_vectors, VECTORS)
    np.testing.assert_array_equal(loaded.encode(SENTENCES), model.encode(SENTENCES))


def test_channels_have_separate_dropout():
    model = KimCNN(VOCABULARY, 2, 500, variant="multichannel", embedding_dropout=0.5).train()
    model.init_embeddings(torch.ones(4, 500))
    counts = model.word_vectors(torch.tensor([1])).flatten().long().bincount(minlength=5)
    assert counts.tolist()[1::2] == [0, 0]  # each is 0 or 2: sums are 0, 2 or 4
    assert all(count > 80 for count in counts.tolist()[::2])


@pytest.mark.parametrize("limit", [0.0, 1.0])
def test_norms_of_output_weights_are_bounded_after_a_step(limit):
    model = KimCNN(VOCABULARY, 3, 5, heights=(2,), maps=2, max_norm=limit)
    rows = torch.tensor([[0.3, 0.4], [3.0, 4.0], [0.6, 0.8]])
    with torch.no_grad():
        model.output.weight.copy_(rows)
    filters = model.encoder.convolutions[0].weight.detach().clone()
    model.after_step()
    expected = torch.tensor([[0.3, 0.4], [0.6, 0.8], [0.6, 0.8]]) if limit else rows
    torch.testing.assert_close(model.output.weight.detach(), expected)
    assert torch.equal(model.encoder.convolutions[0].weight, filters)


def test_vectors_of_another_size_are_rejected():
    with pytest.raises(ModelError, match=r"word vectors: expected shape \(4, 5\)"):
        KimCNN(VOCABULARY, 2, 5).init_embeddings(torch.ones(4, 6))


@pytest.mark.parametrize("limit", [-1.0, math.inf, math.nan])
def test_limits_that_would_change_weights_otherwise(limit):
    with pytest.raises(ModelError, match="max_norm: expected a positive number, or 0 for no limit"):
        KimCNN(VOCABULARY, 3, 5, maps=2, max_norm=limit)
