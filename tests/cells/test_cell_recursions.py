"""Every cell agrees with its recursion on every engine, in values and all gradients."""

import random

import pytest
import torch
from cell_contract import IN_FEATS, Row, cells_where, each_cell
from cell_structures import Structure, join, random_dag, single_file, top_down
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphsent._dgl import dgl
from graphsent.cells import IndexedFeat
from graphsent.kernels.library import SWITCH

TOLERANCE = 1e-10


@pytest.fixture(params=["dgl", "levels", "levels in torch"])
def engine(request, monkeypatch):
    """The name of an engine, with and without compiled kernels."""
    monkeypatch.setenv(SWITCH, "0" if request.param == "levels in torch" else "1")
    return request.param.split()[0]


def gradients(states, cell, inputs):
    """Gradients of a fixed random combination of all states, of the inputs and all parameters."""
    generator = torch.Generator().manual_seed(1)
    loss = sum(
        (torch.randn(part.shape, generator=generator, dtype=part.dtype) * part).sum()
        for part in states
    )
    targets = [*inputs, *cell.parameters()]
    return torch.autograd.grad(loss, targets, allow_unused=True, materialize_grads=True)


def largest_difference(first, second):
    return max((a - b).detach().abs().max().item() for a, b in zip(first, second, strict=True))


def initial_state(cell, num_nodes):
    parts = len(getattr(cell, "state_names", ("h", "c")))
    shape = (num_nodes, cell.hidden_feats)
    return [torch.randn(shape, dtype=torch.float64, requires_grad=True) for _ in range(parts)]


def random_feat(num_rows: int) -> torch.Tensor:
    return torch.randn(num_rows, IN_FEATS, dtype=torch.float64, requires_grad=True)


def compare(
    row: Row,
    structure: Structure,
    graph: dgl.DGLGraph,
    engine: str,
    initial: bool = False,
    feat: IndexedFeat | None = None,
):
    """The largest differences in values and in gradients."""
    cell = row.cell()
    given = random_feat(structure.num_nodes) if feat is None else feat
    feat, leaf = (given, given) if feat is None else (given.dense(), given.rows)
    arguments = {name: value.requires_grad_() for name, value in row.arguments(structure).items()}
    state = initial_state(cell, structure.num_nodes) if initial else []
    before = list(zip(*state, strict=True)) if initial else None
    expected = row.states(cell, structure, feat, before, **arguments)
    if initial:
        arguments["initial_state"] = state if len(state) > 1 else state[0]
    found = row.run_graph(cell, graph, given, engine=engine, **arguments)
    inputs = [leaf, *state, *(arguments[name] for name in arguments if name == "query")]
    inputs = [each for each in inputs if each.requires_grad]
    return (
        largest_difference(found, expected),
        largest_difference(gradients(found, cell, inputs), gradients(expected, cell, inputs)),
    )


def assert_equal(row: Row, structure: Structure, graph: dgl.DGLGraph, engine: str, **options):
    values, grads = compare(row, structure, graph, engine, **options)
    assert values < TOLERANCE
    assert grads < TOLERANCE


@each_cell
def test_all_kinds_of_trees_in_one_batch(row, engine):
    members = row.every_structure()
    assert_equal(row, join(members), dgl.batch([member.graph() for member in members]), engine)


@each_cell
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_trees(row, engine, data):
    members = data.draw(row.structures())
    structure = join(members)
    order = data.draw(st.permutations(range(len(structure.edges))))
    assert_equal(row, structure, structure.graph(order), engine)


@cells_where(lambda row: row.max_degree > 0)
@pytest.mark.parametrize("seed", range(3))
def test_directed_acyclic_graphs(row, engine, seed):
    structure = random_dag(random.Random(seed), 25, row.max_degree)
    order = random.Random(seed).sample(range(len(structure.edges)), len(structure.edges))
    assert_equal(row, structure, structure.graph(order), engine)


@cells_where(lambda row: row.ordered and (row.max_degree == 2 or row.structure is top_down))
@pytest.mark.parametrize("slots", [(0,), (1,), (0, 1)], ids=str)
def test_one_predecessor(row, engine, slots):
    structure = single_file(random.Random(0), 40, slots)
    assert_equal(row, structure, structure.graph(), engine)


@cells_where(lambda row: row.initial)
def test_initial_states(row, engine):
    members = row.every_structure()
    structure = join(members)
    assert_equal(row, structure, structure.graph(), engine, initial=True)


# Rows shared by several nodes, rows of no node, and nodes without a row.
@each_cell
@pytest.mark.parametrize("num_rows", [1, 7, 200])
def test_inputs_by_row(row, engine, num_rows):
    structure = join(row.every_structure())
    index = torch.randint(-1, num_rows, (structure.num_nodes,))
    feat = IndexedFeat(random_feat(num_rows), index)
    assert_equal(row, structure, structure.graph(), engine, feat=feat)


# As in a batch of sentences: words only at leaves, or other rows for inner nodes.
@each_cell
@pytest.mark.parametrize("inner", [False, True])
def test_words(row, engine, inner):
    structure = join(row.every_structure())
    leaves = structure.leaves
    index = torch.where(leaves, torch.randint(0, 4, leaves.shape), torch.full(leaves.shape, -1))
    if inner:
        index = torch.where(leaves, index, torch.randint(4, 9, leaves.shape))
    feat = IndexedFeat(random_feat(9), index)
    assert_equal(row, structure, structure.graph(), engine, feat=feat)


@each_cell
def test_frozen_words(row, engine):
    structure = join(row.every_structure())
    leaves = structure.leaves
    index = torch.where(leaves, torch.randint(0, 4, leaves.shape), torch.full(leaves.shape, -1))
    feat = IndexedFeat(random_feat(4).detach(), index)
    assert_equal(row, structure, structure.graph(), engine, feat=feat)


@each_cell
def test_gradcheck(row, engine):
    structure = row.small_structure()
    cell = row.cell()
    graph, arguments = structure.graph(), {**row.arguments(structure), "engine": engine}
    names = [name for name, _ in cell.named_parameters()]

    def states(feat, *parameters):
        weights = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(cell, weights, (graph, feat), arguments)

    feat = torch.randn(structure.num_nodes, IN_FEATS, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(states, (feat, *cell.parameters()), fast_mode=True)
