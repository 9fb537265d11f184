"""BiTreeLSTMClassifier: the readout node by node, the ablations, options, head weights."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import binary_trees
from toy_sentences import EMBEDDING_DIM, HIDDEN, VOCABULARY, sentences

from graphsent.errors import ModelError
from graphsent.graphs import constituency_graph
from graphsent.models import BiTreeLSTMClassifier
from graphsent.vocabulary import Vocabulary

WORDS = Vocabulary(["a", "lovely", "film", "not"])
SIZES = (EMBEDDING_DIM, HIDDEN, 5)  # the last is that of the readout
WAYS = [
    {},
    {"lexicalized": False},
    {"directions": "up"},
    {"directions": "up", "lexicalized": False},
    {"directions": "down"},
    {"directions": "down", "lexicalized": False},
]


def count(model) -> int:
    return sum(
        parameter.numel()
        for name, parameter in model.named_parameters()
        if not name.startswith("embedding.")
    )


def leaves_below(tree, node: int) -> list[int]:
    children = [child for child, parent in enumerate(tree.parents) if parent == node]
    return [leaf for child in children for leaf in leaves_below(tree, child)] or [node]


def states_of(model, graph):
    return model.encoder.states(graph, model.embedding.of_nodes(graph))


@pytest.mark.parametrize("way", WAYS, ids=str)
@settings(max_examples=15)
@given(trees=st.lists(binary_trees(max_leaves=6), min_size=1, max_size=3))
def test_readout_is_that_of_the_paper_at_every_node(way, trees):
    model = BiTreeLSTMClassifier(WORDS, 5, *SIZES, **way).double().eval()
    direction = way.get("directions", "both")
    first, last = model.readout, model.output
    expected = []
    for tree in trees:
        graph = constituency_graph(tree, vocab=WORDS)
        states = states_of(model, graph)
        for node in range(tree.num_nodes):
            parts = [states[node]]
            if direction != "up":
                down = [states[leaf, -SIZES[1] :] for leaf in leaves_below(tree, node)]
                parts.append(sum(down) / len(down))
            hidden = torch.relu(first.weight @ torch.cat(parts) + first.bias)
            expected.append(last.weight @ hidden + last.bias)
    torch.testing.assert_close(
        model(model.collate(trees)), torch.stack(expected), rtol=0, atol=1e-10
    )


def test_states_of_one_direction_are_those_of_that_cell_in_both():
    trees = sentences("constituency", 5)
    both = BiTreeLSTMClassifier(VOCABULARY, 3, *SIZES).eval()
    graph = both.collate(trees).graph
    expected = states_of(both, graph)
    up = BiTreeLSTMClassifier(VOCABULARY, 3, *SIZES, directions="up").eval()
    up.encoder.cell.load_state_dict(both.encoder.cell.bottom_up.state_dict())
    up.embedding = both.embedding
    torch.testing.assert_close(states_of(up, graph), expected[:, : SIZES[1]])
    down = BiTreeLSTMClassifier(VOCABULARY, 3, *SIZES, directions="down").eval()
    down.encoder.cell.load_state_dict(both.encoder.cell.top_down.state_dict())
    down.encoder.lexicalizer.load_state_dict(both.encoder.cell.bottom_up.lexicalizer.state_dict())
    down.embedding = both.embedding
    torch.testing.assert_close(states_of(down, graph), expected[:, SIZES[1] :])


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        # 563,250 bottom-up, 473,100 top-down, 180,300 head words; readout 58,373 from three parts.
        ({}, 1_275_023),
        ({"lexicalized": False}, 1_275_023 - 180_300),
        ({"directions": "up"}, 563_250 + 180_300 + 150 * 128 + 128 + 645),
        ({"directions": "up", "lexicalized": False}, 563_250 + 150 * 128 + 128 + 645),
        ({"directions": "down"}, 473_100 + 180_300 + 300 * 128 + 128 + 645),
        ({"directions": "down", "lexicalized": False}, 473_100 + 300 * 128 + 128 + 645),
    ],
    ids=str,
)
def test_parameter_counts(way, expected):
    assert count(BiTreeLSTMClassifier(WORDS, 5, **way)) == expected


@pytest.mark.parametrize(
    ("directions", "option"),
    [
        ("both", {"leaf_peephole": True}),
        ("both", {"td_share_input": False}),
        ("both", {"td_root": "bu_root"}),
        ("up", {"leaf_peephole": True}),
        ("down", {"td_share_input": False}),
    ],
)
def test_options_of_the_cells(directions, option):
    trees = sentences("constituency", 2)

    def encoded(**options):
        torch.manual_seed(0)
        model = BiTreeLSTMClassifier(VOCABULARY, 3, *SIZES, directions=directions, **options)
        model.engine = "dgl"  # without compiling code for each
        return model.encode(trees)

    assert not np.allclose(encoded(), encoded(**option))


def test_dropout_is_on_word_vectors_alone_by_default():
    model = BiTreeLSTMClassifier(VOCABULARY, 3)
    rates = {
        name: part.p for name, part in model.named_modules() if isinstance(part, torch.nn.Dropout)
    }
    assert rates == {"dropout": 0.0, "embedding.dropout": 0.5}


def test_one_dropout_mask_for_all_uses_of_a_word(monkeypatch):
    model = BiTreeLSTMClassifier(VOCABULARY, 3, *SIZES).train()
    calls = []
    look_up = type(model.embedding).indexed
    monkeypatch.setattr(
        type(model.embedding),
        "indexed",
        lambda self, token: calls.append(len(token)) or look_up(self, token),
    )
    batch = model.collate(sentences("constituency", 2))
    model(batch)
    assert calls == [batch.graph.num_nodes()]


def test_weights_start_within_the_bounds_of_glorot():
    model = BiTreeLSTMClassifier(VOCABULARY, 3, 40, 30, 20)
    for linear in (model.readout, model.output):
        assert linear.weight.abs().max() <= np.sqrt(6 / sum(linear.weight.shape))
        assert 0 < linear.bias.abs().max() <= np.sqrt(6 / len(linear.bias))


@pytest.mark.parametrize("directions", ["both", "up", "down"])
def test_head_weights(directions):
    model = BiTreeLSTMClassifier(VOCABULARY, 3, *SIZES, directions=directions)
    trees = sentences("constituency", 6)
    for tree, weights in zip(trees, model.edge_weights(trees, batch_size=4), strict=True):
        shaped = model.shape_tree(tree)
        assert weights.shape == (shaped.num_nodes - 1,)
        totals = np.bincount(shaped.parents[1:], weights, minlength=shaped.num_nodes)
        np.testing.assert_allclose(totals[shaped.num_children > 0], 1, rtol=1e-6)


def test_without_heads_there_are_no_weights():
    model = BiTreeLSTMClassifier(VOCABULARY, 3, *SIZES, lexicalized=False)
    with pytest.raises(ModelError, match="not lexicalized"):
        model.edge_weights(["(a film)"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"directions": "left"}, "unknown directions 'left': expected one of both, up, down"),
        ({"directions": "down", "leaf_peephole": True}, "leaf_peephole has no effect with"),
        ({"directions": "up", "td_share_input": False}, "td_share_input has no effect with"),
        ({"directions": "up", "td_root": "bu_root"}, "td_root has no effect with"),
    ],
)
def test_incompatible_options(options, message):
    with pytest.raises(ModelError, match=message):
        BiTreeLSTMClassifier(VOCABULARY, 3, *SIZES, **options)


def test_dependency_trees_are_rejected():
    model = BiTreeLSTMClassifier(VOCABULARY, 3, *SIZES)
    with pytest.raises(ModelError, match="got a dependency tree"):
        model.predict(sentences("dependency", 1))
