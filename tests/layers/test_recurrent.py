"""LSTM and GRU on the engine against those of torch: values, gradients, options and errors."""

from __future__ import annotations

import copy
import pickle
from itertools import product

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from graphsent.kernels.library import SWITCH, kernels_in_use
from graphsent.layers import GRU, LSTM, LayerError, chained

KINDS = {LSTM: nn.LSTM, GRU: nn.GRU}
IN_FEATS, HIDDEN_FEATS, BATCH, TIME = 4, 5, 4, 6
LENGTHS = torch.tensor([2, 6, 1, 4])

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
with_kernels = pytest.mark.skipif(
    not kernels_in_use(torch.float64), reason="without C compiler torch runs"
)


@pytest.fixture
def runs(monkeypatch):
    """Counts how often the engine runs a direction of a layer."""
    count = []
    function = chained.chain_states
    monkeypatch.setattr(chained, "chain_states", lambda *a: count.append(1) or function(*a))
    return count


def pair(kind, *, dtype=torch.float64, engine="levels", **options):
    """A layer, and torch's layer with the same weights."""
    torch.manual_seed(0)
    theirs = KINDS[kind](IN_FEATS, HIDDEN_FEATS, **options).to(dtype)
    ours = kind(IN_FEATS, HIDDEN_FEATS, engine=engine, **options).to(dtype)
    ours.load_state_dict(theirs.state_dict())
    return ours, theirs


def batch(batch_first=False, dtype=torch.float64):
    shape = (BATCH, TIME, IN_FEATS) if batch_first else (TIME, BATCH, IN_FEATS)
    return torch.randn(shape, dtype=dtype)


def packed_by_torch(layer, x, hx, lengths):
    """Reference for ``lengths``."""
    first = layer.batch_first
    packed = pack_padded_sequence(x, lengths, batch_first=first, enforce_sorted=False)
    output, state = layer(packed, hx)
    total = x.shape[1 if first else 0]
    return pad_packed_sequence(output, batch_first=first, total_length=total)[0], state


def packed(layer, x, hx):
    """Reference for a packed batch, whose data are the output."""
    first = layer.batch_first
    batch = pack_padded_sequence(x, LENGTHS, batch_first=first, enforce_sorted=False)
    output, state = layer(batch, hx)
    assert isinstance(output, PackedSequence)
    return output.data, state


def outcome(call, layer, x, hx=None):
    """Results of a call, and gradients of inputs, weights and initial states."""
    x = x.clone().requires_grad_()
    torch.manual_seed(1)  # of dropout
    output, state = call(layer, x, hx)
    parts = [output, *([state] if isinstance(state, torch.Tensor) else state)]
    given = [] if hx is None else [hx] if isinstance(hx, torch.Tensor) else list(hx)
    loss = sum((part * part.detach().cos()).sum() for part in parts)
    return [*parts, *torch.autograd.grad(loss, [x, *layer.parameters(), *given])]


def check(ours, theirs, call, x, hx=None, reference=None, tolerance=1e-12):
    found = outcome(call, ours, x, hx)
    for got, expected in zip(found, outcome(reference or call, theirs, x, hx), strict=True):
        assert got.shape == expected.shape
        torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance)


def states_before(kind, layers, directions, size=(BATCH,), dtype=torch.float64):
    shape = (layers * directions, *size, HIDDEN_FEATS)
    parts = tuple(torch.randn(shape, dtype=dtype, requires_grad=True) for _ in range(2))
    return parts if kind is LSTM else parts[0]


@with_kernels
@each_kind
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "dropout": 0.3}, {"bias": False}])
@pytest.mark.parametrize(("both", "first", "started"), list(product((False, True), repeat=3)))
def test_results_are_those_of_torch(kind, options, both, first, started, runs):
    ours, theirs = pair(kind, bidirectional=both, batch_first=first, **options)
    x, hx = batch(first), None
    if started:
        hx = states_before(kind, options.get("num_layers", 1), 1 + both)
    check(ours, theirs, lambda layer, x, hx: layer(x, hx), x, hx)
    check(ours, theirs, packed, x, hx)
    check(
        *(ours, theirs, lambda layer, x, hx: layer(x, hx, lengths=LENGTHS), x, hx),
        lambda layer, x, hx: packed_by_torch(layer, x, hx, LENGTHS),
    )
    assert len(runs) == 3 * options.get("num_layers", 1) * (1 + both)


@with_kernels
@each_kind
@pytest.mark.parametrize("both", [False, True])
def test_one_sequence(kind, both, runs):
    ours, theirs = pair(kind, bidirectional=both)
    x = torch.randn(TIME, IN_FEATS, dtype=torch.float64)
    call = lambda layer, x, hx: layer(x, hx)  # noqa: E731
    check(ours, theirs, call, x)
    check(ours, theirs, call, x, states_before(kind, 1, 1 + both, ()))
    check(ours, theirs, call, x[:1])
    check(ours, theirs, call, x[:, None])
    assert len(runs) == 4 * (1 + both)


@with_kernels
@each_kind
def test_single_precision_and_large_batches(kind):
    lengths = torch.randint(1, 31, (70,), generator=torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    x = torch.randn(30, 70, IN_FEATS)
    ours, theirs = pair(kind, dtype=torch.float32, bidirectional=True)
    check(
        *(ours, theirs, lambda layer, x, hx: layer(x, hx, lengths=lengths), x),
        reference=lambda layer, x, hx: packed_by_torch(layer, x, hx, lengths),
        tolerance=1e-4,
    )


@with_kernels
@each_kind
def test_padding_has_no_influence(kind):
    layer, x = pair(kind, batch_first=True, bidirectional=True)[0], batch(True)
    expected, _ = layer(x, lengths=LENGTHS)
    assert not expected[0, 2:].any()
    assert not expected[2, 1:].any()
    x[0, 2:] = torch.nan
    assert torch.equal(layer(x, lengths=LENGTHS)[0], expected)


@with_kernels
@each_kind
def test_trailing_padding_of_the_whole_batch_stays(kind):
    layer, x = pair(kind)[0], batch()
    output, _ = layer(x, lengths=LENGTHS.clamp(max=3))
    assert output.shape == (TIME, BATCH, HIDDEN_FEATS)
    assert not output[3:].any()


FALLBACKS = {
    "projections": ({"proj_size": 2}, torch.float64),
    "engine": ({"engine": "torch"}, torch.float64),
    "bfloat16": ({}, torch.bfloat16),
}


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in KINDS for name in FALLBACKS if (kind, name) != (GRU, "projections")],
)
def test_unsupported_options_run_in_torch(kind, name, runs):
    options, dtype = FALLBACKS[name]
    given = {key: value for key, value in options.items() if key != "engine"}
    torch.manual_seed(0)
    theirs = KINDS[kind](IN_FEATS, HIDDEN_FEATS, **given).to(dtype)
    ours = kind(IN_FEATS, HIDDEN_FEATS, **options).to(dtype)
    ours.load_state_dict(theirs.state_dict())
    check(
        *(ours, theirs, lambda layer, x, hx: layer(x, hx, lengths=LENGTHS), batch(dtype=dtype)),
        reference=lambda layer, x, hx: packed_by_torch(layer, x, hx, LENGTHS),
    )
    assert not runs


@each_kind
def test_without_kernels_and_under_autocast_torch_runs(kind, runs, monkeypatch):
    ours, theirs = pair(kind, dtype=torch.float32)
    x = batch(dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(ours(x)[0], theirs(x)[0])
    monkeypatch.setenv(SWITCH, "0")
    assert torch.equal(ours(x)[0], theirs(x)[0])
    assert not runs


@with_kernels
@each_kind
def test_few_steps_fall_back_to_torch(kind, runs):
    """By ``engine="auto"``; the threshold is that of the table in the docs."""
    layer = kind(IN_FEATS, HIDDEN_FEATS)
    fewest = layer._fewest

    def by_engine(time, *, size=2, mixed=False, gradients=True):
        x, lengths = torch.randn(time, size, IN_FEATS), torch.tensor([time, max(time - 1, 1)])
        runs.clear()
        with torch.set_grad_enabled(gradients):
            layer(x, lengths=lengths if mixed else None)
        return bool(runs)

    for gradients, mixed in product((False, True), repeat=2):
        limit = fewest.gradients if gradients else fewest.mixed if mixed else fewest.full
        for time in (2, 3, 4, 15, 16, 31, 32, 50):
            assert by_engine(time, mixed=mixed, gradients=gradients) == (time >= limit)
    for time in (2, 3, 4, 50):
        assert by_engine(time, size=1) == (time >= fewest.alone)
    packed = pack_padded_sequence(torch.randn(50, 1, IN_FEATS), [50])
    runs.clear()
    layer(packed)
    assert bool(runs) == (fewest.alone <= 50)


@with_kernels
@each_kind
def test_gradients_of_gradients(kind):
    layers, x = pair(kind), batch().requires_grad_()
    found = []
    for layer in layers:
        (gradient,) = torch.autograd.grad(layer(x)[0].square().sum(), x, create_graph=True)
        wanted = [x, *layer.parameters()]
        found.append(torch.autograd.grad(gradient.square().sum(), wanted, allow_unused=True))
    for got, expected in zip(*found, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)


@with_kernels
@each_kind
def test_copies_and_pickles(kind, runs):
    layer, x = pair(kind)[0], batch()
    expected = layer(x)[0]
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(other(x)[0], expected)
    assert len(runs) == 3


@with_kernels
@each_kind
def test_weights_that_are_computed(kind, runs):
    ours, theirs = pair(kind)
    x, call = batch(), lambda layer, x, hx: layer(x, hx)
    for layer in (ours, theirs):
        nn.utils.parametrizations.weight_norm(layer, "weight_hh_l0")
    check(ours, theirs, call, x)
    doubled = {name: 2 * value for name, value in ours.state_dict().items()}
    found, expected = (torch.func.functional_call(layer, doubled, (x,)) for layer in (ours, theirs))
    torch.testing.assert_close(found[0], expected[0], rtol=0, atol=1e-12)
    assert runs


@each_kind
def test_lengths_in_a_list(kind):
    layer, x = kind(IN_FEATS, HIDDEN_FEATS), batch(dtype=torch.float32)
    expected, _ = layer(x, lengths=LENGTHS)
    torch.testing.assert_close(layer(x, lengths=LENGTHS.tolist())[0], expected)


@each_kind
def test_no_sequences_with_lengths(kind):
    output, _ = kind(IN_FEATS, HIDDEN_FEATS)(torch.zeros(5, 0, IN_FEATS), lengths=[])
    assert output.shape == (5, 0, HIDDEN_FEATS)


@pytest.mark.parametrize("engine", ["auto", "torch"])
@each_kind
def test_inputs_of_another_size(kind, engine):
    layer, x = kind(IN_FEATS, HIDDEN_FEATS, engine=engine), torch.zeros(5, 1, IN_FEATS + 1)
    packed = pack_padded_sequence(x, torch.tensor([3]))
    for given, options in ((x, {}), (x, {"lengths": [3]}), (packed, {})):
        with pytest.raises((LayerError, RuntimeError), match=rf"{IN_FEATS}, got {IN_FEATS + 1}"):
            layer(given, **options)


@each_kind
def test_transforms_of_torch_func_are_refused_with_lengths(kind):
    layer, x = kind(IN_FEATS, HIDDEN_FEATS), torch.zeros(5, 2, IN_FEATS)
    assert torch.func.grad(lambda x: layer(x)[0].sum())(x).shape == x.shape
    with pytest.raises(LayerError, match=r"do not run in transforms of torch\.func"):
        torch.func.grad(lambda x: layer(x, lengths=[5, 3])[0].sum())(x)


@each_kind
def test_wrong_lengths(kind):
    layer, x = kind(IN_FEATS, HIDDEN_FEATS), batch(dtype=torch.float32)
    for lengths, message in (
        (LENGTHS[:2], r"expected lengths of shape \(batch,\) = \(4,\), int64, got \(2,\)"),
        (LENGTHS.int(), "int64, got .* torch.int32"),
        (LENGTHS + 1, "of at least 1 and at most time = 6, got 2 to 7"),
        (LENGTHS - 1, "of at least 1 and at most time = 6, got 0 to 5"),
    ):
        with pytest.raises(LayerError, match=message):
            layer(x, lengths=lengths)
    for given in (x[0], pack_padded_sequence(x, LENGTHS, enforce_sorted=False)):
        with pytest.raises(LayerError, match="expected lengths only for a padded batch"):
            layer(given, lengths=LENGTHS)


@each_kind
def test_wrong_inputs_are_rejected_as_by_torch(kind):
    ours, theirs = pair(kind)
    x = batch()
    bad = [
        (x[..., 1:], None),
        (x[None], None),
        (x.float(), None),
        (x[:, :0], None),
        (x[:0], None),
        (x, states_before(kind, 2, 1)),
        (x, states_before(kind, 1, 1, (3,))),
        (x, states_before(kind, 1, 1, ())),
        (PackedSequence(x.flatten(0, 1), torch.tensor([BATCH, BATCH + 1])), None),
        (PackedSequence(x.flatten(0, 1), torch.tensor([2, 2])), None),
    ]
    for given, hx in bad:
        errors = []
        for layer in (ours, theirs):
            try:
                layer(given, hx)
            except (RuntimeError, ValueError) as error:
                errors.append(type(error))
            else:
                errors.append(None)
        assert errors[0] == errors[1], (given, errors)


def test_an_unknown_engine_is_rejected():
    with pytest.raises(LayerError, match="unknown engine 'dgl': expected one of auto, levels, tor"):
        LSTM(3, 4, engine="dgl")


@pytest.mark.parametrize(
    "state",
    [
        torch.zeros(2, 1, BATCH, HIDDEN_FEATS),
        (torch.zeros(1, BATCH, HIDDEN_FEATS),) * 3,
        (torch.zeros(1, BATCH, HIDDEN_FEATS),),
    ],
    ids=["one tensor", "three tensors", "a tuple of one tensor"],
)
@each_kind
def test_states_of_another_number_of_parts(kind, state):
    """Torch decides: it splits a tensor along its first dimension, or raises an error."""
    results = []
    for layer in pair(kind, dtype=torch.float32):
        try:
            results.append(layer(batch(dtype=torch.float32), state)[0].shape)
        except Exception as error:
            results.append(type(error))
    assert results[0] == results[1]
