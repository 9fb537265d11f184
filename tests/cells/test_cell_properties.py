"""Properties that hold for all cells, whatever their equations."""

import random
import warnings

import pytest
import torch
from cell_contract import IN_FEATS, ROWS, Row, cells_where, each_cell
from cell_structures import Structure, in_edge_order, join
from strategies import chain_shape

from graphsent._dgl import dgl

ROW = {row.name: row for row in ROWS}


def close(first, second, tolerance=1e-12):
    for a, b in zip(first, second, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=tolerance)


def prepared(row: Row, structure: Structure):
    feat = torch.randn(structure.num_nodes, IN_FEATS, dtype=torch.float64)
    return row.cell(), feat, row.arguments(structure)


@cells_where(lambda row: row.structure.__name__ == "bottom_up")
def test_only_ordered_cells_see_the_order_of_children(row):
    structure = join(row.every_structure())
    cell, feat, arguments = prepared(row, structure)
    h = row.run(cell, structure, feat, **arguments)[0]
    mirrored = row.run(cell, structure.mirrored(), feat, **arguments)[0]
    assert torch.allclose(h, mirrored, rtol=0, atol=1e-12) != row.ordered


@in_edge_order
@cells_where(lambda row: row.structure.__name__ == "bottom_up" and row.ordered)
def test_without_child_index_the_slot_is_the_place_in_the_mailbox(row):
    structure = join(row.every_structure())
    cell, feat, arguments = prepared(row, structure)
    unmarked = row.run_graph(cell, structure.graph(slots=False), feat, **arguments)
    close(unmarked, row.run(cell, structure, feat, **arguments))


@each_cell
def test_a_state_depends_on_the_nodes_before_it_and_on_no_others(row):
    structure = join(row.every_structure())
    cell, feat, arguments = prepared(row, structure)
    feat.requires_grad_()
    states = torch.cat(row.run(cell, structure, feat, **arguments), 1)
    one_way = not row.name.startswith("bi_")
    for node in random.Random(0).sample(range(structure.num_nodes), 6):
        (grad,) = torch.autograd.grad(states[node].sum(), feat, retain_graph=True)
        used = set(grad.abs().sum(1).nonzero().squeeze(1).tolist())
        if one_way:
            before = structure.ancestors_or_self(node)
            assert used == {k for k in before if structure.leaves[k] or not row.leaves_only}
        elif structure.leaves[node]:
            assert node in used


@cells_where(lambda row: row.leaves_only)
def test_rows_of_inner_nodes_are_ignored(row):
    structure = row.small_structure()
    cell, feat, arguments = prepared(row, structure)
    feat.requires_grad_()
    states = row.run(cell, structure, feat, **arguments)
    (grad,) = torch.autograd.grad(sum(part.sum() for part in states), feat)
    assert grad[~structure.leaves].eq(0).all()
    assert grad[structure.leaves].ne(0).any(1).all()
    other = torch.where(structure.leaves.unsqueeze(1), feat, torch.full_like(feat, torch.inf))
    close(row.run(cell, structure, other, **arguments), states)


@cells_where(lambda row: not row.name.startswith("bi_"))
@pytest.mark.parametrize("how", ["prop_nodes_topo", "update_all"])
def test_the_functions_work_in_a_users_own_propagation(row, how):
    structure = row.small_structure()
    cell, feat, arguments = prepared(row, structure)
    graph = structure.graph()
    graph.ndata.update(cell.node_inputs(graph, feat, **arguments))
    functions = (cell.message_func, cell.reduce_func)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The input graph for the user-defined edge function")
        if how == "prop_nodes_topo":
            dgl.prop_nodes_topo(graph, *functions, apply_node_func=cell.apply_node_func)
        else:
            for _ in dgl.topological_nodes_generator(graph):
                graph.update_all(*functions, cell.apply_node_func)
    expected = row.run(cell, structure, feat, **arguments)
    close([graph.ndata[name] for name in cell.state_names], expected)


@each_cell
def test_narrow_graph_ids(row):
    structure = row.small_structure()
    cell, feat, arguments = prepared(row, structure)
    graph = structure.graph()
    narrow = graph.int()
    narrow.edata[structure.field] = graph.edata[structure.field].int()
    close(
        row.run_graph(cell, narrow, feat, **arguments), row.run(cell, structure, feat, **arguments)
    )


def test_a_long_chain_does_not_recurse():
    row = ROW["child_sum_lstm"]
    structure = row.structure(chain_shape(600))
    cell, feat, _ = prepared(row, structure)
    feat.requires_grad_()
    cell(structure.graph(), feat)[0].sum().backward()
    assert feat.grad.isfinite().all()
