"""The recursion of a cell as expressions, traced from its functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

import graphsent.propagation.recurrence.functions  # noqa: F401  # so that they can be traced
from graphsent._derived import Unchanging
from graphsent.propagation.errors import PropagationError
from graphsent.propagation.recurrence.differentiation import Gradients
from graphsent.propagation.recurrence.expressions import Expressions, Ref, Value
from graphsent.propagation.recurrence.symbols import (
    NODES,
    Call,
    Condition,
    Known,
    Symbol,
    Untraceable,
    is_a,
    mapped,
)
from graphsent.propagation.recurrence.tracing import Tracer


@dataclass(eq=False)
class Traced:
    """A function of the inputs of nodes, and possibly of the states of predecessors.

    Attributes:
        expressions: All values.
        results: The columns of each part of the new state.
        calls: Functions of parameters, to be called first.
        constants: The constants, in order of their numbers, and their shapes.
        hoisted: Values that depend only on inputs and are computed for all nodes at once; they are
            the inputs after those of the function.
        widths: Widths of all inputs.
    """

    expressions: Expressions
    results: list[list[Ref]]
    calls: list[Call]
    constants: dict[Known, tuple[int, ...]]
    hoisted: list[Value]
    widths: list[int]

    def tensors(self, named: Mapping[str, Tensor]) -> list[Tensor]:
        """The tensors of the constants, differentiably, from parameters and buffers by name.

        Raises a PropagationError if one has another shape than when the function was traced.
        """
        results: list[Tensor] = []

        def tensor_of(leaf: Any) -> Any:
            if not is_a(leaf, Known):
                return leaf
            return named[leaf.key] if is_a(leaf.key, str) else results[leaf.key]

        for function, args, kwargs in self.calls:
            results.append(function(*mapped(tensor_of, args), **mapped(tensor_of, kwargs)))
        found = [tensor_of(known) for known in self.constants]
        for tensor, shape in zip(found, self.constants.values(), strict=True):
            if tensor.shape != shape:  # code for the other shape would write beyond its memory
                raise PropagationError(
                    "expected functions of a cell's parameters to return tensors of the same shape "
                    f"in each call, got {tuple(tensor.shape)} after {shape}"
                )
        return found

    @cached_property
    def gradients(self) -> Gradients:
        """The gradients of what it is given, as further expressions."""
        return Gradients(self.expressions, self.results)

    @cached_property
    def differentiated(self) -> tuple[list[bool], list[bool]]:
        """Whether each input, and each constant, has a gradient."""
        found = {*self.gradients.constants}
        found |= {share.term.weight for share in self.gradients.weights}
        of_constants = [number in found for number in range(len(self.constants))]
        return [number in self.gradients.inputs for number in range(len(self.widths))], of_constants


_MOST_COMPILED = 16
CHANGES_OFTEN = (
    f"its equations have changed more than {_MOST_COMPILED} times: a number that changes can be a "
    "buffer, whose values are not compiled"
)


@dataclass(eq=False)
class Recurrence(Unchanging):
    """The recursion of a cell.

    Attributes:
        size: Size of a state.
        num_parts: Number of parts of a state.
        num_slots: Slots per node; None if predecessors are unordered.
        combine: Computes the states of nodes with predecessors.
        start: Computes the states of the others.
        projection: Names of weight and bias (or None) if ``project`` is just a linear map.
        sources: All sources compiled for its cell, of recurrences traced earlier, too.
    """

    size: int
    num_parts: int
    num_slots: int | None
    combine: Traced
    start: Traced
    projection: tuple[str, str | None] | None
    sources: set[str] = field(default_factory=set)

    def may_compile(self, source: str) -> bool:
        """Whether a source may be compiled; not if an attribute has a new value in every step."""
        if len(self.sources) < _MOST_COMPILED:
            self.sources.add(source)
        return source in self.sources

    @cached_property
    def from_states(self) -> Recurrence:
        """The same recursion from given states of the nodes without predecessors."""
        return replace(self, start=given_states(self.size, self.num_parts))

    @cached_property
    def columns(self) -> tuple[int, int]:
        """The first column of the projection that ``start`` reads, and the one after the last."""
        refs = [ref for value in self.start.expressions.values for ref in value.args]
        refs += [ref for part in self.start.results for ref in part]
        read = [ref for ref in refs if ref.value.op == "input" and ref.value.data == 0]
        return min(ref.first for ref in read), max(ref.end for ref in read)


def trace(
    function: Callable[..., Any],
    tensors: Mapping[str, Tensor],
    dtype: torch.dtype,
    input_widths: Sequence[int],
    size: int,
    num_parts: int,
    *,
    children: bool,
    num_slots: int | None = None,
) -> Traced:
    """Traces a cell's ``start`` or ``combine``.

    Args:
        function: The function, which is called with symbols.
        tensors: Parameters and buffers by name.
        dtype: Dtype of these and of the inputs.
        input_widths: Widths of the inputs.
        size: Size of a state.
        num_parts: Number of parts of a state.
        children: Whether the predecessors' states come before the inputs.
        num_slots: Slots per node; None if predecessors are unordered.

    Raises:
        Untraceable: If it cannot be traced.
    """
    tracer = Tracer(tensors, dtype, num_slots)
    tracer.num_inputs = len(input_widths)
    inputs: list[Any] = [tracer.input(n, width) for n, width in enumerate(input_widths)]
    if children:
        inputs.insert(0, tuple(tracer.children(part, size) for part in range(num_parts)))
    with torch.enable_grad(), tracer:
        state = function(*inputs)
    if not is_a(state, (tuple, list)) or len(state) != num_parts:
        raise Untraceable(f"it does not return a state, a tuple of length {num_parts}")
    results = [_columns(tracer, part, size) for part in state]
    widths = [*input_widths, *(value.width for value in tracer.hoisted)]
    known = tracer.calls, tracer.constants, tracer.hoisted
    return Traced(tracer.expressions, results, *known, widths)


def given_states(size: int, num_parts: int) -> Traced:
    """A ``start`` whose inputs are the parts of the states."""
    sizes = torch.get_default_dtype(), [size] * num_parts, size, num_parts
    return trace(lambda *parts: parts, {}, *sizes, children=False)


def _columns(tracer: Tracer, part: Any, size: int) -> list[Ref]:
    if not is_a(part, Symbol) or part.numbers != (NODES.number, size):
        raise Untraceable(f"it does not return a row of {size} numbers for each node")
    if is_a(part, Condition):
        raise Untraceable("it returns the results of comparisons")
    return tracer.refs(part)


def linear_map(
    function: Callable[[Any], Any],
    tensors: Mapping[str, Tensor],
    dtype: torch.dtype,
    in_feats: int,
) -> tuple[tuple[str, str | None] | None, int]:
    """Analyzes a projection of inputs.

    Returns:
        Names of the weight and the bias (or None) if it is just a linear map, else None; and its
        number of columns.

    Raises:
        Untraceable: If it cannot be traced, or does not return a matrix.
    """
    tracer = Tracer(tensors, dtype)
    rows: Any = tracer.input(0, in_feats)
    with torch.enable_grad(), tracer:
        result = function(rows)
    if not is_a(result, Symbol) or result.numbers[:-1] != (NODES.number,):
        raise Untraceable("it does not return a row for each node")
    width = result.numbers[1]
    names: list[Any] = [known.key for known in tracer.constants]
    shapes = [(width, in_feats), (width,)][: len(names)]
    if names and not tracer.calls and [*tracer.constants.values()] == shapes:
        with torch.enable_grad(), tracer:
            expected: Any = functional.linear(rows, *(tensors[name] for name in names))
        if tracer.refs(expected) == tracer.refs(result):  # equal expressions are the same value
            return (names[0], names[1] if len(names) > 1 else None), width
    return None, width
