"""The functions of torch that can be traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from torch import Tensor

from graphsent.propagation.recurrence.expressions import Domain, Ref, Term, Value, reached
from graphsent.propagation.recurrence.reductions import REDUCTIONS, sums
from graphsent.propagation.recurrence.symbols import Condition, Size, Symbol, Untraceable, is_a
from graphsent.propagation.recurrence.tracing import Tracer, registering
from graphsent.propagation.recurrence.views import VIEWS, chunk

FUNCTIONS: dict[str, Callable[..., Any]] = {**VIEWS, **REDUCTIONS}
"""By name; each takes the tracer, then the arguments of torch's function."""

_register = registering(FUNCTIONS)


def _pointwise(op: str) -> Callable[..., Symbol]:
    def call(tracer: Tracer, *args: Any, inplace: bool = False) -> Symbol:
        return tracer.pointwise(op, *args)

    return call


for _name in ("sigmoid", "tanh", "exp", "relu"):
    FUNCTIONS[_name] = _pointwise(_name)


@_register("add")
def _add(tracer: Tracer, a: Any, b: Any, *, alpha: float = 1) -> Symbol:
    return tracer.pointwise("add", a, b if alpha == 1 else tracer.pointwise("mul", b, alpha))


@_register("sub", "subtract")
def _sub(tracer: Tracer, a: Any, b: Any, *, alpha: float = 1) -> Symbol:
    return tracer.pointwise("sub", a, b if alpha == 1 else tracer.pointwise("mul", b, alpha))


_register("rsub")(lambda tracer, a, b: tracer.pointwise("sub", b, a))
_register("neg", "negative")(lambda tracer, a: tracer.pointwise("sub", 0.0, a))


@_register("mul", "multiply")
def _mul(tracer: Tracer, a: Any, b: Any) -> Symbol:
    if all(is_a(part, (int, float, Condition)) for part in (a, b)):
        raise Untraceable("it computes with the results of comparisons")
    return tracer.pointwise("mul", a, b)


@_register("div", "truediv", "true_divide", "divide")
def _div(tracer: Tracer, a: Any, b: Any) -> Symbol:
    if is_a(b, (int, float)):
        return tracer.pointwise("mul", a, 1 / b)
    return tracer.pointwise("div", a, b)


@_register("pow", "square")
def _pow(tracer: Tracer, a: Any, exponent: float = 2) -> Symbol:
    if not is_a(exponent, (int, float)) or exponent != 2:
        raise Untraceable("it raises to another power than 2")
    return tracer.pointwise("mul", a, a)


@_register("addcmul")
def _addcmul(tracer: Tracer, a: Any, b: Any, c: Any, *, value: float = 1) -> Symbol:
    return _add(tracer, a, tracer.pointwise("mul", b, c), alpha=value)


@_register("lerp")
def _lerp(tracer: Tracer, a: Any, b: Any, weight: Any) -> Symbol:
    difference = tracer.pointwise("sub", b, a)
    return tracer.pointwise("add", a, tracer.pointwise("mul", weight, difference))


# Comparisons and choices


def _ge(tracer: Tracer, a: Any, b: Any) -> Any:
    return tracer.pointwise("step", a, b)


def _gt(tracer: Tracer, a: Any, b: Any) -> Any:
    return _ge(tracer, a, b) * (1 - _ge(tracer, b, a))  # 0 where one of them is NaN


def _eq(tracer: Tracer, a: Any, b: Any) -> Any:
    return _ge(tracer, a, b) * _ge(tracer, b, a)


def _comparison(function: Callable[..., Any]) -> Callable[..., Condition]:
    def compare(*args: Any) -> Condition:
        found = function(*args)
        return Condition(found.tracer, found.codes, found.shape)

    return compare


_register("ge", "greater_equal")(_comparison(_ge))
_register("le", "less_equal")(_comparison(lambda tracer, a, b: _ge(tracer, b, a)))
_register("gt", "greater")(_comparison(_gt))
_register("lt", "less")(_comparison(lambda tracer, a, b: _gt(tracer, b, a)))
_register("eq")(_comparison(_eq))
_register("ne", "not_equal")(_comparison(lambda tracer, a, b: 1 - _eq(tracer, a, b)))


@_register("where")
def _where(tracer: Tracer, condition: Any, a: Any, b: Any) -> Symbol:
    if is_a(a, Condition):
        if is_a(condition, Condition):
            raise Untraceable("it chooses between the results of comparisons")
        condition, a = a, condition  # as a method, a.where(condition, b)
    if not is_a(condition, Condition):
        raise Untraceable("it chooses by a tensor that is not the result of a comparison")
    if all(is_a(part, (int, float, Condition)) for part in (a, b)):
        raise Untraceable("it chooses between numbers, whose dtype is not that of the states")
    return tracer.pointwise("where", condition, a, b)


# Linear maps


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
    reset, update = (
        tracer.pointwise("sigmoid", tracer.pointwise("add", *pair))
        for pair in ((x_r, h_r), (x_z, h_z))
    )
    new = tracer.pointwise("add", x_n, tracer.pointwise("mul", reset, h_n))
    return _lerp(tracer, tracer.pointwise("tanh", new), h, update)


@_register("matmul", "mm", "mv")
def _matmul(tracer: Tracer, a: Any, b: Any) -> Symbol:
    if is_a(b, Tensor) and b.dim() == 2:
        return _linear(tracer, a, tracer.call_now(Tensor.t, (b,), {}))
    if is_a(b, Tensor) and b.dim() == 1:
        return sums(tracer, tracer.pointwise("mul", a, b), keepdim=False)
    raise Untraceable("it multiplies by a matrix that is not a parameter")
