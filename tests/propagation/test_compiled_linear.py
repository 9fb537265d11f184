"""Linear maps by the compiled kernels, against those of torch."""

import weakref

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from graphsent.cells import AttentiveTreeLSTM, ChildSumTreeLSTM
from graphsent.graphs import constituency_batch
from graphsent.kernels import library
from graphsent.kernels.library import kernels_for
from graphsent.kernels.structures import address_of
from graphsent.layers import Linear
from graphsent.propagation import linear as module
from graphsent.propagation.linear import linear

pytestmark = pytest.mark.skipif(not kernels_for(torch.empty(0)), reason="no compiled kernels")

SHAPES = [(1, 1, 1), (3, 5, 31), (12, 7, 32), (13, 4, 33), (70, 33, 65), (150, 40, 96)]
SHAPES += [(7, 5, 13), (7, 5, 25)]  # one column more than half of the last panel
SHAPES += [(2100, 33, 20)]  # rows in several blocks


@pytest.fixture(autouse=True)
def of_any_size(monkeypatch):
    monkeypatch.setattr(module, "FEWEST", 1)


@pytest.fixture
def counted(monkeypatch):
    """How often the kernels compute a linear map, and its gradients."""
    calls = []
    run = module._run
    monkeypatch.setattr(
        module, "_run", lambda name, *rest, **named: calls.append(name) or run(name, *rest, **named)
    )
    return calls


def numbers(*shape, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype, requires_grad=True)


def gradients(function, tensors):
    result = function(*tensors)
    wanted = [part for part in tensors if part is not None and part.requires_grad]
    weights = torch.linspace(-1, 2, result.numel(), dtype=result.dtype).view_as(result)
    return result, *torch.autograd.grad((result * weights).sum(), wanted)


def check(*tensors, rtol=1e-12):
    torch.testing.assert_close(
        gradients(linear, tensors), gradients(functional.linear, tensors), rtol=rtol, atol=rtol
    )


@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize(("num_rows", "in_feats", "out_feats"), SHAPES)
def test_agrees_with_torch(
    num_rows, in_feats, out_feats, biased, num_threads, monkeypatch, counted
):
    monkeypatch.setattr(module, "threads_for", lambda _: num_threads)
    bias = numbers(out_feats) if biased else None
    check(numbers(num_rows, in_feats), numbers(out_feats, in_feats), bias)
    assert counted == ["forward", "backward"]


@pytest.mark.parametrize("out_feats", [44, 60])  # at most half of the last panel, and more
def test_single_precision(out_feats):
    of = {"dtype": torch.float32}
    weight, bias = numbers(out_feats, 40, **of), numbers(out_feats, **of)
    check(numbers(50, 40, **of), weight, bias, rtol=1e-4)


@pytest.mark.parametrize("wanted", range(3))
def test_one_gradient(wanted):
    tensors = [numbers(9, 4), numbers(6, 4), numbers(6)]
    check(*(part.requires_grad_(n == wanted) for n, part in enumerate(tensors)))


def test_tensors_that_are_not_contiguous():
    check(numbers(4, 9).t(), numbers(5, 12)[:, 2:6], numbers(10)[::2])
    result = linear(*(tensors := (numbers(9, 4), numbers(6, 4))))
    expected = torch.autograd.grad(functional.linear(*tensors).sum(), tensors)
    torch.testing.assert_close(torch.autograd.grad(result.sum(), tensors), expected)  # expanded


@pytest.mark.parametrize("wanted", ["rwb", "rw", "wb", "rb", "r", "w", "b"])
def test_gradients_of_gradients(wanted):
    parts = zip("rwb", [numbers(4, 3), numbers(5, 3), numbers(5)], strict=True)
    tensors = [part.requires_grad_(name in wanted) for name, part in parts]
    assert torch.autograd.gradcheck(linear, tensors)
    assert torch.autograd.gradgradcheck(linear, tensors)


def test_batched_gradients():
    tensors = numbers(9, 4), numbers(6, 4), numbers(6)
    options = {"grad_outputs": torch.randn(2, 9, 6).double(), "is_grads_batched": True}
    found, expected = (
        torch.autograd.grad(function(*tensors), tensors, **options)
        for function in (linear, functional.linear)
    )
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("function", [linear, functional.linear])
@pytest.mark.parametrize(
    ("wanted", "changed", "works"),
    [
        ("rwb", "b", True),  # no gradient of a bias is computed
        ("rb", "r", True),  # with rows, only those of the weights are
        ("wb", "w", True),
        ("rwb", "r", False),
        ("rwb", "w", False),
    ],
)
def test_changes_in_place_as_with_torch(function, wanted, changed, works, counted):
    tensors = {"r": numbers(9, 4), "w": numbers(6, 4), "b": numbers(6)}
    for name, part in tensors.items():
        part.requires_grad_(name in wanted)
    sums = function(*tensors.values()).sum()
    with torch.no_grad():
        tensors[changed].add_(1)
    if works:
        sums.backward()
    else:
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            sums.backward()
    if function is linear:
        assert counted == ["forward", "backward"][: 1 + works]


def test_a_frozen_layer_does_not_keep_its_rows():
    rows = torch.randn(9, 4)
    kept = weakref.ref(rows)
    sums = linear(rows, torch.randn(6, 4), numbers(6, dtype=torch.float32))
    del rows
    assert kept() is None
    sums.sum().backward()


def test_cases_that_torch_computes(counted, monkeypatch):
    weight = torch.randn(4, 3)
    linear(torch.randn(2, 5, 3), weight)  # not a matrix
    linear(torch.randn(2, 3, dtype=torch.float16), weight.half())
    with torch.autocast("cpu", torch.bfloat16):
        assert linear(torch.randn(2, 3), weight).dtype == torch.bfloat16
    assert linear(torch.empty(0, 3), weight).shape == (0, 4)
    monkeypatch.setenv(library.SWITCH, "0")
    linear(torch.randn(2, 3), weight)
    assert counted == []
    with pytest.raises(RuntimeError):
        linear(torch.randn(2, 5), weight)


@pytest.mark.filterwarnings("ignore:.torch.jit")
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_cases_in_which_torch_must_see_the_operation(counted):
    rows, weight, bias = numbers(5, 4), numbers(6, 4), numbers(6)
    expected = functional.linear(rows, weight, bias)
    given = [part.detach() for part in (rows, weight, bias)]
    torch.testing.assert_close(torch.vmap(linear)(*(part[None] for part in given))[0], expected)
    _, found = torch.func.jvp(linear, tuple(given), tuple(given))
    torch.testing.assert_close(found, 2 * expected - bias)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(given[0], given[0])
        found = torch.autograd.forward_ad.unpack_dual(linear(dual, *given[1:])).tangent
    torch.testing.assert_close(found, expected - bias)
    recorded = make_fx(linear)(*given)
    torch.testing.assert_close(recorded(2 * rows, weight, bias), 2 * expected - bias)
    traced = torch.jit.trace(lambda rows: linear(rows, *given[1:]), given[0], check_trace=False)
    assert "aten::linear" in str(traced.graph)
    with FlopCounterMode(display=False) as counter:
        linear(*given)
    assert counter.get_total_flops() == 2 * 5 * 4 * 6
    torch.testing.assert_close(linear(given[0].to_sparse(), *given[1:]), expected)
    assert counted == []


def test_tensors_that_compute_in_their_own_way(counted):
    class Counted(torch.nn.Parameter):
        called = 0

        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            cls.called += function is functional.linear
            return super().__torch_function__(function, types, args, kwargs or {})

    linear(torch.randn(5, 4), Counted(torch.randn(6, 4)))
    assert (counted, Counted.called) == ([], 1)


def test_tensors_without_memory(counted):
    with FakeTensorMode():
        rows, weight = numbers(5, 4), numbers(6, 4)
    assert linear(rows, weight).shape == (5, 6)
    assert counted == []


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor:UserWarning")
def test_weights_without_memory():
    graph = constituency_batch(["(S (A a) (B b))"])
    with FakeTensorMode(allow_non_fake_inputs=True):
        cell = ChildSumTreeLSTM(4, 3)
    h = cell(graph, torch.randn(graph.num_nodes(), 4))  # level by level in torch
    assert isinstance(h, FakeTensor)
    assert h.shape == (graph.num_nodes(), 3)
    with pytest.raises(TypeError, match=r"expected a tensor in memory .* got a FakeTensor"):
        address_of(h)


def test_the_wrong_shapes_are_an_error(counted):
    for tensors in [
        (torch.randn(2, 5), torch.randn(4, 3)),
        (torch.randn(2, 3), torch.randn(4, 3), torch.randn(5)),
    ]:
        with pytest.raises(RuntimeError):
            linear(*tensors)
    assert counted == []


def test_the_layer_is_that_of_torch(counted):
    torch.manual_seed(0)
    layer = Linear(4, 6, dtype=torch.float64)
    torch.manual_seed(0)
    other = torch.nn.Linear(4, 6, dtype=torch.float64)
    assert layer.state_dict().keys() == other.state_dict().keys()
    x = torch.randn(5, 4, dtype=torch.float64)
    torch.testing.assert_close(layer(x), other(x), rtol=1e-12, atol=1e-12)
    assert counted == ["forward"]


def test_cells_project_their_inputs_with_it(counted):
    graph = constituency_batch(["(S (A a) (B (C c) (D d)))"])
    cell = AttentiveTreeLSTM(4, 3)
    cell(graph, torch.randn(graph.num_nodes(), 4)).sum().backward()
    assert {"forward", "backward"} <= set(counted)
    before = len(counted)
    cell(graph, torch.randn(graph.num_nodes(), 4), engine="dgl").sum().backward()
    assert len(counted) == before
