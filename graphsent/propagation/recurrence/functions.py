"""The functions of torch that can be traced, and linear maps among them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial, reduce
from string import ascii_lowercase
from typing import Any

from torch import Tensor

import graphsent.propagation.recurrence.views  # noqa: F401  # they can be traced, too
from graphsent.propagation.recurrence.expressions import Domain, Ref, Term, Value, reached
from graphsent.propagation.recurrence.reductions import LONGEST_CHAIN, sums
from graphsent.propagation.recurrence.symbols import TRACING, Symbol, Untraceable, is_a
from graphsent.propagation.recurrence.tracing import (
    Tracer,
    beforehand,
    lifted,
    pointwise,
    symbol_of,
    traced,
)

_OTHER_SIZE = "it multiplies rows of another size by a weight"


@traced("linear")
def _linear(input: Any, weight: Any, bias: Any = None) -> Any:
    if not (is_a(input, Symbol) and is_a(weight, Tensor) and weight.dim() == 2):
        raise Untraceable("it multiplies by a matrix that is not a parameter")
    if input.numbers[-1] != weight.shape[1]:
        raise Untraceable(f"{_OTHER_SIZE} {tuple(weight.shape)}")
    if len(weight) == 1:
        result = sums(pointwise("mul", input, weight), keepdim=True)
    else:
        tracer: Tracer = TRACING.tracer
        number = tracer.constant(weight)
        rows = [tracer.runs(row) for row in input.codes.reshape(-1, weight.shape[1])]
        refs = [_product(tracer, [run[0] for run in row], number, len(weight)) for row in rows]
        result = symbol_of(refs, (*input.shape[:-1], len(weight)))
    return result if bias is None else result + bias


def _product(tracer: Tracer, refs: Sequence[Ref], weight: int, out_feats: int) -> Ref:
    """The product of columns side by side with a weight."""
    groups: dict[tuple[Domain, bool], list[tuple[int, Ref]]] = {}
    column = 0
    for ref in refs:
        value = ref.value
        if value.op != "number" or value.data != 0:
            key = max(value.domain, Domain.NODE), _is_of_inputs(value)
            groups.setdefault(key, []).append((column, ref))
        column += ref.width
    results = []
    for (domain, _), parts in groups.items():
        joined = _joined(tracer, domain, parts)
        terms = tuple(Term(rows, weight, n, out_feats) for n, rows in joined)
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


def _joined(
    tracer: Tracer, domain: Domain, parts: Sequence[tuple[int, Ref]]
) -> Iterator[tuple[int, Value]]:
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
        if refs != [rows.ref()] or rows.domain != domain:  # of constants, there is only one
            width = sum(ref.width for ref in refs)
            rows = tracer.expressions.make("pack", domain, width, refs)
        yield column, rows


def _is_of_inputs(value: Value) -> bool:
    return not {part.op for part in reached([value])} & {"state", "degree"}


def _gates(x: Any, h: Any, w_x: Any, w_h: Any, b_x: Any = None, b_h: Any = None) -> Any:
    return _linear(x, w_x, b_x) + _linear(h, w_h, b_h)


traced("rnn_tanh_cell")(lambda *args: _gates(*args).tanh())
traced("rnn_relu_cell")(lambda *args: _gates(*args).relu())


@traced("lstm_cell")
def _lstm_cell(x: Any, state: Any, *weights: Any) -> tuple[Any, Any]:
    """``torch.nn.LSTMCell``."""
    h, c = state
    i, f, g, o = _gates(x, h, *weights).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


@traced("gru_cell")
def _gru_cell(x: Any, h: Any, w_x: Any, w_h: Any, b_x: Any = None, b_h: Any = None) -> Any:
    """``torch.nn.GRUCell``."""
    x_r, x_z, x_n = _linear(x, w_x, b_x).chunk(3, -1)
    h_r, h_z, h_n = _linear(h, w_h, b_h).chunk(3, -1)
    reset, update = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
    new = (x_n + reset * h_n).tanh()
    return new + update * (h - new)


@traced("bilinear")
def _bilinear(a: Any, b: Any, weight: Any, bias: Any = None) -> Any:
    """``torch.nn.Bilinear``, as in the recursive neural tensor network of Socher et al. 2013."""
    if a.numbers[:-1] != b.numbers[:-1] or b.numbers[-1] != weight.shape[2]:
        raise Untraceable("it calls bilinear with tensors of other sizes")
    columns = beforehand(Tensor.flatten, beforehand(Tensor.transpose, weight, 1, 2), 0, 1)
    of_a = _linear(a, columns).unflatten(-1, (len(weight), -1))
    result = sums(of_a * b.unsqueeze(-2), keepdim=False)
    return result if bias is None else pointwise("add", result, bias)


@traced("glu")
def _glu(a: Any, dim: int = -1) -> Any:
    if a.numbers[dim] % 2:
        raise Untraceable("it halves an odd number of columns")
    values, gates = a.chunk(2, dim)
    return values * gates.sigmoid()


@traced("mm", "mv")
def _mm(a: Any, b: Any) -> Any:
    if a.dim() != 2:
        raise Untraceable(f"it multiplies a tensor of {a.dim()} dimensions, for which matmul is")
    return _matmul(a, b)


@traced("matmul")
def _matmul(a: Any, b: Any) -> Any:
    if is_a(b, Tensor) and b.dim() == 2:
        return _linear(a, beforehand(Tensor.t, b))
    if is_a(b, Tensor) and b.dim() == 1:
        if a.numbers[-1] != len(b):
            raise Untraceable(f"{_OTHER_SIZE} {tuple(b.shape)}")
        return sums(pointwise("mul", a, b), keepdim=False)
    if is_a(a, Tensor) and a.dim() == 2:
        return _linear(b.transpose(-1, -2), a).transpose(-1, -2)
    if not (is_a(a, Symbol) and is_a(b, Symbol) and a.dim() == b.dim() > 2):
        raise Untraceable(f"it multiplies tensors of {a.dim()} and {b.dim()} dimensions")
    if a.numbers[-1] != b.numbers[-2]:
        raise Untraceable("it multiplies matrices of other sizes")
    batch = ascii_lowercase[: a.dim() - 2]
    return _contracted(a, batch + "yx", b, batch + "xz", batch + "yz")


@traced("bmm")
def _bmm(a: Any, b: Any) -> Any:
    if not all(is_a(part, Symbol) for part in (a, b)):
        raise Untraceable("it multiplies by several matrices that are parameters")
    if a.dim() != 3 or b.dim() != 3 or a.numbers[0] != b.numbers[0]:
        raise Untraceable("it calls bmm with other than two batches of as many matrices")
    return _matmul(a, b)


traced("addmm")(lambda total, a, b: pointwise("add", total, _mm(a, b)))
traced("baddbmm")(lambda total, a, b: pointwise("add", total, _bmm(a, b)))


@traced("einsum")
def _einsum(equation: str, *operands: Any) -> Any:
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
        return _contracted(a, of_a, lifted(b), of_b, result)
    if any(a.numbers[of_a.index(index)] != b.shape[of_b.index(index)] for index in summed):
        raise Untraceable(f"{_OTHER_SIZE} {tuple(b.shape)}")
    kept = [index for index in of_a if index not in summed]
    rows = a.permute([*map(of_a.index, kept + summed)]).flatten(len(kept))
    weight = beforehand(Tensor.permute, b, [*map(of_b.index, others + summed)])
    weight = beforehand(Tensor.flatten, weight, len(others))
    product = _linear(rows, beforehand(Tensor.flatten, weight, 0, -2))
    product = product.unflatten(-1, weight.shape[:-1])
    return _summed(product, "".join(kept + others), result)


def _contracted(a: Symbol, of_a: str, b: Symbol, of_b: str, result: str) -> Symbol:
    """``einsum`` of two symbols: pointwise products, which are summed."""
    order = "".join(dict.fromkeys(result + of_a + of_b))
    sizes = dict(zip(of_a + of_b, (*a.codes.shape, *b.codes.shape), strict=True))
    added = set(order) - set(result)
    last = [index for index in order if index in _beside(a, of_a, b) + _beside(b, of_b, a)][-1:]
    # If the last dimension is not summed, sums are chains of additions.
    if last and (last[0] in added or all(sizes[index] <= LONGEST_CHAIN for index in added)):
        order = order.replace(last[0], "") + last[0]
    product = pointwise("mul", _aligned(a, of_a, order), _aligned(b, of_b, order))
    return _summed(product, order, result)


def _beside(a: Symbol, indices: str, other: Symbol) -> str:
    """The dimensions in which columns lie side by side, unless another tensor has more columns."""
    if a.codes.numel() < other.codes.numel():
        return ""
    differences = [a.codes.diff(dim=dim) for dim in range(a.dim())]
    steps = zip(indices, differences, strict=True)
    return "".join(index for index, step in steps if step.numel() and bool((step == 1).all()))


def _summed(product: Any, indices: str, result: str) -> Any:
    """Sums over the indices that are not in the result, and orders the others."""
    places = [place for place, index in enumerate(indices) if index not in result]
    if places:
        product = product.sum(places)
    kept = [index for index in indices if index in result]
    return product.permute([*map(kept.index, result)])


def _aligned(a: Any, indices: str, order: str) -> Any:
    """The dimensions of a symbol in another order, of size 1 where it has none."""
    present = [index for index in order if index in indices]
    a = a.permute([*map(indices.index, present)])
    return a[tuple(slice(None) if index in indices else None for index in order)]


@traced("scaled_dot_product_attention")
def _attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    if attn_mask is not None or dropout_p or is_causal or enable_gqa:
        raise Untraceable("it calls scaled_dot_product_attention with options")
    scale = 1 / math.sqrt(query.codes.shape[-1]) if scale is None else scale
    scores = _matmul(query, lifted(key).transpose(-1, -2)) * scale
    return _matmul(scores.softmax(-1), value)
