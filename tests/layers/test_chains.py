"""Sequences as chains: their schedule and states."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from graphsent._dgl import dgl
from graphsent.kernels.library import kernels_in_use
from graphsent.layers import GRU, LSTM
from graphsent.layers.chains import make_chains
from graphsent.propagation.schedule.schedule import schedule_of
from graphsent.propagation.schedule.slots import make_slots

SIZES = [[1], [3], [1, 1, 1], [4, 4, 2, 1, 1]]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_schedule_is_that_of_the_graph(sizes):
    chains = make_chains(np.array(sizes))
    edges = chains.schedule.source, chains.schedule.target
    expected = schedule_of(dgl.graph(edges, num_nodes=chains.schedule.num_nodes))
    found = chains.schedule
    assert torch.equal(found.packed, expected.packed)
    assert np.array_equal(found.ends, expected.ends)
    assert np.array_equal(found.degrees, expected.degrees)
    assert found.num_edges == expected.num_edges
    assert torch.equal(chains.slots.source, make_slots(expected, 1).source)


def test_positions_of_steps():
    """Of the chains 0 1 2, 0 1 and 0: steps are a0 b0 c0, a1 b1, a2."""
    chains = make_chains(np.array([3, 2, 1]))
    assert chains.lengths.tolist() == [3, 2, 1]
    assert chains.last().tolist() == [5, 4, 2]
    chain, step = chains.steps()
    assert chain.tolist() == [0, 1, 2, 0, 1, 0]
    assert step.tolist() == [0, 0, 0, 1, 1, 2]
    assert chains.turned().tolist() == [5, 4, 2, 3, 1, 0]


def step_by_step(cell, feat, rows, start, chains):
    """The states of all steps by torch's cells, initial states first."""
    before = [tuple(part[chain : chain + 1] for part in start) for chain in range(len(start[0]))]
    states = [state[0] for state in before]
    for chain, row in zip(chains.steps()[0], rows, strict=True):
        is_lstm = isinstance(cell, nn.LSTMCell)
        state = cell(feat[row : row + 1], before[chain] if is_lstm else before[chain][0])
        before[chain] = state if is_lstm else (state,)
        states.append(before[chain][0])
    return torch.cat(states)


@pytest.mark.skipif(not kernels_in_use(torch.float64), reason="there is no C compiler")
@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize(("kind", "layer"), [(nn.LSTMCell, LSTM), (nn.GRUCell, GRU)])
def test_states_and_gradients(kind, layer, started):
    torch.manual_seed(0)
    chains, cell = make_chains(np.array([4, 3, 3, 1])), kind(3, 5).double()
    layer = layer(3, 5).double()
    layer.load_state_dict({f"{name}_l0": part for name, part in cell.state_dict().items()})
    feat = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    rows = torch.randint(6, (11,))
    start = [torch.randn(4, 5, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    given = start[: 2 if kind is nn.LSTMCell else 1]
    zeros = [torch.zeros_like(part) for part in given]
    expected = step_by_step(cell, feat, rows, given if started else zeros, chains)
    h = layer.chain_states(chains, feat, rows, given if started else None)[0]
    torch.testing.assert_close(h, expected, rtol=0, atol=1e-12)
    given = given if started else ()
    weights = torch.randn_like(h)
    weights[:4] = 0  # initial states are not among the results
    gradients = [
        torch.autograd.grad((part * weights).sum(), [feat, *module.parameters(), *given])
        for part, module in ((h, layer), (expected, cell))
    ]
    for got, gradient in zip(*gradients, strict=True):
        torch.testing.assert_close(got, gradient, rtol=0, atol=1e-12)
