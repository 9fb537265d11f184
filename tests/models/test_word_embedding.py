"""The word table: look-up, initial vectors, sparse updates."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils import prune

from graphsent.errors import ModelError
from graphsent.models import NBoW
from graphsent.models.embeddings.table import WordEmbedding
from graphsent.vocabulary import Vocabulary

TOKEN = torch.tensor([2, -1, 0, 2])


def test_nodes_without_a_word_are_zero():
    table = WordEmbedding(4, 3)
    rows = table(TOKEN)
    assert torch.equal(
        rows, torch.stack([*table.weight[[2]], torch.zeros(3), *table.weight[[0, 2]]])
    )
    assert table(TOKEN[:0]).shape == (0, 3)
    assert table(torch.tensor([-1])).tolist() == [[0, 0, 0]]


@given(st.lists(st.integers(-1, 5), max_size=12))
def test_indexed_rows_are_the_same(tokens):
    token = torch.tensor(tokens, dtype=torch.int64)
    table = WordEmbedding(6, 3)
    feat = table.indexed(token)
    assert torch.equal(feat.dense(), table(token))
    assert len(feat.rows) == len({word for word in tokens if word >= 0})

    table = WordEmbedding(6, 3, dropout=0.5)
    torch.manual_seed(0)
    feat = table.indexed(token)
    torch.manual_seed(0)
    assert torch.equal(feat.dense(), table(token))
    assert len(feat.rows) == sum(word >= 0 for word in tokens)


def test_a_pruned_table_trains():
    """Pruning computes the table anew in a hook, which a look-up past the module would miss."""
    table = WordEmbedding(4, 3)
    mask = torch.tensor([[1.0, 0.0, 1.0]]).expand(4, 3)
    prune.custom_from_mask(table, "weight", mask)
    for _ in range(2):
        rows = table.indexed(TOKEN).rows
        assert torch.equal(rows, (table.weight_orig * mask)[[0, 2]])
        rows.sum().backward()
    assert torch.equal(table.weight_orig.grad, 2 * mask * torch.tensor([[1], [0], [1], [0]]))


def test_on_another_device_the_host_reads_no_value():
    table = WordEmbedding(4, 3).to("meta")
    assert table(TOKEN).device.type == table(TOKEN.to("meta")).device.type == "meta"
    feat = table.indexed(TOKEN)
    assert feat.rows.device.type == "meta"
    assert feat.index.is_cpu


def test_vectors_start_small():
    weight = WordEmbedding(500, 20).weight.detach()
    assert weight.abs().max() <= 0.05
    assert weight.std() == pytest.approx(0.1 / 12**0.5, rel=0.05)


def test_dropout_that_is_turned_on_alone():
    """For Monte Carlo samples of a trained model's predictions."""
    table = WordEmbedding(2, 1000, dropout=0.25).eval()
    token = torch.tensor([1, 0, 1])
    assert (table.indexed(token).dense() != 0).all()
    table.dropout.train()
    for rows in (table(token), table.indexed(token).dense()):
        assert (rows == 0).any(1).all()
        assert not torch.equal(rows[0], rows[2])


def test_dropout_is_drawn_for_each_occurrence():
    table = WordEmbedding(2, 1000, dropout=0.25)
    dropped = table(torch.tensor([1, 1])) == 0
    assert not torch.equal(dropped[0], dropped[1])
    assert dropped.float().mean() == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize("make", [np.asarray, torch.as_tensor])
def test_given_vectors_are_copied(make):
    matrix = make(np.arange(6.0).reshape(2, 3))
    table = WordEmbedding(2, 3)
    table.init_vectors(matrix)
    assert table.weight.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert table.weight.dtype == torch.float32
    assert table.weight.requires_grad
    matrix[0, 0] = 9
    assert table.weight[0, 0] == 0
    with pytest.raises(
        ModelError, match=r"expected shape \(2, 3\), one row per word, got \(3, 2\)"
    ):
        table.init_vectors(matrix.T)


@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled")
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adagrad])
def test_a_step_changes_only_words_in_use(sparse, optimizer):
    model = NBoW(Vocabulary(["good", "bad", "film"]), 2, 4, sparse_embedding=sparse)
    before = model.embedding.weight.detach().clone()
    batch = model.collate(["(1 (1 good) (1 film))"])
    model.loss(model(batch), batch).backward()
    optimizer(model.embedding.parameters(), lr=0.1).step()
    changed = (model.embedding.weight != before).any(dim=1)
    assert changed.tolist() == [False, True, False, True]
