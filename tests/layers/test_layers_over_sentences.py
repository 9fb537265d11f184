"""The contract of all layers over sentences: one table of layers, one set of checks."""

import copy
import pickle

import pytest
import torch
from hypothesis import given, settings
from sentence_batches import LENGTHS, MARGINS, batch_of, sentences
from torch.func import functional_call

from graphsent import layers
from graphsent.layers import LayerError

NUM_CHANNELS = 4


def no_extra(x, lengths):
    return ()


def guide(x, lengths):
    guides = torch.tensor([[1.0, -2.0, 0.5, 1.0]], dtype=x.dtype, device=x.device)
    return (guides.expand(len(x), -1),)


def words(x, lengths):
    return ((lengths - 1).clamp(min=0),)


# Name -> the layer, its inputs besides x and lengths, and whether equality is bitwise.
LAYERS = {
    "wide": (lambda: layers.WideConv1d(4, 6, 3), no_extra, False),
    "wide, by rows": (
        lambda: layers.WideConv1d(4, 8, 3, rows=4, fold=True, bias=True, activation="tanh"),
        no_extra,
        False,
    ),
    "wide, fft": (lambda: layers.WideConv1d(4, 6, 3, method="fft"), no_extra, False),
    "narrow": (
        lambda: layers.NarrowConv1d(4, 6, 3, bias=True, activation="tanh"),
        no_extra,
        False,
    ),
    "k-max": (lambda: layers.KMaxPooling(2), no_extra, True),
    "dynamic k-max": (lambda: layers.DynamicKMaxPooling(2, 1, 2), words, True),
    "bias, activation": (lambda: layers.BiasActivation(4), no_extra, False),
    "max": (layers.MaxPooling, no_extra, True),
    "mean": (layers.MeanPooling, no_extra, False),
    "sum": (layers.SumPooling, no_extra, False),
    "attention": (layers.AttentionPooling, guide, False),
}


def call(name, layer, x, lengths):
    """The result, and its lengths if it has a time dimension."""
    y = layer(x, lengths, *LAYERS[name][1](x, lengths))
    if isinstance(y, tuple):
        return y
    return y, (lengths if y.dim() == 3 else None)


@pytest.fixture(params=LAYERS)
def name(request):
    return request.param


@pytest.fixture
def layer(name):
    return LAYERS[name][0]()


@pytest.mark.parametrize("name", LAYERS)
@settings(max_examples=12)
@given(lengths=LENGTHS, margin=MARGINS)
def test_neither_padding_nor_batch_matters(name, lengths, margin):
    layer = LAYERS[name][0]().double()
    tolerance = 0 if LAYERS[name][2] else 1e-12
    parts = sentences(lengths, NUM_CHANNELS)
    x, given_lengths = batch_of(parts, margin)  # NaN beyond the sentences
    y, new_lengths = call(name, layer, x, given_lengths)
    signal = torch.randn_like(y)
    together = torch.autograd.grad((y * signal).sum(), parts)
    for place, part in enumerate(parts):
        alone, own_length = call(name, layer, part[None], given_lengths[place, None])
        time = alone.shape[2] if alone.dim() == 3 else None
        torch.testing.assert_close(y[place, ..., :time], alone[0], rtol=0, atol=tolerance)
        if time is not None:
            assert own_length == new_lengths[place]
            assert (y[place, :, int(own_length) :] == 0).all()
        total = (alone[0] * signal[place, ..., :time]).sum()
        (gradient,) = torch.autograd.grad(total, part)
        torch.testing.assert_close(together[place], gradient, rtol=0, atol=tolerance)


def test_padding_gets_no_gradient(name, layer):
    x = torch.randn(3, NUM_CHANNELS, 5, requires_grad=True)
    y, _ = call(name, layer, x, torch.tensor([2, 5, 0]))
    y.square().sum().backward()
    assert (x.grad[0, :, 2:] == 0).all()
    assert (x.grad[2] == 0).all()
    assert x.grad[0, :, :2].any()
    assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())


def test_empty_sentences_give_zeros_and_have_no_gradient(name, layer):
    for num_steps in (0, 1, 4):
        x = torch.randn(2, NUM_CHANNELS, num_steps, requires_grad=True)
        y, new_lengths = call(name, layer, x, torch.tensor([0, 0]))
        assert (y == 0).all()
        assert new_lengths is None or new_lengths.tolist() == [0, 0]
        y.sum().backward()
        assert all((parameter.grad == 0).all() for parameter in layer.parameters())


def test_no_sentences(name, layer):
    y, new_lengths = call(
        name, layer, torch.zeros(0, NUM_CHANNELS, 4), torch.zeros(0, dtype=torch.int64)
    )
    assert len(y) == 0
    assert new_lengths is None or len(new_lengths) == 0


def test_gradcheck(name, layer):
    layer = layer.double()
    parameters = dict(layer.named_parameters())
    lengths = torch.tensor([0, 1, 3])
    x = torch.randn(3, NUM_CHANNELS, 3, dtype=torch.float64, requires_grad=True)
    extra = LAYERS[name][1](x.detach(), lengths)

    def run(x, *values):
        named = dict(zip(parameters, values, strict=True))
        y = functional_call(layer, named, (x, lengths, *extra))
        return y[0] if isinstance(y, tuple) else y

    inputs = (x, *parameters.values())
    assert torch.autograd.gradcheck(run, inputs)
    if "max" not in name:
        assert torch.autograd.gradgradcheck(run, inputs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_other_dtypes(name, layer, dtype):
    # Small integers, so that the selection does not depend on the precision.
    x = torch.randint(-8, 8, (3, NUM_CHANNELS, 6)).double()
    lengths = torch.tensor([6, 0, 2])
    expected, _ = call(name, copy.deepcopy(layer).double(), x, lengths)
    rough = x.to(dtype).requires_grad_()
    y, _ = call(name, layer.to(dtype), rough, lengths)
    assert y.dtype == dtype
    tolerance = 1e-5 if dtype == torch.float32 else 0.2
    torch.testing.assert_close(y.double(), expected, rtol=tolerance, atol=tolerance)
    y.sum().backward()
    assert rough.grad.isfinite().all()


def test_copies_compute_the_same(name, layer):
    x, lengths = torch.randn(2, NUM_CHANNELS, 5), torch.tensor([5, 3])
    fresh = LAYERS[name][0]()
    fresh.load_state_dict(layer.state_dict())
    y, _ = call(name, layer, x, lengths)
    for other in (fresh, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert repr(other) == repr(layer)
        assert torch.equal(call(name, other, x, lengths)[0], y)


def test_inputs_are_not_modified(name, layer):
    x, lengths = torch.randn(2, NUM_CHANNELS, 5), torch.tensor([5, 3])
    x[1, :, 3:] = torch.nan
    before = x.clone(), lengths.clone()
    call(name, layer, x, lengths)
    torch.testing.assert_close(x, before[0], equal_nan=True, rtol=0, atol=0)
    assert torch.equal(lengths, before[1])


def test_any_strides(name, layer):
    x, lengths = torch.randn(NUM_CHANNELS, 5, 2), torch.tensor([5, 3])
    strided = x.permute(2, 0, 1)
    y, _ = call(name, layer, strided, lengths)
    expected, _ = call(name, layer, strided.contiguous(), lengths)
    torch.testing.assert_close(y, expected)


@pytest.mark.parametrize(
    ("x", "lengths", "message"),
    [
        (torch.zeros(4, 5), [5], r"expected x of shape \(batch, .*channels, time\), got \(4, 5\)"),
        (torch.zeros(1, 4, 5, dtype=torch.int64), [5], "x to be floating point, got torch.int64"),
        (torch.zeros(1, 4, 5), [5, 5], r"lengths of shape \(batch,\) = \(1,\), int64, got \(2,\)"),
        (torch.zeros(1, 4, 5), [5.0], r"int64, got \(1,\), torch.float32"),
        (torch.zeros(1, 4, 5), [6], "at least 0 and at most time = 5, got 6 to 6"),
        (torch.zeros(1, 4, 5), [-1], "at least 0 and at most time = 5, got -1 to -1"),
    ],
)
def test_inputs_that_are_not_a_batch_are_rejected(name, layer, x, lengths, message):
    with pytest.raises(LayerError, match=message):
        layer(x, torch.tensor(lengths), *LAYERS[name][1](torch.zeros(1, 4, 5), torch.tensor([5])))


def test_reset_parameters_draws_new_values(name, layer):
    parameters = list(layer.parameters())
    if parameters:
        for parameter in parameters:
            torch.nn.init.constant_(parameter, 7)
        layer.reset_parameters()
        assert all((parameter != 7).all() for parameter in parameters)


@pytest.mark.filterwarnings("ignore:.*jit.script. is deprecated:DeprecationWarning")  # torch's own
@pytest.mark.parametrize("num_steps", [5, 9000])
def test_transforms_of_torch(name, layer, num_steps):
    """``vmap`` and ``jvp`` give what single calls and differences give."""
    x = torch.randn(3, 2, NUM_CHANNELS, num_steps, dtype=torch.float64)
    layer, lengths = layer.double().requires_grad_(False), torch.tensor([num_steps, 4])
    function = lambda each: call(name, layer, each, lengths)[0]  # noqa: E731
    expected = torch.stack([function(each) for each in x])
    torch.testing.assert_close(torch.func.vmap(function)(x), expected, rtol=0, atol=1e-10)
    _, found = torch.func.jvp(function, (x[0],), (x[1],))
    difference = (function(x[0] + 1e-6 * x[1]) - function(x[0] - 1e-6 * x[1])) / 2e-6
    torch.testing.assert_close(found, difference, rtol=0, atol=1e-6)


@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")  # read by torch itself
def test_torch_compile(name, layer):
    x, lengths = torch.randn(2, NUM_CHANNELS, 7), torch.tensor([7, 4])
    expected = call(name, layer, x, lengths)[0]
    compiled = torch.compile(lambda *given: call(name, layer, *given)[0], backend="eager")
    torch.testing.assert_close(compiled(x, lengths), expected)
