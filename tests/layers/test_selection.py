"""Selection by a threshold is selection by a stable sort."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsent.layers.selection import by_sorting, by_threshold

NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, float("inf"), float("-inf"), float("nan")])


@settings(max_examples=150)
@given(st.data())
def test_both_implementations_agree(data):
    shape = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 6)))
    num_values = math.prod(shape)
    values = data.draw(st.lists(NUMBERS, min_size=num_values, max_size=num_values))
    k = data.draw(st.lists(st.integers(0, shape[2]), min_size=shape[0], max_size=shape[0]))
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64, torch.bfloat16]))
    arguments = (torch.tensor(values, dtype=dtype).reshape(shape), torch.tensor(k), max(1, *k))
    assert torch.equal(by_threshold(*arguments), by_sorting(*arguments))


def test_on_many_random_rows():
    values = torch.randn(20, 30, 40)
    values[::3] = values[::3].round()  # ties in some sentences
    k = torch.randint(0, 40, (20,))
    width = int(k.max())
    assert torch.equal(by_threshold(values, k, width), by_sorting(values, k, width))
    turned = values.transpose(0, 1).contiguous().transpose(0, 1)
    assert torch.equal(by_threshold(turned, k, width), by_sorting(values, k, width))
