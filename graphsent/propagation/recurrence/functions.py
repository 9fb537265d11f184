"""The functions of torch that can be traced, and linear maps among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from torch import Tensor

from graphsent.propagation.recurrence.expressions import Domain, Ref, Term, Value, reached
from graphsent.propagation.recurrence.pointwise import POINTWISE
from graphsent.propagation.recurrence.reductions import REDUCTIONS, sums
from graphsent.propagation.recurrence.symbols import Size, Symbol, Untraceable, is_a
from graphsent.propagation.recurrence.tracing import Tracer, registering
from graphsent.propagation.recurrence.views import VIEWS, chunk

FUNCTIONS: dict[str, Callable[..., Any]] = {**VIEWS, **POINTWISE, **REDUCTIONS}
"""By name; each takes the tracer, then the arguments of torch's function."""

_register = registering(FUNCTIONS)


@_register("linear")
def _linear(tracer: Tracer, input: Any, weight: Any, bias: Any = None) -> Symbol:
    if not (is_a(input, Symbol) and is_a(weight, Tensor) and weight.dim() == 2):
        raise Untraceable("it multiplies by a matrix that is not a parameter")
    if is_a(input.shape[-1], Size) or input.shape[-1] != weight.shape[1]:
        raise Untraceable(f"it multiplies rows of another size by a weight {tuple(weight.shape)}")
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
    groups: dict[tuple[Domain, bool], list[Term]] = {}
    column = 0
    for ref in refs:
        value = ref.value
        if value.op == "number" and value.data == 0:
            column += ref.width
            continue
        if value.domain == Domain.CONSTANT:
            raise Untraceable("it multiplies a weight by a tensor that is the same for all nodes")
        if ref != value.ref():
            value = tracer.expressions.make("pack", value.domain, ref.width, (ref,))
        key = value.domain, _is_of_inputs(value)
        groups.setdefault(key, []).append(Term(value, weight, column, out_feats))
        column += ref.width
    results = []
    for (domain, _), terms in groups.items():
        joined = tuple(_joined(tracer, domain, terms))
        value = tracer.expressions.make("product", domain, out_feats, (), joined)
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


def _joined(tracer: Tracer, domain: Domain, terms: list[Term]) -> list[Term]:
    """Merges terms of adjacent columns of the weight, except states in slots."""

    def is_alone(term: Term) -> bool:
        return tracer.num_slots is not None and term.rows.op == "state"

    groups: list[list[Term]] = []
    for term in terms:
        last = groups[-1][-1] if groups else term
        adjacent = last.column + last.rows.width == term.column
        if adjacent and not is_alone(last) and not is_alone(term):
            groups[-1].append(term)
        else:
            groups.append([term])
    results = []
    for first, *others in groups:
        if others:
            values = [term.rows for term in (first, *others)]
            refs = [v.args[0] if v.op == "pack" and len(v.args) == 1 else v.ref() for v in values]
            width = sum(ref.width for ref in refs)
            first = first._replace(rows=tracer.expressions.make("pack", domain, width, refs))
        results.append(first)
    return results


def _is_of_inputs(value: Value) -> bool:
    return not {part.op for part in reached([value])} & {"state", "degree"}


@_register("gru_cell")
def _gru_cell(
    tracer: Tracer, x: Any, h: Any, w_x: Any, w_h: Any, b_x: Any = None, b_h: Any = None
) -> Symbol:
    """``torch.nn.GRUCell``."""
    gates = (_linear(tracer, x, w_x, b_x), _linear(tracer, h, w_h, b_h))
    (x_r, x_z, x_n), (h_r, h_z, h_n) = (chunk(tracer, each, 3, -1) for each in gates)
    reset, update = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
    return POINTWISE["lerp"](tracer, (x_n + reset * h_n).tanh(), h, update)


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
        return sums(tracer, tracer.pointwise("mul", a, b), keepdim=False)
    raise Untraceable("it multiplies by a matrix that is not a parameter")
