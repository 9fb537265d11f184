"""Compiled walks beside those in torch: values and gradients of the same problem."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from graphsent.kernels.library import SWITCH
from graphsent.propagation.linear import FirstOutputs
from graphsent.propagation.starts import LSTMStart

TOLERANCES = {torch.float32: 5e-5, torch.float64: 1e-10}
"""Of the largest number; random acyclic graphs make the rounding of float32 grow."""


class Draw:
    """Random tensors that need gradients, the same for all dtypes."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.generator = torch.Generator().manual_seed(0)

    def __call__(self, *shape: int) -> Tensor:
        numbers = torch.randn(*shape, generator=self.generator, dtype=torch.float64)
        return numbers.to(self.dtype).requires_grad_()


def sums_for(start: list[Tensor], gate_output: bool) -> list[Tensor]:
    """Random sums of gates, for as many states as these."""
    rows, size = start[0].shape
    return [Draw(start[0].dtype)(rows, (2 + gate_output) * size)]


def inputs_for(start: list[Tensor], gate_output: bool, in_feats: int) -> list[Tensor]:
    """Random inputs, weight and bias of such sums; the linear map has more outputs than these."""
    (rows, size), draw = start[0].shape, Draw(start[0].dtype)
    num_outputs = (2 + gate_output) * size + 5
    numbers = [draw(rows, in_feats), draw(num_outputs, in_feats), draw(num_outputs)]
    with torch.no_grad():
        numbers[1] /= in_feats**0.5
    return numbers


def start_of(numbers: list[Tensor], gate_output: bool, size: int) -> LSTMStart:
    """A start made of what one of these two gives."""
    if len(numbers) == 1:
        return LSTMStart(*numbers, gate_output)
    return LSTMStart(FirstOutputs(*numbers, (2 + gate_output) * size), gate_output)


class Compared:
    """What is run both ways. A subclass has ``inputs``, ``tensors`` and ``run``."""

    inputs: Tensor
    tensors: list[Tensor]

    def run(self) -> tuple[Tensor, ...]:
        """The states."""
        raise NotImplementedError

    def outcome(self, parts: tuple[int, ...] | None = None) -> list[Tensor]:
        """States, and gradients of a loss of some of their parts."""
        states = self.run()
        chosen = states if parts is None else [states[part] for part in parts]
        loss = sum((state * state.detach().cos()).sum() for state in chosen)
        return [*states, *torch.autograd.grad(loss, self.tensors)]


def check(problem: Compared, monkeypatch, **options) -> None:
    """Compares the compiled walk with the one in torch."""
    compiled = problem.outcome(**options)
    with monkeypatch.context() as context:
        context.setenv(SWITCH, "0")
        plain = problem.outcome(**options)
    assert "Compiled" in type(compiled[0].grad_fn).__name__
    assert "Compiled" not in type(plain[0].grad_fn).__name__
    tolerance = TOLERANCES[problem.inputs.dtype]
    for got, expected in zip(compiled, plain, strict=True):
        largest = max(float(expected.detach().abs().max()), 1e-30)
        assert float((got - expected).detach().abs().max()) <= tolerance * largest


@contextmanager
def threads(number: int) -> Iterator[None]:
    """So many threads of torch, and of the kernels."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def check_threads(problem: Compared, num_threads: int) -> None:
    """Compares several threads with one, and with themselves."""
    with threads(1):
        alone = problem.outcome()
    with threads(num_threads):
        several, again = problem.outcome(), problem.outcome()
    assert all(map(torch.equal, several, again))
    for got, expected in zip(several, alone, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)


def check_states_without_gradients(problem: Compared, num_threads: int) -> None:
    """Compares the states that several threads make, for no gradients, with those of one."""
    with threads(1):
        alone = problem.run()
    with threads(num_threads), torch.no_grad():
        several = problem.run()
    for got, expected in zip(several, alone, strict=True):
        torch.testing.assert_close(got, expected.detach(), rtol=1e-12, atol=1e-12)
