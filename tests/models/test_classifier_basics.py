"""Sizes, batches and learning of the first classifiers, and the checks of their options."""

from __future__ import annotations

import copy
import pickle
import random

import pytest
import torch
from strategies import random_dependency_tree, random_tree

from graphsent.errors import ModelError
from graphsent.models import (
    MODELS,
    NBoW,
    RecNN,
    TreeBatch,
    TreeLSTMClassifier,
    classification_loss,
    model_class,
)
from graphsent.vocabulary import Vocabulary

VOCAB = Vocabulary(["good", "bad", "not", "film"])
WORDS = VOCAB.words[1:]
TREES = [random_tree(random.Random(seed), 5, labels=("0", "1"), words=WORDS) for seed in range(5)]


def num_parameters(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_sizes_of_the_paper():
    model = TreeLSTMClassifier(VOCAB, 5, leaf="affine")
    # Tai et al. have two biases per gate: 316,800 and 315,840.
    assert num_parameters(model.encoder.cell) == 316_050
    assert num_parameters(model.output) == 5 * 150 + 5
    model = TreeLSTMClassifier(VOCAB, 5, hidden=168, cell="childsum")
    assert num_parameters(model.encoder.cell) == 315_168
    assert num_parameters(NBoW(VOCAB, 5)) == 5 * 48 + 5 * 48 + 5


def test_a_batch_names_its_labels_and_roots():
    batch = RecNN(VOCAB, 4, 3).collate(["(3 (1 good) (2 film))", "(X bad)", "(0 (1 not) (Y bad))"])
    assert isinstance(batch, TreeBatch)
    assert batch.gold.tolist() == [3, 1, 2, -1, 0, 1, -1]
    assert batch.roots.tolist() == [0, 3, 4]
    assert batch.graph.ndata["token"].tolist() == [-1, 1, 4, 2, -1, 3, 2]
    assert batch.graph.batch_size == 3


def test_the_graph_of_a_batch_stays_where_it_is():
    batch = RecNN(VOCAB, 2, 3).collate(TREES)
    moved = batch.to("meta")
    assert moved.graph is batch.graph
    assert moved.gold.is_meta
    assert moved.roots.is_meta


def test_batches_can_come_from_other_processes():
    batch = RecNN(VOCAB, 2, 3).collate(TREES)
    copied = pickle.loads(pickle.dumps(batch))
    assert copied.gold.tolist() == batch.gold.tolist()
    assert copied.graph.batch_num_nodes().tolist() == batch.graph.batch_num_nodes().tolist()


def test_the_callers_graph_is_unchanged():
    model = TreeLSTMClassifier(VOCAB, 2, 4, 4)
    batch = model.collate(TREES)
    before = {name: value.clone() for name, value in batch.graph.ndata.items()}
    model(batch).sum().backward()
    assert set(batch.graph.ndata) == set(before)
    assert all(torch.equal(batch.graph.ndata[name], value) for name, value in before.items())


@pytest.mark.parametrize(
    "make",
    [
        lambda: NBoW(VOCAB, 2, 6, dropout=0.0),
        lambda: TreeLSTMClassifier(VOCAB, 2, 6, 4, dropout=0.0),
        lambda: TreeLSTMClassifier(VOCAB, 2, 6, 4, leaf="affine", dropout=0.0),
        lambda: TreeLSTMClassifier(VOCAB, 2, 6, 4, cell="childsum", dropout=0.0),
    ],
    ids=["nbow", "nary", "affine", "childsum"],
)
def test_ten_steps_on_five_trees_lower_the_loss_reproducibly(make):
    def losses() -> list[float]:
        torch.manual_seed(1)
        model = make()
        batch = model.collate(TREES)
        optimizer = torch.optim.Adagrad(model.parameters(), lr=0.2)
        found = []
        for _ in range(10):
            loss = model.loss(model(batch), batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    first = losses()
    assert first[-1] < 0.95 * first[0]
    assert losses() == first


def test_unlabelled_nodes_have_no_gradient():
    model = TreeLSTMClassifier(VOCAB, 2, 4, 4)
    batch = model.collate(["(1 (0 good) (X film))"])
    logits = model(batch)
    logits.retain_grad()
    model.loss(logits, batch).backward()
    assert logits.grad.abs().sum(dim=1).bool().tolist() == [True, True, False]


def test_the_loss_is_a_sum_over_nodes_and_a_mean_over_sentences():
    batch = RecNN(VOCAB, 2, 3).collate(["(1 (0 good) (X film))", "(0 bad)"])
    logits = torch.tensor([[1.0, 2.0], [0.0, 0.0], [5.0, 5.0], [3.0, 0.0]], requires_grad=True)
    terms = -torch.log_softmax(logits, 1)[[0, 1, 3], [1, 0, 0]]
    torch.testing.assert_close(classification_loss(logits, batch), terms.sum() / 2)
    torch.testing.assert_close(classification_loss(logits, batch, "root"), terms[[0, 2]].mean())
    with pytest.raises(ModelError, match="unknown nodes 'leaf': expected one of all, root"):
        classification_loss(logits, batch, "leaf")


@pytest.mark.parametrize("num_classes", [1, 2])
def test_the_loss_of_no_sentences_is_0(num_classes):
    model = RecNN(VOCAB, num_classes, 3)
    batch = model.collate([])
    loss = model.loss(model(batch), batch)
    loss.backward()
    assert loss == 0
    assert all(part.grad is None or not part.grad.any() for part in model.parameters())


def test_word_order_matters_to_the_tree_but_not_to_the_bag():
    first, second = "(1 (1 not) (1 (1 good) (1 film)))", "(1 (1 film) (1 (1 not) (1 good)))"
    bag, tree = NBoW(VOCAB, 2, 4), TreeLSTMClassifier(VOCAB, 2, 4, 4)
    vectors = torch.from_numpy(bag.encode([first, second]))
    torch.testing.assert_close(vectors[0], vectors[1])
    vectors = torch.from_numpy(tree.encode([first, second]))
    assert not torch.allclose(vectors[0], vectors[1])


def test_the_bag_reads_dependency_trees():
    tree = random_dependency_tree(random.Random(0), 6, words=WORDS)
    model = NBoW(VOCAB, 5, 4)
    rows = [model.embedding.weight[VOCAB[word]] for word in tree.words]
    expected = torch.tanh(torch.stack(rows).sum(0)).detach()
    torch.testing.assert_close(torch.from_numpy(model.encode([tree])[0]), expected)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_can_be_saved(copied, tmp_path):
    model = TreeLSTMClassifier(VOCAB, 2, 4, hidden=4, dropout=0.25)
    twin = copied(model)
    assert twin.config == model.config
    assert twin.config["dropout"] == 0.25
    assert twin.config["cell"] == "nary"  # a default, but stored
    twin.save_pretrained(tmp_path / "twin")
    loaded = TreeLSTMClassifier.from_pretrained(tmp_path / "twin")
    assert (loaded.encode(TREES) == model.encode(TREES)).all()


@pytest.mark.parametrize("name", MODELS)
def test_every_name_gives_its_class(name):
    assert model_class(name).name == name


def test_an_unknown_name_lists_the_others():
    with pytest.raises(ModelError, match=r"unknown model 'treelstn': expected one of .*, treelstm"):
        model_class("treelstn")


WRONG = {
    "dropout": ({"dropout": 1.5}, "dropout: expected a probability from 0 to 1, got 1.5"),
    "embedding_dropout": ({"embedding_dropout": -1}, "embedding_dropout: expected a probability"),
    "cell": ({"cell": "gru"}, "unknown cell 'gru': expected one of nary, childsum"),
    "leaf": (
        {"cell": "childsum", "leaf": "affine"},
        "needs cell='nary', got 'childsum'",
    ),
    "num_classes": ({"num_classes": 0}, "num_classes: expected at least 1, got 0"),
    "vocab": ({"vocab": ["good"]}, "expected a Vocabulary as vocab, got list"),
}


@pytest.mark.parametrize("option", WRONG)
def test_wrong_options(option):
    changes, message = WRONG[option]
    with pytest.raises(ModelError, match=message):
        TreeLSTMClassifier(**{"vocab": VOCAB, "num_classes": 2, **changes})
