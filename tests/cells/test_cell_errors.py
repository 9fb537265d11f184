"""Each wrong call of a cell raises a message with what was expected and what was found."""

import functools
import re

import pytest
import torch
from cell_contract import cells_where, each_cell
from cell_structures import Structure, bottom_up, in_edge_order, join, sibling
from strategies import chain_shape, star_shape
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.flop_counter import FlopCounterMode

from graphsent import cells
from graphsent._dgl import dgl
from graphsent.cells import CellError
from graphsent.errors import GraphsentError
from graphsent.propagation import PropagationError

PAIR = bottom_up([[1, 2], [], []])


def raises(message: str, error: type[Exception] = CellError):
    return pytest.raises(error, match=re.escape(message))


def test_errors_are_graphsent_and_value_errors():
    assert issubclass(CellError, (GraphsentError, ValueError))
    assert issubclass(PropagationError, (GraphsentError, ValueError))


@each_cell
def test_features_of_another_shape_or_type(row):
    structure = row.small_structure()
    cell, graph, size = row.cell(), structure.graph(), structure.num_nodes
    arguments = row.arguments(structure)
    expected = f"expected feat of shape (num_nodes, in_feats) = ({size}, 3), got "
    with raises(f"{expected}({size - 1}, 3)"):
        cell(graph, torch.randn(size - 1, 3).double(), **arguments)
    with raises(f"{expected}({size}, 4)"):
        cell(graph, torch.randn(size, 4).double(), **arguments)
    with raises(f"{expected}({size},)"):
        cell(graph, torch.randn(size).double(), **arguments)
    with raises("expected feat to be a tensor or IndexedFeat, got list"):
        cell(graph, [[1.0] * 3] * size, **arguments)
    with raises("expected feat of the parameters' torch.float64, got torch.float32"):
        cell(graph, torch.randn(size, 3), **arguments)
    with raises("expected feat of the parameters' torch.float64, got torch.int64"):
        cell(graph, torch.ones(size, 3, dtype=torch.int64), **arguments)


def test_half_precision_needs_autocast():
    cell = cells.ChildSumTreeLSTM(3, 4)
    with raises("expected feat of the parameters' torch.float32, got torch.bfloat16"):
        cell(PAIR.graph(), torch.randn(3, 3).bfloat16())


@each_cell
def test_transforms_of_torch_func(row):
    structure, cell = row.small_structure(), row.cell()
    graph, arguments = structure.graph(), row.arguments(structure)
    feat = torch.randn(structure.num_nodes, 3).double()

    def total(feat):
        found = cell(graph, feat, **arguments)
        return (found if torch.is_tensor(found) else found[0]).sum()

    weights = {name: value.detach() for name, value in cell.named_parameters()}
    uses = {
        "features": lambda: torch.func.grad(total)(feat),
        "rows": lambda: torch.func.vmap(total)(torch.stack([feat, feat])),
        "weights": lambda: torch.func.grad(
            lambda w: torch.func.functional_call(cell, w, (graph, feat), arguments)[0].sum()
        )(weights),
    }
    for use in uses.values():
        with pytest.raises(CellError, match=r"do not run in transforms of torch\.func"):
            use()


@each_cell
def test_records_of_operations_and_fake_tensors(row):
    structure, cell = row.small_structure(), row.cell()
    graph, arguments = structure.graph(), row.arguments(structure)
    feat = torch.randn(structure.num_nodes, 3).double()
    with pytest.raises(CellError, match="operations are recorded or tensors are fake"):
        make_fx(lambda feat: cell(graph, feat, **arguments))(feat)
    with (
        FakeTensorMode(allow_non_fake_inputs=True),
        pytest.raises(CellError, match="operations are recorded or tensors are fake"),
    ):
        cell(graph, feat, **arguments)
    with FlopCounterMode(display=False):  # counts operations of real tensors
        cell(graph, feat, **arguments)


@cells_where(lambda row: row.name in ("nary_lstm", "bi_tree_lstm", "tree_net"))
@pytest.mark.filterwarnings("ignore:.torch.jit", "ignore::torch.jit.TracerWarning")
def test_torchscript(row):
    structure, cell = row.small_structure(), row.cell().requires_grad_(False)
    graph, arguments = structure.graph(), row.arguments(structure)
    feat, other = torch.randn(2, structure.num_nodes, 3).double()

    def traced(engine):
        run = functools.partial(cell, graph, engine=engine, **arguments)
        return torch.jit.trace(lambda feat: run(feat), feat, check_trace=False)

    with pytest.raises(CellError, match=r'torch\.jit\.trace only with engine="dgl"'):
        traced("levels")
    torch.testing.assert_close(traced("dgl")(other), cell(graph, other, **arguments))


@each_cell
def test_unknown_engines(row):
    structure = row.small_structure()
    feat = torch.randn(structure.num_nodes, 3).double()
    message = "^unknown engine 'dlg': expected one of auto, dgl, levels; did you mean 'dgl'\\?$"
    with pytest.raises(PropagationError, match=message):
        row.cell()(structure.graph(), feat, engine="dlg", **row.arguments(structure))


@cells_where(lambda row: row.initial)
def test_initial_states_of_another_shape(row):
    structure, cell = row.small_structure(), row.cell()
    feat = torch.randn(structure.num_nodes, 3).double()
    names = getattr(cell, "state_names", ("h", "c"))

    def call(state):
        cell(structure.graph(), feat, state, **row.arguments(structure))

    wrong = torch.randn(structure.num_nodes, 5).double()
    with raises(
        "expected h of initial_state of shape (num_nodes, hidden_feats) = "
        f"({structure.num_nodes}, 4) and torch.float64, got ({structure.num_nodes}, 5)"
    ):
        call([wrong] * len(names))
    with raises("and torch.float64, got"):
        call([wrong[:, :4].float()] * len(names))
    with raises(f"expected initial_state to be ({', '.join(names)}), got a list of 3: a tensor"):
        call([wrong] * 3)


def test_cells_without_initial_state():
    zeros = torch.zeros(3, 4)
    with raises("NaryTreeLSTM takes no initial_state: affine leaves have no term for it"):
        cells.NaryTreeLSTM(3, 4, leaf="affine")(PAIR.graph(), torch.ones(3, 3), (zeros, zeros))
    with raises("HeadLexicalizer takes no initial_state: a leaf is its own head"):
        cells.HeadLexicalizer(3)(PAIR.graph(), torch.ones(3, 3), torch.ones(3, 3))
    structure = sibling(chain_shape(0))
    with raises("TreeNet takes no initial_state"):
        cells.TreeNet(3, 4)(structure.graph(), torch.ones(2, 3), (zeros[:2], zeros[:2]))


@cells_where(lambda row: "gru" in row.name or row.name in ("recursive", "head_words"))
def test_cells_without_memory(row):
    structure = row.small_structure()
    feat = torch.randn(structure.num_nodes, 3).double()
    with raises("has no memory cell to return"):
        row.cell()(structure.graph(), feat, return_cell=True, **row.arguments(structure))


@in_edge_order
@pytest.mark.parametrize("kind", [cells.NaryTreeLSTM, cells.RecursiveCell])
@pytest.mark.parametrize("slots", [True, False])
def test_too_many_children(kind, slots):
    graph = bottom_up(star_shape(3)).graph(slots=slots)
    name = kind.__name__
    with raises(
        f"{name} takes at most 2 children, got 3 at node 0: "
        "binarize the trees, or choose a cell for more children"
    ):
        kind(3, 4)(graph, torch.randn(4, 3))
    pair = PAIR.graph(slots=slots)
    for members, place in (
        ([pair, pair, graph], "node 6 (node 0 of graph 2 in the batch)"),
        ([graph, pair], "node 0 (node 0 of graph 0 in the batch)"),
    ):
        batch = dgl.batch(members)
        feat = torch.randn(batch.num_nodes(), 3)
        with raises(f"{name} takes at most 2 children, got 3 at {place}"):
            kind(3, 4)(batch, feat)
        kind(3, 4, num_children=3)(batch, feat)


@in_edge_order
@pytest.mark.parametrize("slots", [True, False])
def test_more_children_than_slots(slots):
    cell = cells.NaryTreeLSTM(3, 4)
    cell.max_degree = 5  # of a subclass that sets it by mistake
    with raises("NaryTreeLSTM takes at most 2 children, got 3 at node 0"):
        cell(bottom_up(star_shape(3)).graph(slots=slots), torch.randn(4, 3))


@pytest.mark.parametrize("kind", [cells.LexicalizedTreeLSTM, cells.BiTreeLSTM])
def test_trees_that_are_not_binary(kind):
    for num_children in (1, 3):
        structure = join([PAIR, bottom_up(star_shape(num_children))])
        with raises(f"children, got {num_children} at node 3"):
            kind(3, 4)(structure.graph(), torch.randn(structure.num_nodes, 3))
    with raises("HeadLexicalizer takes 2 or no children, got 1 at node 0: collapse unary nodes"):
        kind(3, 4)(bottom_up(chain_shape(1)).graph(), torch.randn(2, 3))


def test_slots_that_are_out_of_range_or_taken():
    cell, feat = cells.NaryTreeLSTM(3, 4), torch.randn(3, 3)
    graph = PAIR.graph()
    graph.edata["child_index"] = torch.tensor([0, 2])
    with raises("NaryTreeLSTM takes child_index 0 to 1, got 2 at one of the 2 children of node 0"):
        cell(graph, feat)
    graph.edata["child_index"] = torch.tensor([-1, 0])
    with raises("takes child_index 0 to 1, got -1"):
        cell(graph, feat)
    graph.edata["child_index"] = torch.tensor([1, 1])
    with raises("takes children that differ in child_index, got 2 with 1 at node 0"):
        cell(graph, feat)
    for slots in ([0.0, 1.0], [[0], [1]]):
        graph.edata["child_index"] = torch.tensor(slots)
        with raises("expected edge data 'child_index' of shape (num_edges,) and integer dtype"):
            cell(graph, feat)


def test_graphs_without_slots_or_edge_kinds():
    with raises("TopDownTreeLSTM needs a graph with edge data 'child_index'"):
        cells.TopDownTreeLSTM(3, 4)(PAIR.graph(slots=False), torch.randn(3, 3))
    with raises("TreeNet needs a graph with edge data 'kind'"):
        cells.TreeNet(3, 4)(PAIR.graph(), torch.randn(3, 3))


def test_top_down_cells_take_one_parent():
    two_parents = Structure([[], [], [(0, 0), (1, 1)]])
    with raises("TopDownTreeLSTM takes at most 1 parent, got 2 at node 2"):
        cells.TopDownTreeLSTM(3, 4)(two_parents.graph(), torch.randn(3, 3))
    shared_child = Structure([[], [], [], [(0, 0), (1, 1)], [(1, 0), (2, 1)]])
    with raises("TopDownTreeLSTM takes at most 1 parent, got 2 at node 1"):
        cells.BiTreeLSTM(3, 4)(shared_child.graph(), torch.randn(5, 3))


def test_cycles():
    cycle = dgl.graph(([0, 1], [1, 0]))
    message = "expected an acyclic graph, got one with a cycle among its 2 nodes"
    with raises(message, PropagationError):
        cells.ChildSumTreeLSTM(3, 4)(cycle, torch.randn(2, 3))


def test_heterogeneous_graphs():
    graph = dgl.heterograph({("a", "to", "b"): ([0], [0])})
    with raises("expected a homogeneous graph, got node types ['a', 'b'] and edge types ['to']"):
        cells.ChildSumTreeLSTM(3, 4)(graph, torch.randn(2, 3))


@pytest.mark.parametrize("kind", [cells.AttentiveTreeLSTM, cells.AttentiveTreeGRU])
def test_attention_vectors_that_do_not_fit(kind):
    graph, feat = PAIR.graph(), torch.randn(3, 3)
    cell = kind(3, 4, attention="dynamic", attention_feats=5)
    expected = "expected query of shape (batch_size, attention_feats) = (1, 5) or (num_nodes, "
    with raises(f"{expected}attention_feats) = (3, 5): dynamic attention needs"):
        cell(graph, feat)
    for wrong in (torch.randn(2, 5), torch.randn(3, 4), torch.randn(5)):
        with raises(f"(3, 5), got {tuple(wrong.shape)}"):
            cell(graph, feat, query=wrong)
    with raises('query needs attention="dynamic"'):
        kind(3, 4)(graph, feat, query=torch.randn(1, 4))


def test_head_weights_without_heads():
    cell = cells.LexicalizedTreeLSTM(3, 4, lexicalized=False)
    with raises("head weights need lexicalized=True"):
        cell(PAIR.graph(), torch.randn(3, 3), return_head_weights=True)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (
            cells.NaryTreeLSTM,
            {"leaf": "soft"},
            "unknown leaf 'soft': expected one of gated, affine",
        ),
        (cells.ChildSumTreeGRU, {"reset": "x"}, "unknown reset 'x': expected one of per_child, "),
        (
            cells.AttentiveTreeLSTM,
            {"memory": "x"},
            "unknown memory 'x': expected one of per_child",
        ),
        (
            cells.AttentiveTreeGRU,
            {"attention": "x"},
            "unknown attention 'x': expected one of static",
        ),
        (cells.BiTreeLSTM, {"td_root": "x"}, "unknown td_root 'x': expected one of zero, bu_root"),
        (cells.TreeNet, {"memory": False}, "memory=False needs an encoder and a compositor"),
    ],
)
def test_unknown_options(kind, options, message):
    with raises(message):
        kind(3, 4, **options)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: cells.ChildSumTreeLSTM(0, 4), "in_feats of at least 1, got 0"),
        (lambda: cells.NaryTreeLSTM(3, -1), "hidden_feats of at least 1, got -1"),
        (lambda: cells.NaryTreeLSTM(3, 4, 0), "num_children of at least 1, got 0"),
        (lambda: cells.NaryTreeLSTM(3, 4, "2"), "num_children to be an integer, got '2'"),
        (lambda: cells.RecursiveCell(3, 4, True), "num_children to be an integer, got T"),
        (
            lambda: cells.AttentiveTreeGRU(3, 4, attention_feats=0),
            "attention_feats of at least 1, got 0",
        ),
        (
            lambda: cells.AttentiveTreeLSTM(3, 4, attention_feats=2.5),
            "attention_feats to be an integer, got 2.5",
        ),
        (lambda: cells.GatedEncoder(0, 4), "in_feats of at least 1, got 0"),
        (lambda: cells.GatedCompositor(2.5), "hidden_feats to be an integer, got 2.5"),
    ],
)
def test_sizes(build, message):
    with raises(f"expected {message}"):
        build()


class Nothing(torch.nn.Module):
    def forward(self, rows):
        return None


def test_modules_that_do_not_fit_tree_net():
    graph, feat = sibling([[1, 2], [], []]).graph(), torch.randn(5, 3)
    message = (
        "expected the encoder to return 2 tensors of shape (num_nodes, hidden_feats) = (2, 4), got "
    )
    with raises(f"{message}[(2, 4)]"):
        cells.TreeNet(3, 4, encoder=torch.nn.Linear(3, 4))(graph, feat)
    with raises(f"{message}['NoneType']"):
        cells.TreeNet(3, 4, encoder=Nothing())(graph, feat)
    with raises(f"{message}[(2, 5), (2, 5)]"):
        cells.TreeNet(3, 4, encoder=cells.GatedEncoder(3, 5))(graph, feat)
