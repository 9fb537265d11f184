"""Adadelta on rows agrees with torch's on the dense gradient of the whole table."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from sparse_gradients import gradient
from torch import nn
from torch.optim import Adadelta

from graphsent.kernels.library import SWITCH
from graphsent.propagation import kernels_in_use
from graphsent.training.adadelta import RowAdadelta

# Rows with a gradient in each step: some twice in a step, some after a gap, one never.
STEPS = ([4], [0, 8, 3], [3, 5, 3, 3], [], [8, 7, 6, 5, 4, 3, 2, 0], *([[3]] * 40), [0, 4, 3])
EVERY_ROW = [*range(8), 8]


@pytest.fixture(params=["compiled", "torch"])
def way(request, monkeypatch):
    """Parametrizes over both implementations of a step."""
    if request.param == "torch":
        monkeypatch.setenv(SWITCH, "0")
    elif not kernels_in_use():
        pytest.skip("there is no C compiler")


class Trained:
    """A table and another parameter, with their optimizer."""

    def __init__(self, kind: type[Adadelta], size: int, dtype: torch.dtype, **options: float):
        self.table = nn.Parameter(torch.linspace(-1, 1, 9 * size, dtype=dtype).view(9, size))
        self.dense = nn.Parameter(torch.ones(3, dtype=dtype))
        self.optimizer = kind([self.table, self.dense], **options)

    def step(self, rows: list[int], *, coalesced: bool = False) -> None:
        size, dtype = self.table.shape[1], self.table.dtype
        given = gradient(rows, size, dtype, coalesced)
        by_rows = isinstance(self.optimizer, RowAdadelta)
        self.table.grad = given if by_rows else given.to_dense()
        self.dense.grad = torch.full_like(self.dense, 0.5)
        with torch.sparse.check_sparse_tensor_invariants(enable=True):
            self.optimizer.step()
        assert not by_rows or self.table.grad is given

    @property
    def numbers(self) -> torch.Tensor:
        return torch.cat((self.table.detach().flatten(), self.dense.detach()))


def same(one: torch.Tensor, other: torch.Tensor) -> None:
    tolerance = 1e-13 if one.dtype == torch.float64 else 2e-6
    torch.testing.assert_close(one, other, rtol=10 * tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1, 7, 16, 20])
@pytest.mark.parametrize("coalesced", [True, False])
@pytest.mark.parametrize("options", [{}, {"lr": 0.5, "rho": 0.7, "eps": 1e-3}])
def test_numbers_are_those_of_dense_gradients(way, dtype, size, coalesced, options):
    whole, rows = (Trained(kind, size, dtype, **options) for kind in (Adadelta, RowAdadelta))
    for each in STEPS:
        whole.step(each)
        rows.step(each, coalesced=coalesced)
        same(rows.numbers, whole.numbers)
    # Pending decay of rows without a gradient is applied later; then both agree.
    whole.step(EVERY_ROW)
    rows.step(EVERY_ROW)
    same(rows.numbers, whole.numbers)
    for table, name in ((table, name) for table in (0, 1) for name in ("square_avg", "acc_delta")):
        states = [each.optimizer.state_dict()["state"][table][name] for each in (rows, whole)]
        same(*states)


@pytest.mark.parametrize("coalesced", [True, False])
def test_both_implementations_agree(monkeypatch, coalesced):
    if not kernels_in_use():
        pytest.skip("there is no C compiler")
    found = []
    for switch in ("1", "0"):
        monkeypatch.setenv(SWITCH, switch)
        trained = Trained(RowAdadelta, 20, torch.float32)
        for rows in STEPS:
            trained.step(rows, coalesced=coalesced)
        found.append(trained.numbers)
    torch.testing.assert_close(*found, rtol=1e-6, atol=1e-6)


def test_a_run_resumes_from_its_saved_state(way):
    without, broken = (Trained(RowAdadelta, 5, torch.float32) for _ in range(2))
    for number, rows in enumerate(STEPS):
        without.step(rows)
        broken.step(rows)
        if number == 3:
            file = io.BytesIO()
            torch.save(broken.optimizer.state_dict(), file)
            file.seek(0)
            again = Trained(RowAdadelta, 5, torch.float32)
            with torch.no_grad():
                again.table.copy_(broken.table)
                again.dense.copy_(broken.dense)
            again.optimizer.load_state_dict(torch.load(file, weights_only=True))
            broken = again
    assert torch.equal(without.numbers, broken.numbers)


def test_states_of_torch_are_loaded(way):
    """Like the state of an older version."""
    whole, rows = (Trained(kind, 4, torch.float64) for kind in (Adadelta, RowAdadelta))
    for each in STEPS[:3]:
        whole.step(each)
    with torch.no_grad():
        rows.table.copy_(whole.table)
        rows.dense.copy_(whole.dense)
    rows.optimizer.load_state_dict(copy.deepcopy(whole.optimizer.state_dict()))
    for each in STEPS[3:]:
        whole.step(each)
        rows.step(each)
    same(rows.numbers, whole.numbers)


def test_a_table_that_is_not_contiguous(way):
    """For instance a transposed table."""
    tables = [nn.Parameter(torch.ones(4, 9).t()) for _ in range(2)]
    for table, kind in zip(tables, (Adadelta, RowAdadelta), strict=True):
        given = gradient([1, 5], 4, torch.float32, False)
        table.grad = given if kind is RowAdadelta else given.to_dense()
        kind([table]).step()
    torch.testing.assert_close(tables[1], tables[0])


def test_indices_that_are_not_contiguous(way):
    table = nn.Parameter(torch.ones(9, 2))
    index = torch.tensor([[1, 7], [4, 8]]).t()[:1]
    table.grad = torch.sparse_coo_tensor(index, torch.ones(2, 2), (9, 2), check_invariants=True)
    RowAdadelta([table]).step()
    assert (table != 1).all(1).nonzero().flatten().tolist() == [1, 4]


@pytest.mark.parametrize("shape", [(9,), (9, 2, 2), (9, 1, 3)])
def test_tables_of_other_dimensions(way, shape):
    tables = [nn.Parameter(torch.ones(shape, dtype=torch.float64)) for _ in range(2)]
    for table, kind in zip(tables, (Adadelta, RowAdadelta), strict=True):
        optimizer = kind([table])
        for rows in ([0, 1, 2, 3], [1, 2], [3], [0, 3], [2, 1, 0], [*range(9)]):
            values = table.new_ones(len(rows), *shape[1:])
            given = torch.sparse_coo_tensor([rows], values, shape, check_invariants=True)
            dense = kind is Adadelta or len(rows) == len(table)
            table.grad = given.to_dense() if dense else given
            optimizer.step()
    torch.testing.assert_close(tables[1], tables[0], rtol=1e-12, atol=0)


@pytest.mark.parametrize("options", [{}, {"weight_decay": 0.3, "lr": 0.5}, {"maximize": True}])
@pytest.mark.parametrize("turned", [False, True])
def test_dense_gradients(way, options, turned):
    torch.manual_seed(0)
    gradients = torch.randn(5, 7, 3, dtype=torch.float64)
    found = []
    for kind in (Adadelta, RowAdadelta):
        table = torch.linspace(-1, 1, 21, dtype=torch.float64).view(7, 3)
        table = nn.Parameter(table.t().contiguous().t() if turned else table)
        optimizer = kind([table], **options)
        for given in gradients:
            table.grad = given.clone()
            optimizer.step()
            assert torch.equal(table.grad, given)
        found.append(table.detach())
    same(*found)


def test_another_default_device(way):
    trained, other = (Trained(RowAdadelta, 3, torch.float32) for _ in range(2))
    given = gradient([1, 5], 3, torch.float32, True)
    for each in (trained, other):
        each.table.grad, each.dense.grad = given, torch.ones(3)
    trained.optimizer.step()
    with torch.device("meta"):
        other.optimizer.step()
    assert torch.equal(other.numbers, trained.numbers)


def test_a_parameter_without_a_gradient(way):
    table, other = nn.Parameter(torch.ones(9, 2)), nn.Parameter(torch.ones(2))
    table.grad = gradient([1], 2, torch.float32, False)
    RowAdadelta([table, other]).step()
    assert (table[1] != 1).all()
    assert (other == 1).all()


def test_closure_and_hooks(way):
    table = nn.Parameter(torch.ones(9, 2))
    Adadelta([table])  # lets torch wrap its own steps
    optimizer, calls = RowAdadelta([table]), []
    optimizer.register_step_pre_hook(lambda *_: calls.append("before"))
    optimizer.register_step_post_hook(lambda *_: calls.append("after"))

    def closure() -> float:
        assert torch.is_grad_enabled()
        table.grad = gradient([1], 2, torch.float32, False)
        return 3.5

    assert optimizer.step(closure) == 3.5
    assert calls == ["before", "after"]
    assert (table[1] != 1).all()
    assert (table[2] == 1).all()


def test_arguments_that_torch_rejects_are_rejected(way):
    table = nn.Parameter(torch.ones(9, 2))
    table.grad = gradient([1], 2, torch.float32, False)
    with pytest.raises(RuntimeError, match="sparse"):
        RowAdadelta([table], weight_decay=0.1).step()


@pytest.mark.parametrize("row", [-1, 9])
def test_rows_out_of_range(way, row):
    table = nn.Parameter(torch.ones(9, 2))
    index = torch.tensor([[row, 1]])
    table.grad = torch.sparse_coo_tensor(index, torch.ones(2, 2), (9, 2), check_invariants=False)
    with pytest.raises((IndexError, RuntimeError)):
        RowAdadelta([table]).step()


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_gradients_of_all_rows_among_those_of_some(way, weight_decay):
    whole, rows = (Trained(kind, 7, torch.float64) for kind in (Adadelta, RowAdadelta))
    for each in STEPS * 2:
        for trained in (whole, rows):
            trained.step(each)
            if len(each) in (2, 3):
                (group,) = trained.optimizer.param_groups
                trained.table.grad = gradient(EVERY_ROW, 7, torch.float64, True).to_dense()
                group["weight_decay"] = weight_decay
                trained.optimizer.step()
                group["weight_decay"] = 0.0
    same(rows.numbers, whole.numbers)
