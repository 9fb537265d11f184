"""Attention over children, and the edge weights returned on request."""

import pytest
import torch
from cell_contract import BINARY
from cell_structures import bottom_up, in_edge_order, join
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import chain_shape, star_shape

from graphsent import cells
from graphsent._dgl import dgl

ATTENTIVE = (cells.AttentiveTreeLSTM, cells.AttentiveTreeGRU)
attentive = pytest.mark.parametrize("kind", ATTENTIVE)


@attentive
def test_an_only_child_has_all_the_attention(kind):
    structure = bottom_up(chain_shape(5))
    cell, feat = kind(3, 4).double(), torch.randn(6, 3, dtype=torch.float64)
    h, weights = cell(structure.graph(), feat, return_attention=True)
    assert torch.equal(weights, torch.ones_like(weights))
    plain_kind = {
        cells.AttentiveTreeLSTM: cells.ChildSumTreeLSTM,
        cells.AttentiveTreeGRU: cells.ChildSumTreeGRU,
    }[kind]
    plain = plain_kind(3, 4).double()
    plain.load_state_dict({k: v for k, v in cell.state_dict().items() if "attention" not in k})
    torch.testing.assert_close(plain(structure.graph(), feat), h, rtol=0, atol=1e-14)


@attentive
def test_without_w_all_children_have_equal_weights(kind):
    structure = join([bottom_up(star_shape(4)), bottom_up(star_shape(30))])
    cell = kind(3, 4)
    torch.nn.init.zeros_(cell.attention.w.weight)
    _, weights = cell(structure.graph(), torch.randn(36, 3), return_attention=True)
    torch.testing.assert_close(weights, torch.tensor([1 / 4] * 4 + [1 / 30] * 30))


@attentive
def test_weights_are_those_of_the_recursion(kind):
    structure = join([bottom_up(star_shape(5)), bottom_up([[1, 2], [3], [], []])])
    cell = kind(3, 4, attention="dynamic")
    feat, query = torch.randn(10, 3), torch.randn(10, 4)
    h, weights = cell(structure.graph(), feat, query=query, return_attention=True)
    for node, before in enumerate(structure.incoming):
        if before:
            children = h[[child for child, _ in before]]
            expected = cell.attention(children[None], cell.attention.query(query[node : node + 1]))
            edges = [i for i, (_, target, _) in enumerate(structure.edges) if target == node]
            torch.testing.assert_close(weights[edges], expected[0])


@attentive
def test_weights_have_gradients(kind):
    cell, graph = kind(3, 4).double(), bottom_up(star_shape(3)).graph()

    def weights(feat):
        return cell(graph, feat, return_attention=True)[1]

    feat = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(weights, feat)


@attentive
def test_vectors_of_graphs_are_those_of_all_their_nodes(kind):
    members = [bottom_up(star_shape(2)), bottom_up(chain_shape(0)), bottom_up(chain_shape(3))]
    graph = dgl.batch([member.graph() for member in members])
    cell, feat = kind(3, 4, attention="dynamic", attention_feats=2), torch.randn(8, 3)
    query = torch.randn(3, 2, requires_grad=True)
    h = cell(graph, feat, query=query)
    by_node = query[[0, 0, 0, 1, 2, 2, 2, 2]]
    assert torch.equal(h, cell(graph, feat, query=by_node))
    h.sum().backward()
    assert query.grad[0].ne(0).any()  # only this tree has a choice between children
    assert query.grad[1].eq(0).all()


def test_requested_outputs_come_in_order():
    graph, feat = bottom_up(star_shape(2)).graph(), torch.randn(3, 3)
    cell = cells.AttentiveTreeLSTM(3, 4)
    h, c, weights = cell(graph, feat, return_cell=True, return_attention=True)
    assert torch.equal(cell(graph, feat), h)
    assert torch.equal(cell(graph, feat, return_cell=True)[1], c)
    assert torch.equal(cell(graph, feat, return_attention=True)[1], weights)


@settings(max_examples=10)
@given(data=st.data())
def test_head_words_lie_between_their_leaves(data):
    structure = bottom_up(data.draw(BINARY[0]))
    cell = cells.HeadLexicalizer(3).double()
    feat = torch.randn(structure.num_nodes, 3, dtype=torch.float64)
    words = cell(structure.graph(), feat)
    for node in range(structure.num_nodes):
        leaves = [k for k in structure.ancestors_or_self(node) if structure.leaves[k]]
        assert (words[node] <= feat[leaves].amax(0) + 1e-12).all()
        assert (words[node] >= feat[leaves].amin(0) - 1e-12).all()


@in_edge_order
@pytest.mark.parametrize("slots", [True, False])
def test_head_weights_mix_the_children(slots):
    structure = join([bottom_up(shape) for shape in BINARY[1]])
    cell, feat = cells.HeadLexicalizer(3).double(), torch.randn(structure.num_nodes, 3).double()
    graph = structure.graph(slots=slots)
    words = cell(graph, feat)
    weights = cell.edge_weights(graph, words)
    children, parents = graph.edges()
    mixed = torch.zeros_like(words).index_add(0, parents, weights * words[children])
    torch.testing.assert_close(mixed[~structure.leaves], words[~structure.leaves])


def noisy(module, arguments, words):
    return words + torch.arange(len(words), dtype=words.dtype).unsqueeze(1)


class Doubled(cells.HeadLexicalizer):
    def start(self, x):
        return (2 * x,)


@in_edge_order
@pytest.mark.parametrize("engine", ["dgl", "levels"])
@pytest.mark.parametrize("change", ["none", "hook", "subclass"])
def test_leaves_with_the_same_word_share_a_head_word_unless_a_call_may_tell_them_apart(
    change, engine
):
    structure = join([bottom_up(shape) for shape in BINARY[1]])
    graph, num_leaves = structure.graph(), int(sum(structure.leaves))
    cell = (Doubled if change == "subclass" else cells.HeadLexicalizer)(3).double()
    if change == "hook":
        cell.register_forward_hook(noisy)
    rows = torch.randn(2, 3, dtype=torch.float64)
    index = torch.where(structure.leaves, torch.arange(structure.num_nodes) % 3 - 1, 0)
    feat = cells.IndexedFeat(rows, index)
    found = cell.heads(graph, feat, engine)
    dense = found.dense() if isinstance(found, cells.IndexedFeat) else found
    torch.testing.assert_close(dense, cell(graph, feat.dense()), rtol=0, atol=1e-12)
    shared = len(rows) + structure.num_nodes - num_leaves
    assert len(found.rows) == shared if change == "none" else isinstance(found, torch.Tensor)


@pytest.mark.parametrize("kind", [cells.LexicalizedTreeLSTM, cells.BiTreeLSTM])
def test_cells_return_the_head_weights_on_request(kind):
    structure = join([bottom_up(shape) for shape in BINARY[1]])
    cell, feat = kind(3, 4), torch.randn(structure.num_nodes, 3)
    graph = structure.graph()
    h, c, weights = cell(graph, feat, return_cell=True, return_head_weights=True)
    assert torch.equal(h, cell(graph, feat))
    assert torch.equal(c, cell(graph, feat, return_cell=True)[1])
    assert weights.shape == (graph.num_edges(), 3)
    assert torch.equal(weights, cell(graph, feat, return_head_weights=True)[1])
