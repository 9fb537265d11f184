"""Sequence encoders against torch's cells step by step, one sequence at a time."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from graphsent.errors import ModelError
from graphsent.kernels.library import kernels_in_use
from graphsent.layers import LayerError, SequenceEncoder, chained

KINDS = [("lstm", False), ("lstm", True), ("gru", False), ("gru", True)]
with_kernels = pytest.mark.skipif(
    not kernels_in_use(torch.float64), reason="without C compiler torch runs"
)


def step_by_step(encoder: SequenceEncoder, rows: torch.Tensor) -> torch.Tensor:
    """The last state of one sequence from torch's single-step cells."""
    is_lstm = isinstance(encoder.cell, nn.LSTM)
    sizes = (encoder.cell.input_size, encoder.cell.hidden_size)
    last = []
    for suffix in ["", "_reverse"][: 1 + encoder.cell.bidirectional]:
        cell = (nn.LSTMCell if is_lstm else nn.GRUCell)(*sizes).to(rows.dtype)
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        cell.load_state_dict({n: getattr(encoder.cell, f"{n}_l0{suffix}") for n in names})
        state = None
        for row in reversed(rows) if suffix else rows:
            state = cell(row[None], state)
        last.append(state[0][0] if is_lstm else state[0])
    return torch.cat(last)


@st.composite
def ranges_of_rows(draw, num_rows=9):
    ends = st.tuples(st.integers(0, num_rows), st.integers(0, num_rows))
    pairs = ends.map(sorted).filter(lambda pair: pair[0] < pair[1])
    return torch.tensor(draw(st.lists(pairs, min_size=1, max_size=6)))


@pytest.mark.parametrize("engine", ["auto", "torch"])
@pytest.mark.parametrize(("cell", "bidirectional"), KINDS)
@settings(max_examples=15)
@given(ranges=ranges_of_rows())
def test_every_range_is_read_alone(cell, bidirectional, engine, ranges):
    encoder = SequenceEncoder(3, 4, cell=cell, bidirectional=bidirectional).double()
    encoder.cell.engine = engine
    feat = torch.randn(9, 3, dtype=torch.float64)
    result = encoder(feat, ranges)
    expected = [step_by_step(encoder, feat[begin:end]) for begin, end in ranges.tolist()]
    torch.testing.assert_close(result, torch.stack(expected), rtol=0, atol=1e-12)
    assert result.shape == (len(ranges), encoder.out_feats)


@pytest.mark.parametrize(("cell", "bidirectional"), KINDS)
def test_gradients_reach_exactly_the_rows_that_are_read(cell, bidirectional):
    encoder = SequenceEncoder(2, 3, cell=cell, bidirectional=bidirectional).double()
    feat = torch.randn(7, 2, dtype=torch.float64, requires_grad=True)
    ranges = torch.tensor([[1, 4], [2, 3], [5, 6]])
    assert torch.autograd.gradcheck(lambda feat: encoder(feat, ranges), feat)
    encoder(feat, ranges).sum().backward()
    touched = feat.grad.abs().sum(1) > 0
    assert touched.tolist() == [False, True, True, True, False, True, False]


def test_no_sequences():
    assert SequenceEncoder(2, 3, bidirectional=True)(
        torch.zeros(0, 2), torch.zeros(0, 2, dtype=torch.int64)
    ).shape == (0, 6)


def test_hooks_run_once_per_call():
    encoder, doubled = SequenceEncoder(2, 3), SequenceEncoder(2, 3)
    doubled.load_state_dict(encoder.state_dict())
    doubled.register_forward_hook(lambda module, inputs, output: 2 * output)
    feat, ranges = torch.randn(4, 2), torch.tensor([[0, 2], [1, 1], [3, 4]])  # one is empty
    torch.testing.assert_close(doubled(feat, ranges), 2 * encoder(feat, ranges))


def test_reset_parameters_draws_new_values():
    encoder = SequenceEncoder(2, 3)
    before = encoder.cell.weight_hh_l0.detach().clone()
    encoder.reset_parameters()
    assert not torch.equal(before, encoder.cell.weight_hh_l0)


def test_sizes():
    feat, ranges = torch.randn(5, 3), torch.tensor([[0, 5]])
    assert SequenceEncoder(np.int64(3), np.int64(4))(feat, ranges).shape == (1, 4)
    with pytest.raises(LayerError, match="expected in_feats of at least 1, got 0"):
        SequenceEncoder(0, 4)
    with pytest.raises(LayerError, match="expected hidden_feats to be an integer, got None"):
        SequenceEncoder(3, None)


def test_an_unknown_cell_is_rejected():
    with pytest.raises(ModelError, match="unknown cell 'rnn': expected one of lstm, gru"):
        SequenceEncoder(2, 3, cell="rnn")


@with_kernels
@pytest.mark.parametrize(("cell", "bidirectional"), KINDS)
def test_equal_prefixes_and_suffixes_are_computed_once(cell, bidirectional, monkeypatch):
    """The number of steps that are run: those of the longest range per first or last row."""
    steps = []
    function = chained.chain_states

    def run(recurrence, chains, *rest):
        steps.append(int(chains.ends[-1]))
        return function(recurrence, chains, *rest)

    monkeypatch.setattr(chained, "chain_states", run)
    ranges = torch.tensor([[0, 6], [0, 4], [0, 4], [1, 2], [1, 6], [3, 4], [2, 6]])
    encoder = SequenceEncoder(3, 4, cell=cell, bidirectional=bidirectional)
    encoder(torch.randn(6, 3), ranges)
    forward, backward = 6 + 5 + 1 + 4, 6 + 4 + 1
    assert steps == [forward, backward][: 1 + bidirectional]


@pytest.mark.parametrize("engine", ["auto", "torch"])
@pytest.mark.parametrize(("cell", "bidirectional"), KINDS)
def test_rows_shared_by_words(cell, bidirectional, engine):
    torch.manual_seed(0)
    encoder = SequenceEncoder(3, 4, cell=cell, bidirectional=bidirectional).double()
    encoder.cell.engine = engine
    rows = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    index = torch.tensor([3, 0, 0, 2, 3, 1])
    ranges = torch.tensor([[0, 6], [2, 4], [2, 2], [2, 6], [0, 4], [5, 6]])
    found, expected = encoder(rows, ranges, index), encoder(rows[index], ranges)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    weights, wanted = torch.randn_like(found), [rows, *encoder.parameters()]
    gradients = [torch.autograd.grad((y * weights).sum(), wanted) for y in (found, expected)]
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("engine", ["auto", "torch"])
def test_rows_out_of_range(engine):
    encoder = SequenceEncoder(2, 3)
    encoder.cell.engine = engine
    feat, ranges = torch.zeros(3, 2), torch.tensor([[1, 3]])
    for bad in ([[1, 4]], [[-1, 2]]):
        with pytest.raises(LayerError, match="expected ranges of rows from 0 to 2, got"):
            encoder(feat, torch.tensor(bad))
    for index in ([0, 3, 1], [0, -1, 1]):
        with pytest.raises(LayerError, match="expected index of rows from 0 to 2, got"):
            encoder(feat, ranges, torch.tensor(index))


def test_transforms_of_torch_func_are_refused():
    encoder, feat = SequenceEncoder(2, 3), torch.zeros(3, 2)
    with pytest.raises(LayerError, match=r"do not run in transforms of torch\.func"):
        torch.func.grad(lambda x: encoder(x, torch.tensor([[1, 3]])).sum())(feat)


@pytest.mark.parametrize(
    ("feat", "ranges", "index", "problem"),
    [
        (torch.ones(7), torch.ones(2, 2).long(), None, r"expected feat of shape \(num_rows"),
        (torch.ones(7, 4), torch.ones(2, 2).long(), None, r"in_feats = 3, got \(7, 4\)"),
        (torch.ones(7, 3), torch.ones(2, 2), None, r"ranges of .* int64, got \(2, 2\) and"),
        (torch.ones(7, 3), torch.ones(2).long(), None, r"ranges of shape \(num_sequences, 2\)"),
        (torch.ones(7, 3), torch.ones(2, 2).long(), torch.ones(7), r"index of .* and int64, got"),
        (torch.ones(7, 3), torch.ones(2, 2).long(), torch.arange(7).int(), "index of .* int64"),
        (torch.ones(7, 3), torch.ones(2, 2).long(), torch.tensor(3), r"index of .*, got \(\)"),
    ],
)
def test_other_shapes_and_dtypes(feat, ranges, index, problem):
    with pytest.raises(LayerError, match=problem):
        SequenceEncoder(3, 4)(feat, ranges, index)
