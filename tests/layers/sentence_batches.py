"""Batches of sentences of different lengths, with garbage where a layer must not look."""

from __future__ import annotations

import torch
from hypothesis import strategies as st
from torch import Tensor

# Empty sentences, single words, sentences shorter than any filter in the tests, and longer ones.
LENGTHS = st.lists(st.sampled_from([0, 1, 2, 3, 4, 7, 11]), min_size=1, max_size=4)
MARGINS = st.integers(0, 3)


def sentences(lengths: list[int], num_channels: int, *, levels: int | None = None) -> list[Tensor]:
    """Random float64 sentences (channels, length); with ``levels``, that many distinct values."""
    shapes = [(num_channels, length) for length in lengths]
    if levels is None:
        drawn = [torch.randn(shape, dtype=torch.float64) for shape in shapes]
    else:
        drawn = [torch.randint(levels, shape).double() - levels // 2 for shape in shapes]
    return [sentence.requires_grad_() for sentence in drawn]


def batch_of(parts: list[Tensor], margin: int = 0) -> tuple[Tensor, Tensor]:
    """x with NaN beyond each sentence, ``margin`` more than needed; and the lengths."""
    lengths = torch.tensor([part.shape[1] for part in parts])
    num_steps = int(lengths.max()) + margin
    columns = [
        torch.nn.functional.pad(part, (0, num_steps - part.shape[1]), value=torch.nan)
        for part in parts
    ]
    return torch.stack(columns), lengths


def assert_holds(y: Tensor, expected: list[Tensor], atol: float = 1e-12) -> None:
    """Checks that the steps of each sentence are these, followed by zeros."""
    assert len(y) == len(expected)
    for found, part in zip(y, expected, strict=True):
        length = part.shape[-1]
        torch.testing.assert_close(found[..., :length], part, rtol=0, atol=atol)
        assert (found[..., length:] == 0).all()


def gradients(
    results: list[Tensor], inputs: list[Tensor], signals: list[Tensor]
) -> tuple[Tensor, ...]:
    """Gradients of the sum of ``results * signals``, all of them finite."""
    total = sum((r * s).sum() for r, s in zip(results, signals, strict=True))
    total = total + sum(0 * tensor.sum() for tensor in inputs)  # empty sentences have no graph
    found = torch.autograd.grad(total, inputs)
    assert all(gradient.isfinite().all() for gradient in found)
    return found


def assert_same_gradients(
    results: list[Tensor], expected: list[Tensor], inputs: list[Tensor], atol: float = 1e-11
) -> None:
    """Checks that both lists of results have the same gradients for random signals."""
    signals = [torch.randn_like(part) for part in expected]
    for one, other in zip(
        gradients(results, inputs, signals), gradients(expected, inputs, signals), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=0, atol=atol)


def cut(y: Tensor, new_lengths: Tensor) -> list[Tensor]:
    """The sentences of a result without padding."""
    return [part[..., :n] for part, n in zip(y, new_lengths.tolist(), strict=True)]
