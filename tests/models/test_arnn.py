"""ARNNClassifier: attention vectors, options, weights; the baselines without attention."""

import random

import numpy as np
import pytest
import torch
from strategies import random_dependency_tree
from toy_sentences import HIDDEN, VALUES, VOCABULARY, sentences

from graphsent.cells import (
    AttentiveTreeGRU,
    AttentiveTreeLSTM,
    CellError,
    ChildSumTreeGRU,
    ChildSumTreeLSTM,
)
from graphsent.errors import ModelError
from graphsent.graphs import TOKEN, constituency_batch, dependency_batch
from graphsent.models import ARNNClassifier
from graphsent.trees import DependencyTree


def count(model) -> int:
    total = sum(parameter.numel() for parameter in model.parameters())
    return total - model.embedding.weight.numel()


@pytest.mark.parametrize(
    ("cell", "attention", "expected"),
    [
        ("lstm", "none", ChildSumTreeLSTM),
        ("lstm", "static", AttentiveTreeLSTM),
        ("lstm", "dynamic", AttentiveTreeLSTM),
        ("gru", "none", ChildSumTreeGRU),
        ("gru", "static", AttentiveTreeGRU),
        ("gru", "dynamic", AttentiveTreeGRU),
    ],
)
def test_the_cell_of_each_model(cell, attention, expected):
    model = ARNNClassifier(VOCABULARY, 3, 4, HIDDEN, cell=cell, attention=attention)
    assert type(model.encoder.cell) is expected
    assert (model.encoder.sequence is not None) == (attention == "dynamic")
    if attention == "dynamic":
        assert type(model.encoder.sequence.cell).__name__.lower() == cell


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"attention": "none"}, 4 * (300 * 150 + 150 * 150 + 150) + 755),
        ({"attention": "none", "cell": "gru"}, 3 * (300 * 150 + 150 * 150 + 150) + 755),
        # W_c and W_a of 150 x 150, w and q of 150
        ({}, 4 * (300 * 150 + 150 * 150 + 150) + 2 * 150 * 150 + 300 + 755),
        # no q, but an LSTM with two biases per gate
        ({"attention": "dynamic"}, 8 * (300 * 150 + 150 * 150 + 150) + 600 + 45_150 + 755),
    ],
    ids=str,
)
def test_parameter_counts(options, expected):
    assert count(ARNNClassifier(VOCABULARY, 5, **options)) == expected


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("kind", ["dependency", "constituency"])
def test_dynamic_attention_is_by_the_last_state_over_the_sentence(cell, kind):
    model = ARNNClassifier(VOCABULARY, 3, 4, HIDDEN, cell=cell, attention="dynamic").double().eval()
    trees = sentences(kind, 5)
    batch = model.collate(trees)
    sequence = model.encoder.sequence.cell
    expected = []
    for tree in trees:
        tokens = torch.tensor([VOCABULARY[word] for word in tree.words])
        _, state = sequence(model.embedding.weight[tokens])
        expected.append((state[0] if cell == "lstm" else state)[0])
    words = model.embedding(batch.graph.ndata[TOKEN])
    queries = model.encoder.queries(batch.graph, words)
    torch.testing.assert_close(queries, torch.stack(expected), rtol=0, atol=1e-12)
    h = model.encoder.cell(batch.graph, words, query=torch.stack(expected))
    torch.testing.assert_close(model.node_states(batch), h, rtol=0, atol=1e-12)


def test_the_order_of_words_matters_only_to_dynamic_attention():
    tree = random_dependency_tree(random.Random(0), 6, words=tuple(VALUES))
    # The same tree over the sentence read backwards.
    mirrored = DependencyTree(
        tree.words[::-1], [-1 if head < 0 else 5 - head for head in tree.heads[::-1]]
    )
    for attention, same in [("static", True), ("none", True), ("dynamic", False)]:
        model = ARNNClassifier(VOCABULARY, 3, 4, HIDDEN, attention=attention).double()
        torch.nn.init.normal_(model.embedding.weight)
        one, other = model.encode([tree]), model.encode([mirrored])
        assert np.allclose(one, other, rtol=1e-5) == same, attention


def test_attention_weights_sum_to_one_over_the_children():
    trees = sentences("dependency", 9)
    for attention in ("static", "dynamic"):
        model = ARNNClassifier(VOCABULARY, 3, 4, HIDDEN, attention=attention)
        for tree, weights in zip(trees, model.edge_weights(trees, 4), strict=True):
            children = np.flatnonzero(tree.heads >= 0)
            assert weights.shape == children.shape
            totals = np.bincount(tree.heads[children], weights, minlength=tree.num_nodes)
            np.testing.assert_allclose(totals[tree.num_children > 0], 1, rtol=1e-6)


def test_attention_weights_are_those_of_the_cell():
    model = ARNNClassifier(VOCABULARY, 3, 4, HIDDEN).eval()
    (tree,) = sentences("dependency", 1, seed=3)
    graph = dependency_batch([tree], vocab=VOCABULARY)
    _, expected = model.encoder.cell(
        graph, model.embedding(graph.ndata[TOKEN]), return_attention=True
    )
    np.testing.assert_allclose(model.edge_weights([tree])[0], expected.detach(), rtol=1e-6)


def test_without_attention_there_are_no_weights():
    model = ARNNClassifier(VOCABULARY, 3, 4, HIDDEN, attention="none")
    with pytest.raises(ModelError, match="built with attention='none'"):
        model.edge_weights(sentences("dependency", 1))


def test_constituency_trees_are_read_too():
    model = ARNNClassifier(VOCABULARY, 3, 4, HIDDEN).eval()
    trees = sentences("constituency", 3)
    graph = constituency_batch(trees, vocab=VOCABULARY)
    h = model.encoder.cell(graph, model.embedding(graph.ndata[TOKEN]))
    torch.testing.assert_close(model.node_states(model.collate(trees)), h)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"cell": "rnn"}, ModelError, "unknown cell 'rnn': expected one of lstm, gru"),
        ({"attention": "no"}, ModelError, "unknown attention 'no': expected one of static"),
        (
            {"attention": "none", "memory": "both"},
            ModelError,
            "memory='both': the cell ChildSumTreeLSTM has no such option",
        ),
        (
            {"reset": "literal"},
            ModelError,
            "reset='literal': the cell AttentiveTreeLSTM has no such option",
        ),
        (
            {"cell": "gru", "gate_output": False},
            ModelError,
            "gate_output=False: the cell AttentiveTreeGRU has no such option",
        ),
        ({"memory": "some"}, CellError, "memory"),
    ],
)
def test_incompatible_options(options, error, message):
    with pytest.raises(error, match=message):
        ARNNClassifier(VOCABULARY, 3, 4, HIDDEN, **options)
