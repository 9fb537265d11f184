"""AP-DCNN: branches, attention, the classifier in training and inference, sizes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import sentence_model_references as reference
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import binary_trees
from torch import Tensor

from graphsent.errors import ModelError
from graphsent.models import APDCNN, Sentence, load_pretrained
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["a", "lovely", "film", "not"])  # "quite" and others are unseen
SMALL = {"widths": ((3, 2),), "k_top": 2, "dropout": 0.0}
OPTIONS: dict[str, dict[str, Any]] = {
    "paper": {},
    "aligned": {"pool": "none", "temperature": 0.3},
    "stacks": {"widths": ((3, 2), (2,), (1, 4, 2)), "k_top": 3},
    "scaled": {"readout": "kmax"},
    "rowwise": {"convolution": "rowwise", "row_maps": (2, 1)},
    "tree": {"branches": "tree"},
    "convolution": {"branches": "convolution"},
    "rowwise alone": {"branches": "convolution", "convolution": "rowwise", "row_maps": (1, 2)},
    "late": {"fusion": "late"},
    "letter": {"keep_tree": 0.0},
}
every_choice = pytest.mark.parametrize("name", OPTIONS)
FORESTS = st.lists(binary_trees(max_leaves=9), min_size=1, max_size=3)
TOLERANCE = {"rtol": 0, "atol": 1e-10}
TREE = Tree.from_string("(2 (1 (0 a) (3 film)) (4 not))")


def build(name: str, **options) -> APDCNN:
    """A model in float64, all of whose parameters are random."""
    model = APDCNN(VOCABULARY, 5, 4, 3, **{**SMALL, **OPTIONS[name], **options}).double().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return model


def units_of(model: APDCNN, tree: Tree) -> list[int]:
    """The nodes that are examples."""
    return [n for n in range(tree.num_nodes) if n == 0 or (model.phrases and tree.labels[n])]


def expected_states(model: APDCNN, tree: Tree) -> Tensor:
    """[s; s~] of each unit of a tree."""
    options, zero = model.config, model.embedding.weight.new_zeros(4)

    def vector_of(token: str | None) -> Tensor:
        return zero if token is None else model.embedding.weight[VOCABULARY[token]]

    guides = None
    if model.encoder.tree is not None:
        guides = [h for h, _ in reference.tree_lstm(tree, model.encoder.tree, vector_of)]
    states = []
    for node in units_of(model, tree):
        words = torch.stack([vector_of(word) for word in tree.words[slice(*tree.spans[node])]])
        guide = None if guides is None else guides[node]
        parts = [reference.guided(stack, words, guide, options) for stack in model.encoder.stacks]
        states.append(torch.cat([*parts, *([] if guide is None else [guide])]))
    return torch.stack(states)


@every_choice
@settings(max_examples=5)
@given(forest=FORESTS, phrases=st.booleans())
def test_values_and_gradients_are_those_of_the_equations(name, forest, phrases):
    model = build(name, phrases=phrases)
    batch = model.collate(forest)
    assert batch.gold.tolist() == [
        int(tree.labels[node]) for tree in forest for node in units_of(model, tree)
    ]
    assert [int(batch.gold[unit]) for unit in batch.roots] == [int(t.labels[0]) for t in forest]
    states = torch.cat([expected_states(model, tree) for tree in forest])
    expected = states @ model.output.weight.T + model.output.bias
    found = model(batch)
    torch.testing.assert_close(found, expected, **TOLERANCE)
    signal, parameters = torch.randn_like(expected), list(model.parameters())
    ours, theirs = (
        torch.autograd.grad((values * signal).sum(), parameters, materialize_grads=True)
        for values in (found, expected)
    )
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, **TOLERANCE)


@every_choice
@settings(max_examples=5)
@given(forest=FORESTS)
def test_a_result_does_not_depend_on_the_batch(name, forest):
    model = build(name)
    together = model(model.collate(forest))
    alone = torch.cat([model(model.collate([tree])) for tree in forest])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-12)


@every_choice
def test_other_sentences_have_no_influence_at_all(name):
    model = build(name)
    other = Tree.from_string("(0 (0 (0 lovely) (0 lovely)) (0 (0 lovely) (0 lovely)))")
    forest = [TREE, other, Tree.from_string("(1 film)"), other]
    before = model(model.collate(forest))
    with torch.no_grad():
        model.embedding.weight[VOCABULARY["lovely"]] = torch.nan
    after = model(model.collate(forest))
    own = [*range(5), 12]
    assert torch.equal(after[own], before[own])
    assert after[5:12].isnan().all()


@every_choice
def test_no_tree(name):
    model = build(name)
    assert model(model.collate([])).shape == (0, 5)
    assert model.predict([]) == []


def test_trees_are_binarized_and_results_are_of_the_trees_given():
    model = build("paper")
    flat = Tree.from_string("(2 (1 a) (0 film) (3 (4 not)))")
    (prediction,) = model.predict([flat])
    assert prediction.probabilities.shape == (5, 5)
    states = expected_states(model, model.shape_tree(flat))
    # Node 1 is the one that binarization adds over "a film".
    expected = torch.softmax(model.output(states), 1)[[0, 2, 3, 4, 4]].detach()
    np.testing.assert_allclose(prediction.probabilities, expected, atol=1e-6)
    with pytest.raises(ModelError, match="got a dependency tree"):
        model.predict([DependencyTree(["a"], [-1])])
    with pytest.raises(ModelError, match="expected a parse tree, got the sentence 'a film'"):
        model.predict([Sentence(["a", "film"])])


# The classifier, equation 12


def in_training(model: APDCNN, trees: list[Tree]) -> tuple[Tensor, Tensor, Any]:
    """Logits in training, the vectors [s; s~], and the batch."""
    batch = model.collate(trees)
    with torch.no_grad():
        states = model.eval().node_states(batch)
    return model.train()(batch), states, batch


def test_by_default_both_phases_are_the_same_function():
    model = build("paper")
    logits, _, batch = in_training(model, [TREE])
    torch.testing.assert_close(logits, model.eval()(batch))


def test_dropout_is_on_both_vectors():
    model = build("paper", dropout=0.5)
    with torch.no_grad():
        model.output.weight.zero_()
        model.output.bias.zero_()
        model.output.weight[:4].fill_diagonal_(1)
        model.output.weight[4, 5] = 1
    logits, states, _ = in_training(model, [TREE] * 40)
    doubled = 2 * torch.cat((states[:, :4], states[:, 5:]), 1)
    dropped = logits == 0
    torch.testing.assert_close(logits, doubled.masked_fill(dropped, 0))
    share = dropped.double().mean(0)
    assert ((share > 0.3) & (share < 0.7)).all()


def test_taken_literally_output_weights_of_the_tree_learn_nothing_but_the_tree_does():
    model = build("letter")
    logits, states, batch = in_training(model, [TREE])
    weight = model.output.weight
    torch.testing.assert_close(logits, states[:, :3] @ weight[:, :3].T + model.output.bias)
    model.loss(logits, batch).backward()
    assert (weight.grad[:, 3:] == 0).all()
    assert (weight.grad[:, :3] != 0).all()
    assert model.encoder.tree.U.weight.grad.norm() > 0
    torch.testing.assert_close(model.eval()(batch), model.output(states))  # inference has both


def test_the_tree_is_kept_with_a_probability():
    model = build("paper", keep_tree=0.7)
    logits, states, batch = in_training(model, [TREE] * 60)
    with_tree = model.output(states)
    without = states[:, :3] @ model.output.weight[:, :3].T + model.output.bias
    kept = torch.isclose(logits, with_tree).all(1)
    torch.testing.assert_close(logits, torch.where(kept[:, None], with_tree, without))
    assert 0.6 < kept.double().mean() < 0.8
    torch.testing.assert_close(model.eval()(batch), with_tree)


def test_late_fusion_has_a_loss_for_each_part():
    model = build("late")
    parts, states, batch = in_training(model, [TREE])
    assert parts.shape == (2, 5, 5)
    torch.testing.assert_close(parts.sum(0), model.eval()(batch))
    half = model.output.bias / 2
    cross_entropy = torch.nn.functional.cross_entropy
    expected = cross_entropy(states[:, :3] @ model.output.weight[:, :3].T + half, batch.gold)
    expected = expected + cross_entropy(
        states[:, 3:] @ model.output.weight[:, 3:].T + half, batch.gold
    )
    # A sum over nodes, divided by the number of trees.
    loss = model.loss(parts, batch)
    torch.testing.assert_close(loss, expected * len(batch.gold) / len(batch.roots))


@pytest.mark.parametrize("name", ["paper", "aligned", "late", "letter", "scaled", "rowwise"])
def test_the_tree_always_learns(name):
    model = build(name).train()
    batch = model.collate([TREE])
    model.loss(model(batch), batch).backward()
    assert model.encoder.tree.W.weight.grad.norm() > 0


@pytest.mark.parametrize("limit", [0.0, 0.5, 3.0])
def test_norms_of_output_weights_are_bounded_after_a_step(limit):
    model = build("paper", max_norm=limit)
    before = model.output.weight.detach().clone()
    before[0] *= 0.1 / before[0].norm()
    before[1:] *= 4 / before[1:].norm(dim=1, keepdim=True)
    with torch.no_grad():
        model.output.weight.copy_(before)
    bias = model.output.bias.detach().clone()
    model.after_step()
    expected = torch.tensor([0.1] + [limit or 4.0] * 4, dtype=torch.float64)
    torch.testing.assert_close(model.output.weight.norm(dim=1), expected)
    cosines = torch.cosine_similarity(model.output.weight, before, dim=1)
    torch.testing.assert_close(cosines, torch.ones(5, dtype=torch.float64))
    assert torch.equal(model.output.bias, bias)


# Attention


@pytest.mark.parametrize("name", ["paper", "aligned", "stacks", "rowwise"])
def test_weights_of_positions(name):
    model = build(name)
    trees = [TREE, Tree.from_string("(1 film)"), Tree.from_string("(1 (0 a) (3 a))")]
    for tree, weights in zip(trees, model.position_weights(trees, batch_size=2), strict=True):
        vectors = model.embedding.weight[[VOCABULARY[word] for word in tree.words]]
        guide = expected_states(model, tree)[0, -3:]
        assert len(weights) == len(model.encoder.stacks)
        for stack, found in zip(model.encoder.stacks, weights, strict=True):
            c = reference.guided_positions(stack, vectors, model.config)
            expected = reference.attention(c, guide, model.config["temperature"])
            np.testing.assert_allclose(found, [float(w.detach()) for w in expected], atol=1e-12)
            if name == "aligned":
                assert len(found) == len(tree.words) + 2 + 1


def test_models_of_one_branch_have_no_attention():
    for branch in ("tree", "convolution"):
        with pytest.raises(ModelError, match=f"no attention: the model has branches='{branch}'"):
            build(branch).position_weights([TREE])


# Sizes, files, errors


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 210_100 + 50_100 + 220_400 + 1_005),
        ({"branches": "tree"}, 220_400 + 505),
        ({"branches": "tree", "widths": ()}, 220_400 + 505),
        ({"branches": "convolution"}, 210_100 + 50_100 + 2_005),
        ({"widths": ((7, 5), (3,))}, 260_200 + 90_100 + 220_400 + 1_505),
        ({"readout": "kmax", "k_top": 3}, 260_200 + 220_400 + 2_005),
    ],
    ids=str,
)
def test_parameter_counts(options, expected):
    model = APDCNN(VOCABULARY, 5, **options)
    total = sum(parameter.numel() for parameter in model.parameters())
    assert total - model.embedding.weight.numel() == expected


@every_choice
def test_a_loaded_model_is_the_saved_one(name, tmp_path):
    model = build(name, label_names=list("ABCDE"))
    model.save_pretrained(tmp_path / "model")
    loaded = load_pretrained(tmp_path / "model")
    assert loaded.config == json.loads(json.dumps(model.config))
    trees = [TREE, Tree.from_string("(1 (0 a) (3 quite))")]
    for ours, theirs in zip(model.predict(trees), loaded.predict(trees), strict=True):
        np.testing.assert_array_equal(ours.probabilities, theirs.probabilities)
        assert ours.root_name == theirs.root_name
    np.testing.assert_array_equal(model.encode(trees), loaded.encode(trees))


@every_choice
def test_it_learns(name):
    model = APDCNN(VOCABULARY, 5, 4, 3, **{**SMALL, **OPTIONS[name]})
    trees = [TREE, Tree.from_string("(0 (2 (2 a) (2 lovely)) (3 film))")]
    batch = model.collate(trees)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = model.loss(model(batch), batch)
        loss.backward()
        optimizer.step()
        model.after_step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"branches": "all"}, "unknown branches 'all': expected one of both, tree, convolution"),
        ({"fusion": "early"}, "unknown fusion 'early': expected one of joint, late"),
        ({"convolution": "wide"}, "unknown convolution 'wide': expected one of full, rowwise"),
        ({"pool": "max"}, "unknown pool 'max': expected one of kmax, none"),
        ({"readout": "mean"}, "unknown readout 'mean': expected one of sum, kmax"),
        ({"keep_tree": 1.5}, "keep_tree"),
        ({"fusion": "late", "keep_tree": 0.5}, "keep_tree: expected 1 with"),
        ({"branches": "tree", "fusion": "late"}, "need branches='both', got 'tree'"),
        ({"convolution": "rowwise", "pool": "none"}, "pool='none' needs convolution='full'"),
        ({"convolution": "rowwise", "row_maps": (2,)}, "one width and one number of maps per"),
        ({"widths": ()}, "widths: expected at least one stack"),
        ({"widths": ((),)}, "one width and one number of maps per layer"),
        ({"widths": ((3, 0),)}, "widths: expected"),
        ({"hidden": 0}, "hidden"),
        ({"k_top": 0}, "k_top"),
        ({"temperature": 0.0}, "temperature: expected a positive number, got 0.0"),
    ],
    ids=str,
)
def test_options_are_checked(options, message):
    with pytest.raises(ModelError, match=message):
        APDCNN(VOCABULARY, 5, 4, **{"hidden": 3, **options})
