"""The functions of torch that can be traced, and linear maps among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from string import ascii_lowercase
from typing import Any

from torch import Tensor

from graphsent.propagation.recurrence.expressions import Domain, Ref, Term, Value, reached
from graphsent.propagation.recurrence.pointwise import POINTWISE
from graphsent.propagation.recurrence.reductions import LONGEST_CHAIN, REDUCTIONS, sums
from graphsent.propagation.recurrence.symbols import Symbol, Untraceable, is_a
from graphsent.propagation.recurrence.tracing import Tracer, registering
from graphsent.propagation.recurrence.views import VIEWS, chunk, transpose, unsqueeze

FUNCTIONS: dict[str, Callable[..., Any]] = {**VIEWS, **POINTWISE, **REDUCTIONS}
"""By name; each takes the tracer, then the arguments of torch's function."""

_register = registering(FUNCTIONS)
_OTHER_SIZE = "it multiplies rows of another size by a weight"


@_register("linear")
def _linear(tracer: Tracer, input: Any, weight: Any, bias: Any = None) -> Symbol:
    if not (is_a(input, Symbol) and is_a(weight, Tensor) and weight.dim() == 2):
        raise Untraceable("it multiplies by a matrix that is not a parameter")
    if input.numbers[-1] != weight.shape[1]:
        raise Untraceable(f"{_OTHER_SIZE} {tuple(weight.shape)}")
    rows = input.codes.reshape(-1, weight.shape[1])
    if len(weight) == 1:
        result = sums(tracer, tracer.pointwise("mul", input, weight), keepdim=True)
    else:
        number = tracer.constant(weight)
        refs = [
            _product(tracer, [run[0] for run in tracer.runs(row)], number, len(weight))
            for row in rows
        ]
        codes = tracer.codes_of(refs).reshape(*input.codes.shape[:-1], len(weight))
        result = Symbol(tracer, codes, (*input.shape[:-1], len(weight)))
    return result if bias is None else tracer.pointwise("add", result, bias)


def _product(tracer: Tracer, refs: Sequence[Ref], weight: int, out_feats: int) -> Ref:
    """The product of columns side by side with a weight."""
    groups: dict[tuple[Domain, bool], list[tuple[int, Ref]]] = {}
    column = 0
    for ref in refs:
        value = ref.value
        if value.op != "number" or value.data != 0:
            groups.setdefault((value.domain, _is_of_inputs(value)), []).append((column, ref))
        column += ref.width
    results = []
    for (domain, _), parts in groups.items():
        if domain == Domain.CONSTANT:
            raise Untraceable("it multiplies a weight by a tensor that is the same for all nodes")
        terms = tuple(Term(rows, weight, n, out_feats) for n, rows in _joined(tracer, parts))
        value = tracer.expressions.make("product", domain, out_feats, (), terms)
        results.append(_hoisted(tracer, value).ref())
    if not results:
        return tracer.expressions.number(0, out_feats)
    return reduce(partial(tracer.expressions.pointwise, "add"), results)


def _hoisted(tracer: Tracer, value: Value) -> Value:
    """Replaces a value that depends only on inputs by a new input."""
    if tracer.num_inputs is None or not _is_of_inputs(value):
        return value
    if value not in tracer.hoisted:
        tracer.hoisted.append(value)
    number = tracer.num_inputs + tracer.hoisted.index(value)
    return tracer.expressions.make("input", Domain.NODE, value.width, (), number)


def _joined(tracer: Tracer, parts: Sequence[tuple[int, Ref]]) -> Iterator[tuple[int, Value]]:
    """Merges what is multiplied by adjacent columns of a weight, except states in slots."""

    def is_alone(ref: Ref) -> bool:
        state = tracer.num_slots is not None and ref.value.op == "state"
        return state and ref == ref.value.ref()

    groups: list[tuple[int, list[Ref]]] = []
    end = -1
    for column, ref in parts:
        if column == end and not is_alone(groups[-1][1][-1]) and not is_alone(ref):
            groups[-1][1].append(ref)
        else:
            groups.append((column, [ref]))
        end = column + ref.width
    for column, refs in groups:
        rows = refs[0].value
        if refs != [rows.ref()]:
            width = sum(ref.width for ref in refs)
            rows = tracer.expressions.make("pack", rows.domain, width, refs)
        yield column, rows


def _is_of_inputs(value: Value) -> bool:
    return not {part.op for part in reached([value])} & {"state", "degree"}


def _rnn_cell(
    op: str, tracer: Tracer, x: Any, h: Any, w_x: Any, w_h: Any, b_x: Any = None, b_h: Any = None
) -> Symbol:
    """``torch.nn.RNNCell``."""
    return tracer.pointwise(op, _linear(tracer, x, w_x, b_x) + _linear(tracer, h, w_h, b_h))


_register("rnn_tanh_cell")(partial(_rnn_cell, "tanh"))
_register("rnn_relu_cell")(partial(_rnn_cell, "relu"))


@_register("gru_cell")
def _gru_cell(
    tracer: Tracer, x: Any, h: Any, w_x: Any, w_h: Any, b_x: Any = None, b_h: Any = None
) -> Symbol:
    """``torch.nn.GRUCell``."""
    gates = (_linear(tracer, x, w_x, b_x), _linear(tracer, h, w_h, b_h))
    (x_r, x_z, x_n), (h_r, h_z, h_n) = (chunk(tracer, each, 3, -1) for each in gates)
    reset, update = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
    new = (x_n + reset * h_n).tanh()
    return new + update * (h - new)


@_register("bilinear")
def _bilinear(tracer: Tracer, a: Any, b: Any, weight: Any, bias: Any = None) -> Symbol:
    """``torch.nn.Bilinear``, as in the recursive neural tensor network of Socher et al. 2013."""
    if a.numbers[:-1] != b.numbers[:-1] or b.numbers[-1] != weight.shape[2]:
        raise Untraceable("it calls bilinear with tensors of other sizes")
    columns = tracer.call_now(Tensor.transpose, (weight, 1, 2), {})
    columns = tracer.call_now(Tensor.flatten, (columns, 0, 1), {})
    of_a = VIEWS["unflatten"](tracer, _linear(tracer, a, columns), -1, (len(weight), -1))
    result = sums(tracer, tracer.pointwise("mul", of_a, unsqueeze(tracer, b, -2)), keepdim=False)
    return result if bias is None else tracer.pointwise("add", result, bias)


@_register("lstm_cell")
def _lstm_cell(
    tracer: Tracer, x: Any, state: Any, w_x: Any, w_h: Any, b_x: Any = None, b_h: Any = None
) -> tuple[Symbol, Symbol]:
    """``torch.nn.LSTMCell``."""
    h, c = state
    gates = _linear(tracer, x, w_x, b_x) + _linear(tracer, h, w_h, b_h)
    i, f, g, o = chunk(tracer, gates, 4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


@_register("glu")
def _glu(tracer: Tracer, a: Any, dim: int = -1) -> Any:
    if a.numbers[dim] % 2:
        raise Untraceable("it halves an odd number of columns")
    values, gates = chunk(tracer, a, 2, dim)
    return values * gates.sigmoid()


@_register("mm", "mv")
def _mm(tracer: Tracer, a: Any, b: Any) -> Symbol:
    if a.dim() != 2:
        raise Untraceable(f"it multiplies a tensor of {a.dim()} dimensions, for which matmul is")
    return _matmul(tracer, a, b)


@_register("matmul")
def _matmul(tracer: Tracer, a: Any, b: Any) -> Symbol:
    if is_a(b, Tensor) and b.dim() == 2:
        return _linear(tracer, a, tracer.call_now(Tensor.t, (b,), {}))
    if is_a(b, Tensor) and b.dim() == 1:
        if a.numbers[-1] != len(b):
            raise Untraceable(f"{_OTHER_SIZE} {tuple(b.shape)}")
        return sums(tracer, tracer.pointwise("mul", a, b), keepdim=False)
    if is_a(a, Tensor) and a.dim() == 2:
        return transpose(tracer, _linear(tracer, transpose(tracer, b, -1, -2), a), -1, -2)
    if not (is_a(a, Symbol) and is_a(b, Symbol) and a.dim() == b.dim() > 2):
        raise Untraceable(f"it multiplies tensors of {a.dim()} and {b.dim()} dimensions")
    if a.numbers[-1] != b.numbers[-2]:
        raise Untraceable("it multiplies matrices of other sizes")
    batch = ascii_lowercase[: a.dim() - 2]
    return _contracted(tracer, a, batch + "yx", b, batch + "xz", batch + "yz")


@_register("bmm")
def _bmm(tracer: Tracer, a: Any, b: Any) -> Symbol:
    if not all(is_a(part, Symbol) for part in (a, b)):
        raise Untraceable("it multiplies by several matrices that are parameters")
    if a.dim() != 3 or b.dim() != 3 or a.numbers[0] != b.numbers[0]:
        raise Untraceable("it calls bmm with other than two batches of as many matrices")
    return _matmul(tracer, a, b)


_register("addmm")(lambda tracer, total, a, b: tracer.pointwise("add", total, _mm(tracer, a, b)))
_register("baddbmm")(lambda tracer, total, a, b: tracer.pointwise("add", total, _bmm(tracer, a, b)))


@_register("einsum")
def _einsum(tracer: Tracer, equation: str, *operands: Any) -> Symbol:
    given, _, result = equation.replace(" ", "").partition("->")
    parts = given.split(",")
    if "." in equation:
        raise Untraceable(
            "it calls einsum with an ellipsis: a letter for each dimension can be traced"
        )
    if "->" not in equation:
        raise Untraceable(
            "it calls einsum without ->: the indices of the result can be written out"
        )
    if len(parts) != 2 or len(operands) != 2:
        raise Untraceable("it calls einsum with other than two operands")
    (a, b), (of_a, of_b) = operands, parts
    if is_a(a, Tensor):
        a, b, of_a, of_b = b, a, of_b, of_a
    counts = [(part.dim(), len(set(of))) for part, of in ((a, of_a), (b, of_b))]
    if any(dim != count for dim, count in counts) or not set(result) <= set(given):
        raise Untraceable("it calls einsum with other than one index for each dimension")
    summed = [index for index in of_a if index in of_b and index not in result]
    others = [index for index in of_b if index not in summed]
    if is_a(b, Symbol) or not summed or not others or set(others) & set(of_a):
        return _contracted(tracer, a, of_a, tracer.lifted(b), of_b, result)
    kept = [index for index in of_a if index not in summed]
    rows = VIEWS["permute"](tracer, a, [*map(of_a.index, kept + summed)])
    rows = VIEWS["flatten"](tracer, rows, len(kept))
    weight = tracer.call_now(Tensor.permute, (b, [*map(of_b.index, others + summed)]), {})
    weight = tracer.call_now(Tensor.flatten, (weight, len(others)), {})
    sizes = weight.shape[:-1]
    weight = tracer.call_now(Tensor.flatten, (weight, 0, -2), {})
    product = VIEWS["unflatten"](tracer, _linear(tracer, rows, weight), -1, sizes)
    return _summed(tracer, product, "".join(kept + others), result)


def _contracted(tracer: Tracer, a: Symbol, of_a: str, b: Symbol, of_b: str, result: str) -> Symbol:
    """``einsum`` of two symbols: pointwise products, which are summed."""
    order = "".join(dict.fromkeys(result + of_a + of_b))
    sizes = dict(zip(of_a + of_b, (*a.codes.shape, *b.codes.shape), strict=True))
    added = set(order) - set(result)
    last = [index for index in order if index in _beside(a, of_a, b) + _beside(b, of_b, a)][-1:]
    # If the last dimension is not summed, sums are chains of additions.
    if last and (last[0] in added or all(sizes[index] <= LONGEST_CHAIN for index in added)):
        order = order.replace(last[0], "") + last[0]
    product = tracer.pointwise(
        "mul", _aligned(tracer, a, of_a, order), _aligned(tracer, b, of_b, order)
    )
    return _summed(tracer, product, order, result)


def _beside(a: Symbol, indices: str, other: Symbol) -> str:
    """The dimensions in which columns lie side by side, unless another tensor has more columns."""
    if a.codes.numel() < other.codes.numel():
        return ""
    differences = [a.codes.diff(dim=dim) for dim in range(a.dim())]
    steps = zip(indices, differences, strict=True)
    return "".join(index for index, step in steps if step.numel() and bool((step == 1).all()))


def _summed(tracer: Tracer, product: Symbol, indices: str, result: str) -> Symbol:
    """Sums over the indices that are not in the result, and orders the others."""
    places = [place for place, index in enumerate(indices) if index not in result]
    if places:
        product = REDUCTIONS["sum"](tracer, product, places)
    kept = [index for index in indices if index in result]
    return VIEWS["permute"](tracer, product, [*map(kept.index, result)])


def _aligned(tracer: Tracer, a: Symbol, indices: str, order: str) -> Symbol:
    """The dimensions of a symbol in another order, of size 1 where it has none."""
    present = [index for index in order if index in indices]
    a = VIEWS["permute"](tracer, a, [*map(indices.index, present)])
    for place, index in enumerate(order):
        if index not in indices:
            a = unsqueeze(tracer, a, place)
    return a


@_register("scaled_dot_product_attention")
def _attention(
    tracer: Tracer,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Symbol:
    if attn_mask is not None or dropout_p or is_causal or enable_gqa:
        raise Untraceable("it calls scaled_dot_product_attention with options")
    scale = 1 / math.sqrt(query.codes.shape[-1]) if scale is None else scale
    scores = _matmul(tracer, query, transpose(tracer, key, -1, -2)) * scale
    return _matmul(tracer, REDUCTIONS["softmax"](tracer, scores, -1), value)
