"""The compiled states of leaves against those in torch."""

from __future__ import annotations

import pytest
import torch
from compiled_cases import TOLERANCES, Compared, Draw, check, check_threads

from graphsent.kernels.library import kernels_in_use
from graphsent.propagation.compiled_leaves import lstm_leaves
from graphsent.propagation.starts import LSTMStart

pytestmark = pytest.mark.skipif(not kernels_in_use(torch.float64), reason="there is no C compiler")
each_kind = pytest.mark.parametrize("gate_output", [True, False])


class Leaves(Compared):
    """Sums of rows."""

    def __init__(
        self, num_rows: int, size: int, *, gate_output: bool, dtype: torch.dtype = torch.float64
    ) -> None:
        self.gate_output = gate_output
        self.inputs = Draw(dtype)(num_rows, (2 + gate_output) * size)

    @property
    def tensors(self) -> list[torch.Tensor]:
        return [self.inputs]

    def run(self):
        return LSTMStart(self.inputs, self.gate_output).states()


@each_kind
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("size", [1, 3, 8, 33])
@pytest.mark.parametrize("num_rows", [1, 2, 50])
def test_sizes(gate_output, dtype, size, num_rows, monkeypatch):
    problem = Leaves(num_rows, size, gate_output=gate_output, dtype=dtype)
    check(problem, monkeypatch)
    check(problem, monkeypatch, parts=(0,))


@each_kind
def test_threads(gate_output):
    check_threads(Leaves(301, 20, gate_output=gate_output), 3)


@each_kind
def test_columns_of_something_wider(gate_output, monkeypatch):
    problem = Leaves(7, 5, gate_output=gate_output)
    wide = torch.cat((problem.inputs, problem.inputs), 1)
    expected = problem.run()
    problem.inputs = wide.detach()[:, : problem.inputs.shape[1]].requires_grad_()
    assert all(map(torch.equal, problem.run(), expected))
    check(problem, monkeypatch)


@each_kind
def test_no_rows(gate_output):
    h, c = lstm_leaves(torch.zeros(0, 6, requires_grad=True), gate_output)
    size = 6 // (2 + gate_output)
    assert h.shape == c.shape == (0, size)
    (h.sum() + c.sum()).backward()


def test_finite_differences():
    sums = Draw(torch.float64)(4, 9)
    assert torch.autograd.gradcheck(lstm_leaves, (sums,))


def test_gradients_of_gradients():
    assert torch.autograd.gradgradcheck(lstm_leaves, (Draw(torch.float64)(4, 9),))


def test_values_without_a_limit():
    sums = torch.tensor([[1e30, -torch.inf, torch.inf], [torch.nan, 0, 0]])
    h, c = lstm_leaves(sums)
    assert h[0].item() == pytest.approx(0, abs=1e-30)
    assert c[0].item() == 1
    assert h[1].isnan().all()
    assert c[1].isnan().all()
