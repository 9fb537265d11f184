"""The relatedness head: its equations, golden targets, the loss."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphsent.layers import (
    LayerError,
    RelatednessHead,
    expected_score,
    relatedness_loss,
    sparse_target,
)


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (1.0, [1, 0, 0, 0, 0]),
        (3.6, [0, 0, 0.4, 0.6, 0]),
        (4.0, [0, 0, 0, 1, 0]),
        (4.5, [0, 0, 0, 0.5, 0.5]),
        (5.0, [0, 0, 0, 0, 1]),
    ],
)
def test_golden_targets(score, expected):
    target = sparse_target(torch.tensor([score], dtype=torch.float64), 5)
    torch.testing.assert_close(target, torch.tensor([expected], dtype=torch.float64))


@given(st.lists(st.floats(1, 5), min_size=1, max_size=8))
def test_targets_are_distributions_with_the_given_mean(scores):
    scores = torch.tensor(scores, dtype=torch.float64)
    target = sparse_target(scores, 5)
    assert (target >= 0).all()
    assert ((target > 0).sum(1) <= 2).all()
    torch.testing.assert_close(target.sum(1), torch.ones_like(scores))
    torch.testing.assert_close(target @ torch.arange(1.0, 6, dtype=torch.float64), scores)


def test_head_follows_the_equations():
    head = RelatednessHead(4, 3, 5).double()
    first, second = torch.randn(2, 6, 4, dtype=torch.float64)
    logits = head(first, second)
    for row, (a, b) in enumerate(zip(first, second, strict=True)):
        products = head.W_x.weight @ (a * b) + head.W_x.bias
        hidden = torch.sigmoid(products + head.W_p.weight @ (a - b).abs())
        torch.testing.assert_close(logits[row], head.output.weight @ hidden + head.output.bias)
    torch.testing.assert_close(head(second, first), logits)  # symmetric


def test_parameter_count():
    head = RelatednessHead(150)
    assert sum(p.numel() for p in head.parameters()) == 2 * 150 * 50 + 50 + 50 * 5 + 5


@pytest.mark.parametrize("name", ["in_feats", "hidden_feats", "num_levels"])
def test_wrong_sizes_are_rejected(name):
    with pytest.raises(LayerError, match=f"expected {name} to be an integer, got 2.5"):
        RelatednessHead(**{"in_feats": 3, name: 2.5})


def test_expected_score():
    logits = torch.log(torch.tensor([[0.1, 0.2, 0.3, 0.4, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]]))
    torch.testing.assert_close(expected_score(logits), torch.tensor([3.0, 5.0]))


def test_loss_is_the_mean_divergence():
    logits = torch.randn(2, 5, dtype=torch.float64, requires_grad=True)
    loss = relatedness_loss(logits, torch.tensor([3.6, 5.0], dtype=torch.float64))
    found = torch.softmax(logits, 1)
    first = 0.4 * math.log(0.4) + 0.6 * math.log(0.6)
    first = first - 0.4 * found[0, 2].log() - 0.6 * found[0, 3].log()
    torch.testing.assert_close(loss, (first - found[1, 4].log()) / 2)
    loss.backward()
    assert logits.grad.isfinite().all()


def test_the_loss_of_no_pairs_is_zero():
    assert relatedness_loss(torch.zeros(0, 5), torch.zeros(0)) == 0


@pytest.mark.parametrize(
    ("shape", "scores", "message"),
    [
        ((2, 5), [1.0, 5.5], "expected scores from 1 to 5, got 5.5"),
        ((2, 5), [0.0, 2.0], "expected scores from 1 to 5, got 0.0"),
        ((1, 5), [math.nan], "expected scores from 1 to 5, got nan"),
        ((4, 5), [2.0], r"scores \(num_pairs,\), got \(4, 5\) and \(1,\)"),
    ],
)
def test_scores_out_of_range_are_rejected(shape, scores, message):
    with pytest.raises(LayerError, match=message):
        relatedness_loss(torch.zeros(shape), torch.tensor(scores))


def test_a_perfect_distribution_costs_nothing():
    scores = torch.tensor([1.0, 2.25, 3.6, 5.0], dtype=torch.float64)
    logits = torch.log(sparse_target(scores, 5) + 1e-300)
    assert relatedness_loss(logits, scores).abs() < 1e-12
    torch.testing.assert_close(expected_score(logits), scores)


def test_reset_parameters_draws_new_values():
    head = RelatednessHead(4)
    before = [parameter.detach().clone() for parameter in head.parameters()]
    head.reset_parameters()
    pairs = zip(before, head.parameters(), strict=True)
    assert all(not torch.equal(old, new) for old, new in pairs)


def test_half_precision_does_not_round_gold_scores():
    logits, scores = torch.randn(200, 5).bfloat16(), torch.linspace(1, 5, 200)
    assert relatedness_loss(logits, scores) == relatedness_loss(logits.float(), scores)
