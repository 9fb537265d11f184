"""Functions of parameters alone, which are called before nodes are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from torch import Tensor

from graphsent.propagation.recurrence.symbols import is_a


class Call(NamedTuple):
    """A function of parameters alone.

    Attributes:
        function: of torch.
        args: its arguments; :class:`Known` stands for a tensor.
        kwargs: the same.
    """

    function: Callable[..., Any]
    args: tuple
    kwargs: dict[str, Any]


class Known(NamedTuple):
    """A parameter or buffer, by its name, or what a :class:`Call` returned, by its number."""

    key: str | int


def leaves(given: Any) -> Iterator[Any]:
    """What is in arguments, however deep in tuples, lists and dictionaries."""
    parts = tuple(given.values()) if is_a(given, dict) else given
    if is_a(parts, (tuple, list)):
        for part in parts:
            yield from leaves(part)
    else:
        yield given


def mapped(function: Callable[[Any], Any], given: Any) -> Any:
    """Arguments with the results of a function in place of what is in them."""
    if is_a(given, dict):
        return {name: mapped(function, part) for name, part in given.items()}
    if type(given) in (tuple, list):
        return type(given)(mapped(function, part) for part in given)
    return function(given)


def run_calls(
    calls: Sequence[Call], wanted: Sequence[Known], tensors: Mapping[str, Tensor]
) -> list[Tensor]:
    """The tensors of some constants, from parameters and buffers; autograd sees it."""
    results: list[Tensor] = []

    def tensor_of(leaf: Any) -> Any:
        if not is_a(leaf, Known):
            return leaf
        return tensors[leaf.key] if is_a(leaf.key, str) else results[leaf.key]

    for function, args, kwargs in calls:
        results.append(function(*mapped(tensor_of, args), **mapped(tensor_of, kwargs)))
    return [tensor_of(known) for known in wanted]
