"""AdaGrad on rows agrees with torch's."""

from __future__ import annotations

import copy
import warnings

import pytest
import torch
from sparse_gradients import gradient
from torch import nn
from torch.optim import Adagrad

from graphsent.training.adagrad import RowAdagrad


def train(
    kind: type[Adagrad], size: int, dtype: torch.dtype, coalesced: bool = False, **options: float
) -> tuple[torch.Tensor, dict]:
    """A table after some steps, and the state of its optimizer."""
    table = nn.Parameter(torch.linspace(-1, 1, 9 * size, dtype=dtype).view(9, size))
    dense = nn.Parameter(torch.ones(3, dtype=dtype))
    optimizer = kind([table, dense], lr=0.1, **options)
    for rows in ([4], [0, 8, 3], [3, 5, 3, 3], [], [8, 7, 6, 5, 4, 3, 2, 1, 0]):
        table.grad = gradient(rows, size, dtype, coalesced)
        dense.grad = torch.full_like(dense, 0.5)
        given = table.grad
        with torch.sparse.check_sparse_tensor_invariants(enable=True):
            optimizer.step()
        assert table.grad is given
    return torch.cat((table.detach().flatten(), dense.detach())), optimizer.state_dict()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1, 7, 8, 20])
@pytest.mark.parametrize("coalesced", [True, False])
@pytest.mark.parametrize(
    "options", [{}, {"lr_decay": 0.3, "eps": 1e-3, "initial_accumulator_value": 0.5}]
)
def test_numbers_are_those_of_torch(dtype, size, coalesced, options):
    expected, state = train(Adagrad, size, dtype, coalesced, **options)
    got, own_state = train(RowAdagrad, size, dtype, coalesced, **options)
    tolerance = 1e-13 if dtype == torch.float64 else 1e-6
    torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance)
    for number in (0, 1):
        for name in ("step", "sum"):
            torch.testing.assert_close(
                own_state["state"][number][name], state["state"][number][name]
            )


def test_a_table_that_is_not_contiguous():
    """For instance a transposed table."""
    tables = [nn.Parameter(torch.ones(4, 9).t()) for _ in range(2)]
    for table, kind in zip(tables, (Adagrad, RowAdagrad), strict=True):
        table.grad = gradient([1, 5], 4, torch.float32, False)
        kind([table], lr=0.1).step()
    torch.testing.assert_close(tables[1], tables[0])


def test_a_gradient_of_single_numbers():
    tables = [nn.Parameter(torch.ones(9, 2)) for _ in range(2)]
    for table, kind in zip(tables, (Adagrad, RowAdagrad), strict=True):
        index, values = torch.tensor([[1, 4], [0, 1]]), torch.tensor([0.5, 2.0])
        table.grad = torch.sparse_coo_tensor(index, values, (9, 2), check_invariants=True)
        with torch.sparse.check_sparse_tensor_invariants(enable=True):
            kind([table], lr=0.1).step()
    assert tables[0][1].tolist() != [1, 1]
    torch.testing.assert_close(tables[1], tables[0])


def test_states_can_be_exchanged_with_torch():
    table = nn.Parameter(torch.ones(9, 2))
    table.grad = gradient([1, 2], 2, torch.float32, False)
    first = Adagrad([table], lr=0.1)
    first.step()
    second = RowAdagrad([table], lr=0.1)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    expected = copy.deepcopy(table)
    expected.grad = table.grad
    third = Adagrad([expected], lr=0.1)
    third.load_state_dict(copy.deepcopy(first.state_dict()))
    second.step()
    third.step()
    torch.testing.assert_close(table, expected)


def test_closure_and_hooks():
    table = nn.Parameter(torch.ones(9, 2))
    Adagrad([table])  # lets torch wrap its own steps
    optimizer, calls = RowAdagrad([table], lr=0.1), []
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


def test_arguments_that_torch_rejects_are_rejected():
    table = nn.Parameter(torch.ones(9, 2))
    table.grad = gradient([1], 2, torch.float32, False)
    with pytest.raises(RuntimeError, match="weight_decay"):
        RowAdagrad([table], weight_decay=0.1).step()


def test_transposed_gradients_fall_back_to_torch():
    tables = [nn.Parameter(torch.ones(9, 2)) for _ in range(2)]
    for table, kind in zip(tables, (Adagrad, RowAdagrad), strict=True):
        table.grad = gradient([1, 5], 2, torch.float32, False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on checks of sparse tensors
            kind([table], lr=0.1, maximize=True).step()
    torch.testing.assert_close(tables[1], tables[0])


@pytest.mark.parametrize("row", [-1, 9])
def test_rows_out_of_range(row):
    table = nn.Parameter(torch.ones(9, 2))
    index = torch.tensor([[row, 1]])
    table.grad = torch.sparse_coo_tensor(index, torch.ones(2, 2), (9, 2), check_invariants=False)
    with pytest.raises((IndexError, RuntimeError)):
        RowAdagrad([table], lr=0.1).step()
