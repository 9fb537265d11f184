"""Sum, mean, max and attention pooling against the equations, sentence by sentence."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_batches import LENGTHS, MARGINS, assert_same_gradients, batch_of, sentences
from sentence_references import attention

from graphsent.layers import AttentionPooling, LayerError, MaxPooling, MeanPooling, SumPooling


def first_largest(part):
    """The first maximum of each row, and its position."""
    positions = [row.tolist().index(max(row.tolist())) for row in part]
    return torch.stack([row[t] for row, t in zip(part, positions, strict=True)]), positions


REFERENCES = {
    SumPooling: lambda part: sum(part.unbind(1)),
    MeanPooling: lambda part: sum(part.unbind(1)) / part.shape[1],
    MaxPooling: lambda part: first_largest(part)[0],
}


@pytest.mark.parametrize("kind", REFERENCES)
@settings(max_examples=25)
@given(lengths=LENGTHS, margin=MARGINS, levels=st.sampled_from([None, 2]))
def test_against_equations(kind, lengths, margin, levels):
    parts = sentences(lengths, 3, levels=levels)
    y = kind()(*batch_of(parts, margin))
    empty = torch.zeros(3, dtype=torch.float64)
    expected = [REFERENCES[kind](part) if part.shape[1] else empty for part in parts]
    torch.testing.assert_close(y, torch.stack(expected), rtol=0, atol=1e-12)
    assert_same_gradients([*y], expected, parts)


@settings(max_examples=25)
@given(lengths=LENGTHS, levels=st.sampled_from([None, 1, 2]))
def test_positions_of_the_largest(lengths, levels):
    parts = sentences(lengths, 3, levels=levels)
    _, positions = MaxPooling()(*batch_of(parts), return_positions=True)
    expected = [first_largest(part)[1] if part.shape[1] else [-1] * 3 for part in parts]
    assert positions.tolist() == expected


@settings(max_examples=30)
@given(lengths=LENGTHS, margin=MARGINS, temperature=st.sampled_from([1.0, 0.1, 3.0]))
def test_attention_against_equations(lengths, margin, temperature):
    parts = sentences(lengths, 3)
    guide = torch.randn(len(parts), 3, dtype=torch.float64, requires_grad=True)
    pooling = AttentionPooling(temperature)
    x, given_lengths = batch_of(parts, margin)
    y, weights = pooling(x, given_lengths, guide, return_weights=True)
    expected = [attention(part, g, temperature) for part, g in zip(parts, guide, strict=True)]
    means = [mean for mean, _ in expected]
    torch.testing.assert_close(y, torch.stack(means), rtol=0, atol=1e-12)
    for found, (_, part) in zip(weights, expected, strict=True):
        torch.testing.assert_close(found[: len(part)], part, rtol=0, atol=1e-12)
        assert (found[len(part) :] == 0).all()
    results = [*y, *weights]
    whole = [torch.nn.functional.pad(p, (0, x.shape[2] - len(p))) for _, p in expected]
    assert_same_gradients(results, [*means, *whole], [*parts, guide])
    assert torch.equal(pooling(x, given_lengths, guide), y)


def test_golden_attention():
    x = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    for scale in (1.0, 10.0):
        y = AttentionPooling()(x, torch.tensor([2]), torch.tensor([[scale, scale]]))
        torch.testing.assert_close(y, torch.tensor([[0.5, 0.5]]))


def test_no_weight_is_more_than_e_squared_times_another():
    x = torch.tensor([[[1.0, -1.0]]])
    _, weights = AttentionPooling()(x, torch.tensor([2]), torch.ones(1, 1), return_weights=True)
    torch.testing.assert_close(weights[0, 0] / weights[0, 1], torch.tensor(math.e**2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("zero", ["steps", "guide"])
def test_a_vector_of_zeros_is_similar_to_nothing(dtype, zero):
    x = torch.randn(2, 3, 4).to(dtype)
    guide = torch.randn(2, 3).to(dtype)
    (x if zero == "steps" else guide).zero_()
    x.requires_grad_()
    guide.requires_grad_()
    y, weights = AttentionPooling()(x, torch.tensor([4, 2]), guide, return_weights=True)
    assert weights.tolist() == [[0.25] * 4, [0.5, 0.5, 0, 0]]
    (weights @ torch.arange(4).to(dtype)).sum().backward(retain_graph=True)
    assert not x.grad.any()
    assert not guide.grad.any()
    y.sum().backward()
    assert torch.equal(x.grad, weights[:, None].expand(2, 3, 4))


def test_wrong_options_are_rejected():
    with pytest.raises(LayerError, match="expected temperature above 0, got 0"):
        AttentionPooling(0)
    with pytest.raises(LayerError, match="expected eps above 0, got -1"):
        AttentionPooling(eps=-1)


def test_a_guide_of_another_size_is_rejected():
    with pytest.raises(LayerError, match=r"guide of shape \(batch, channels\) = \(2, 3\), got"):
        AttentionPooling()(torch.zeros(2, 3, 4), torch.tensor([4, 4]), torch.zeros(2, 4))


def test_repr_names_another_temperature():
    assert repr(AttentionPooling()) == "AttentionPooling()"
    assert repr(AttentionPooling(0.5)) == "AttentionPooling(temperature=0.5)"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_means_in_half_precision(dtype):
    """Neither sums nor lengths overflow."""
    x = torch.full((1, 1, 70001), 1000.0, dtype=dtype)
    assert MeanPooling()(x, torch.tensor([70001])).item() == 1000
    assert MeanPooling()(x[..., :100], torch.tensor([100])).dtype == dtype
