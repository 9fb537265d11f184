"""Custom cells: mistakes in them raise messages that say what was expected."""

from __future__ import annotations

import re

import pytest
import torch
from cell_structures import bottom_up
from strategies import perfect_shape
from torch import nn

from graphsent import cells
from graphsent._dgl import dgl
from graphsent.cells import CellError, base

each_engine = pytest.mark.parametrize("engine", ["levels", "dgl"])
GRAPH = dgl.graph(([1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 2, 2]))
FEAT = torch.randn(7, 3)
WHERE = "and torch.float32 on cpu"


class Own(cells.TreeCell):
    """As CONTRIBUTING says: ``project``, ``start`` and ``combine``."""

    state_names = ("h",)

    def __init__(self):
        super().__init__(3, 4)
        self.W = nn.Linear(3, 4)
        self.U = nn.Linear(4, 4)

    def project(self, feat):
        return self.W(feat)

    def start(self, x):
        return (torch.tanh(x),)

    def combine(self, children, x):
        (h,) = children
        return (torch.tanh(x + self.U(h.sum(1))),)


def changed(**attributes) -> cells.TreeCell:
    return type("Mine", (Own,), attributes)()


def raises(message: str):
    return pytest.raises(CellError, match="^" + re.escape(message))


@each_engine
def test_a_cell_without_mistakes(engine):
    expected = Own.combine
    cell = Own()
    h = torch.zeros(7, 4)
    x = cell.project(FEAT)
    h[3:] = torch.tanh(x[3:])
    for node in (2, 1, 0):
        children = GRAPH.predecessors(node)
        (h[node],) = expected(cell, (h[children][None],), x[node][None])
    torch.testing.assert_close(cell(GRAPH, FEAT, engine=engine), h)


RESULTS = {
    "None": lambda h: None,
    "a dict": lambda h: {"h": h},
    "a generator": lambda h: (part for part in (h,)),
    "a tuple of 0: ": lambda h: (),
    "a tuple of 2: a tensor of shape ({n}, 4) ": lambda h: (h, h),
    "a tuple of 1: a ndarray": lambda h: (h.detach().numpy(),),
    "a tuple of 1: a tensor of shape (1, 4) ": lambda h: (h[:1],),
    "a tuple of 1: a tensor of shape ({n}, 1) ": lambda h: (h[:, :1],),
    "a tuple of 1: a tensor of shape ({n}, 8) ": lambda h: (h.repeat(1, 2),),
    "a tuple of 1: a tensor of shape ({n}, 1, 4) ": lambda h: (h[:, None],),
    "a tuple of 1: a tensor of shape (4,) ": lambda h: (h.sum(0),),
    "a tuple of 1: a tensor of shape ({n}, 4) and torch.float64 on cpu": lambda h: (h.double(),),
    "a tuple of 1: a tensor of shape ({n}, 4) and torch.int64 on cpu": lambda h: (h.long(),),
    "a tuple of 1: a tensor of shape ({n}, 4) and torch.float32 on meta": lambda h: (h.to("meta"),),
}


@each_engine
@pytest.mark.parametrize("got", RESULTS)
def test_states_of_another_kind(got, engine):
    def combine(self, children, x):
        return RESULTS[got](*Own.combine(self, children, x))

    def start(self, x):
        return RESULTS[got](*Own.start(self, x))

    expected = "to return a tuple (h,) of tensors of shape (num_nodes, hidden_feats) ="
    with raises(f"expected Mine.combine {expected} (2, 4) {WHERE}, got {got.format(n=2)}"):
        changed(combine=combine)(GRAPH, FEAT, engine=engine)
    with raises(f"expected Mine.start {expected} (4, 4) {WHERE}, got {got.format(n=4)}"):
        changed(start=start)(GRAPH, FEAT, engine=engine)


@each_engine
def test_integer_states_under_autocast(engine):
    cell = changed(combine=lambda self, children, x: (children[0].sum(1).long(),))
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(CellError, match="int64"):
        cell(GRAPH, FEAT, engine=engine)


@each_engine
def test_mistakes_of_one_engine_are_those_of_the_other(engine):
    """A trace could give these a meaning that they do not have in torch."""
    for combine in (
        lambda self, children, x: (children[0].sum(1) > x,),
        lambda self, children, x: (torch.mm(children[0], self.U.weight).sum(1),),
        lambda self, children, x: (x + torch.mv(children[0], self.U.bias),),
    ):
        with pytest.raises(CellError, match="combine"):
            changed(combine=combine)(GRAPH, FEAT, engine=engine)


@each_engine
def test_states_after_an_initial_state(engine):
    cell = changed(combine=lambda self, children, x: None)
    with raises("expected Mine.combine to return a tuple (h,) of tensors of shape"):
        cell(GRAPH, FEAT, torch.zeros(7, 4), engine=engine)


def test_states_in_the_three_functions():
    """The functions can also be called by DGL."""
    cell = changed(combine=lambda self, children, x: None)
    graph = GRAPH.local_var()
    graph.ndata.update(cell.node_inputs(graph, FEAT))
    with raises("expected Mine.combine to return a tuple (h,) of tensors of shape"):
        graph.update_all(cell.message_func, cell.reduce_func, cell.apply_node_func)


@each_engine
def test_projections_of_another_kind(engine):
    expected = "expected Mine.project to return a tensor with a row for each of the "
    for project, got in [
        (lambda self, feat: self.W(feat)[:-1], " of feat, on cpu, got a tensor of shape ("),
        (lambda self, feat: self.W(feat).sum(0), " of feat, on cpu, got a tensor of shape (4,)"),
        (lambda self, feat: None, " of feat, on cpu, got None"),
        (lambda self, feat: (self.W(feat),), " of feat, on cpu, got a tuple of 1: a tensor"),
    ]:
        cell = changed(project=project)
        for feat in (FEAT, cells.IndexedFeat(FEAT, torch.arange(7))):
            with raises(expected) as caught:
                cell(GRAPH, feat, engine=engine)
            assert got in str(caught.value)


@each_engine
@pytest.mark.parametrize("inner_input", [True, False])
def test_projections_of_any_number_of_dimensions(inner_input, engine):
    """Of (num_nodes, ...), whose last dimensions may have any sizes."""
    for project in (
        lambda self, feat: self.W(feat),
        lambda self, feat: self.W(feat).unflatten(1, (2, 2)),
        lambda self, feat: self.W(feat).sum(1),
    ):
        cell = changed(
            project=project,
            start=lambda self, x: (x.reshape(x.shape[0], -1) + torch.zeros(4),),
            combine=lambda self, children, x: (children[0].sum(1) + x.reshape(x.shape[0], -1),),
            inner_input=inner_input,
        )
        leaf = (GRAPH.in_degrees() == 0)[:, None]
        x = project(cell, FEAT if inner_input else FEAT * leaf).reshape(7, -1)
        expected = list(x.expand(7, 4))
        for node in (2, 1, 0):
            expected[node] = sum((expected[k] for k in GRAPH.predecessors(node)), expected[node])
        for feat in (FEAT, cells.IndexedFeat(FEAT, torch.arange(7))):
            torch.testing.assert_close(cell(GRAPH, feat, engine=engine), torch.stack(expected))


@each_engine
def test_a_start_that_changes_its_inputs(engine):
    cell = changed(
        project=lambda self, feat: feat,
        start=lambda self, x: (self.W(x.mul_(2)),),
        combine=lambda self, children, x: (self.W(x) + self.U(children[0].sum(1)),),
    )
    other = changed(
        project=lambda self, feat: feat,
        start=lambda self, x: (self.W(x * 2),),
        combine=lambda self, children, x: cell.combine(children, x),
    )
    other.load_state_dict(cell.state_dict())
    before = FEAT.clone()
    for feat in (FEAT, cells.IndexedFeat(FEAT, torch.arange(7))):
        found, expected = (each(GRAPH, feat, engine=engine) for each in (cell, other))
        torch.testing.assert_close(found, expected)
        assert torch.equal(FEAT, before)


@each_engine
@pytest.mark.parametrize(
    ("name", "arguments"), [("project", "feat"), ("start", "x"), ("combine", "children, x")]
)
def test_missing_methods(name, arguments, engine):
    class Mine(cells.TreeCell):
        state_names = ("h",)

        def __init__(self):
            super().__init__(3, 4)
            self.W, self.U = nn.Linear(3, 4), nn.Linear(4, 4)

    for other in {"project", "start", "combine"} - {name}:
        setattr(Mine, other, getattr(Own, other))
    with raises(f"the cell Mine has no method {name}(self, {arguments}), which returns "):
        Mine()(GRAPH, FEAT, engine=engine)
    assert not hasattr(Mine(), "reset_parameters")  # which is called if a module has it


@each_engine
@pytest.mark.parametrize(
    "names", ["h", (), ("state",), ("c", "h"), ("h", "h"), ("h", 1), None, {"h"}]
)
def test_names_of_states(names, engine):
    with raises("expected Mine.state_names to be a tuple of different names, 'h' first, got "):
        changed(state_names=names)(GRAPH, FEAT, engine=engine)


def test_explanations_of_cells_and_graphs_that_do_not_fit():
    with raises("expected Mine.state_names to be a tuple of different names"):
        changed(state_names="h").explain(GRAPH)
    with raises("expected a DGLGraph"):
        Own().explain(None)
    with raises("NaryTreeLSTM takes at most 1 children, got 2 at node 0"):
        cells.NaryTreeLSTM(3, 4, 1).explain(GRAPH)


@each_engine
@pytest.mark.parametrize(
    ("method", "function", "message"),
    [
        ("project", lambda self: FEAT, "(feat) besides self, but it takes ()"),
        ("start", lambda self: (FEAT,), "(x) besides self, but it takes ()"),
        ("start", lambda self, x, y: (x,), "(x) besides self, but it takes (x, y)"),
        ("combine", lambda self, h: (h,), "(children, x) besides self, but it takes (h)"),
        ("combine", lambda self, h, x, y: x, "(children, x) besides self, but it takes (h, x, y)"),
    ],
)
def test_methods_that_take_something_else(method, function, message, engine):
    with raises(f"expected Mine.{method} to take {message}"):
        changed(**{method: function})(GRAPH, FEAT, engine=engine)


@each_engine
@pytest.mark.parametrize("method", ["project", "start", "combine"])
def test_other_type_errors_pass_unchanged(method, engine):
    def fails(self, *arguments):
        raise TypeError("trouble")

    with pytest.raises(TypeError, match=r"^trouble$"):
        changed(**{method: fails})(GRAPH, FEAT, engine=engine)


@each_engine
def test_a_tensor_instead_of_a_tuple(engine):
    expected = "to return a tuple (h,) of tensors, got a bare tensor: return (h,)"
    with raises(f"expected Mine.start {expected}"):
        changed(start=lambda self, x: x)(GRAPH, FEAT, engine=engine)
    with raises(f"expected Mine.combine {expected}"):
        changed(combine=lambda self, children, x: x)(GRAPH, FEAT, engine=engine)


@each_engine
def test_state_names_that_do_not_match(engine):
    with raises("expected Mine.start to return a tuple (h, c) of tensors of shape (num_nodes, "):
        changed(state_names=("h", "c"))(GRAPH, FEAT, engine=engine)
    for names in (("h", "x"), ("h", "leaf"), ("h", "slot")):
        with raises("expected Mine.state_names to differ from the names of its inputs, got "):
            changed(state_names=names)(GRAPH, FEAT, engine=engine)
    with raises("expected Mine.input_names to be a tuple of different names, 'x' first, got ()"):
        changed(input_names=())(GRAPH, FEAT, engine=engine)
    with raises("expected Mine.edge_names to be a tuple of different names, got 'kind'"):
        changed(edge_names="kind")(GRAPH, FEAT, engine=engine)


@each_engine
def test_slots_of_another_name(engine):
    class Other(cells.NaryTreeLSTM):
        slot_name = "position"

    cell, other, graph = Other(3, 4), cells.NaryTreeLSTM(3, 4), GRAPH.clone()
    other.load_state_dict(cell.state_dict())
    graph.edata["child_index"] = torch.tensor([1, 0, 0, 1, 1, 0])
    expected = other(graph, FEAT)
    graph.edata["position"] = graph.edata.pop("child_index")
    torch.testing.assert_close(cell(graph, FEAT, engine=engine), expected)


@each_engine
def test_inputs_besides_the_features(engine):
    names = {"input_names": ("x", "depth")}
    expected = "expected Mine.extra_inputs to return tensors of 7 rows for ('depth',), "
    others = (None, [torch.zeros(7, 1)], {"depth": None}, {"depth": torch.tensor(7)})
    for extra in ({}, {"height": torch.zeros(7, 1)}, {"depth": torch.zeros(6, 1)}, *others):
        cell = changed(**names, extra_inputs=lambda self, graph, device, extra=extra: extra)
        with raises(expected):
            cell(GRAPH, FEAT, engine=engine)


@each_engine
def test_a_combine_that_needs_two_children(engine):
    graph = dgl.graph(([1, 2, 3], [0, 0, 1]))  # node 1 has one child

    def combine(self, children, x):
        left, right = children[0].unbind(1)
        return (torch.tanh(x + self.U(left - right)),)

    cell = changed(combine=combine)
    cell(GRAPH, FEAT, engine=engine)
    message = "Mine.combine failed on children, a tuple of h, of shapes [(1, 1, 4)], that is "
    with raises(message) as caught:
        cell(graph, FEAT[:4], engine=engine)
    end = "in a SlottedCell always num_slots; x of shape (1, 4): not enough values to unpack"
    assert end in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)


@each_engine
def test_methods_that_take_tensors_for_something_else(engine):
    with raises("Mine.start failed on x of shape (") as caught:
        changed(start=lambda self, x: (x @ torch.ones(5, 4),))(GRAPH, FEAT, engine=engine)
    assert "cannot be multiplied" in str(caught.value)
    with raises("Mine.combine failed on children, a tuple of h, of shapes ["):
        changed(combine=lambda self, children, x: children.sum(1))(GRAPH, FEAT, engine=engine)
    with raises("Mine.project failed on feat of shape ("):
        changed(project=lambda self, feat: feat.view(5, 5))(GRAPH, FEAT, engine=engine)


@each_engine
def test_other_errors_of_combine_pass_unchanged(engine):
    class Mine(RuntimeError):
        """Errors such as a lack of memory pass unchanged."""

    def combine(self, children, x):
        raise error

    for error in (Mine("trouble"), KeyError("trouble"), CellError("trouble")):
        with pytest.raises(type(error)) as caught:
            changed(combine=combine)(GRAPH, FEAT, engine=engine)
        assert caught.value is error


def test_checks_are_few():
    """The number of checks does not depend on the number of nodes: there is one per level."""
    cell, calls = Own(), []
    cell.register_forward_hook(lambda *_: None)  # a traced cell does not call combine
    check, counted = base.check_state, lambda *args: calls.append(1) or check(*args)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "check_state", counted)
        cell(bottom_up(perfect_shape(6)).graph(), torch.randn(127, 3))
    assert len(calls) == 7


# Arguments of a cell


class DataBatch:
    """A graph like that of PyTorch Geometric."""

    x = FEAT
    edge_index = torch.stack(GRAPH.edges())
    num_nodes = 7


def networkx_graph():
    networkx = pytest.importorskip("networkx")
    return networkx.DiGraph([(1, 0), (2, 0)])


GIVEN = {
    "DataBatch: convert it with dgl.graph(tuple(data.edge_index), num_nodes=data.num_nodes)": (
        DataBatch
    ),
    "DiGraph: convert it with dgl.from_networkx(graph)": networkx_graph,
    "Tensor: build one with dgl.graph((sources, targets), num_nodes=n)": lambda: FEAT,
    "tuple: build one with dgl.graph((sources, targets), num_nodes=n)": lambda: ([1], [0]),
    "NoneType: build one with dgl.graph(": lambda: None,
}


@each_engine
@pytest.mark.parametrize("got", GIVEN)
def test_graphs_of_other_libraries(got, engine):
    given = GIVEN[got]()
    for cell in (Own(), cells.NaryTreeLSTM(3, 4), cells.BiTreeLSTM(3, 4)):
        with raises(f"expected a DGLGraph, got {got}"):
            cell(given, FEAT, engine=engine)
    with raises(f"expected a DGLGraph, got {got}"):
        Own().node_inputs(given, FEAT)


def test_conversions_from_other_libraries():
    """The conversions that the messages name work."""
    expected = Own()
    h = expected(GRAPH, FEAT)
    data = DataBatch()
    torch.testing.assert_close(
        expected(dgl.graph(tuple(data.edge_index), num_nodes=data.num_nodes), FEAT), h
    )
    graph = pytest.importorskip("networkx").DiGraph()
    graph.add_nodes_from(range(7))
    graph.add_edges_from(zip(*(part.tolist() for part in GRAPH.edges()), strict=True))
    torch.testing.assert_close(expected(dgl.from_networkx(graph), FEAT), h)


@each_engine
def test_heterographs(engine):
    ends = GRAPH.edges()
    graph = dgl.heterograph({("a", "child", "a"): ends, ("a", "next", "a"): ([3, 4], [4, 5])})
    cell = cells.ChildSumTreeLSTM(3, 4)
    with raises(
        "expected a homogeneous graph, got node types ['a'] and edge types ['child', 'next']: "
        "select the edges of one type, such as graph['child']"
    ):
        cell(graph, FEAT, engine=engine)
    torch.testing.assert_close(
        cell(graph["child"], FEAT, engine=engine), cell(GRAPH, FEAT, engine=engine)
    )
    with raises(
        "expected a homogeneous graph, got a block, whose sources and targets are different nodes: "
        "pass the graph from which it was made"
    ):
        cell(dgl.to_block(GRAPH), FEAT, engine=engine)


@each_engine
@pytest.mark.filterwarnings("ignore:.*nested tensors is in prototype stage:UserWarning")
def test_features_elsewhere_or_sparse(engine):
    cell = cells.ChildSumTreeLSTM(3, 4)
    with raises("expected feat on the parameters' cpu, got meta"):
        cell(GRAPH, FEAT.to("meta"), engine=engine)
    with raises("expected a dense feat, got one of torch.sparse_coo"):
        cell(GRAPH, FEAT.to_sparse(), engine=engine)
    for layout in (torch.strided, torch.jagged):
        with raises("expected a dense feat, got a nested one"):
            cell(GRAPH, torch.nested.nested_tensor([*FEAT.split(3)], layout=layout), engine=engine)
    with raises("expected feat to be a tensor or IndexedFeat, got ndarray"):
        cell(GRAPH, FEAT.numpy(), engine=engine)
    with raises("expected the index of feat to be a tensor, got a list of 2: a int, a int"):
        cell(GRAPH, cells.IndexedFeat(FEAT, [0, 1]), engine=engine)


@each_engine
def test_index_of_features_that_does_not_fit(engine):
    cell, index = cells.ChildSumTreeLSTM(3, 4), torch.arange(7)
    expected = "expected the index of feat of shape (num_nodes,) = (7,) and int64 on the cpu, got "
    for wrong, got in (
        (index[:6], "(6,) and torch.int64 on the cpu"),
        (index.int(), "(7,) and torch.int32 on the cpu"),
        (index.to("meta"), "(7,) and torch.int64 on the meta"),
    ):
        with raises(expected + got):
            cell(GRAPH, cells.IndexedFeat(FEAT, wrong), engine=engine)
    for wrong, got in ((index - 2, "-2 to 4"), (index + 1, "1 to 7")):
        with raises(f"expected the index of feat from -1 (no row) to 6, got {got}"):
            cell(GRAPH, cells.IndexedFeat(FEAT, wrong), engine=engine)


@each_engine
def test_initial_states_of_another_kind(engine):
    cell, state = cells.ChildSumTreeLSTM(3, 4), torch.zeros(7, 4)
    with raises("expected initial_state to be (h, c), got a dict"):
        cell(GRAPH, FEAT, {"h": state, "c": state}, engine=engine)
    with raises("expected c of initial_state to be a tensor, got None"):
        cell(GRAPH, FEAT, (state, None), engine=engine)
    with raises("expected h of initial_state to be a tensor, got a ndarray"):
        cell(GRAPH, FEAT, (state.numpy(), state), engine=engine)
    with raises("expected h of initial_state on cpu, got meta"):
        cell(GRAPH, FEAT, (state.to("meta"), state), engine=engine)


def test_sizes_that_are_not_integers():
    for size in (3.0, "3", None, True):
        with raises(f"expected in_feats to be an integer, got {size!r}"):
            cells.ChildSumTreeLSTM(size, 4)


@each_engine
def test_a_graph_without_nodes(engine):
    empty = dgl.graph(([], []))
    for cell in (Own(), cells.NaryTreeLSTM(3, 4), cells.ChildSumTreeGRU(3, 4)):
        for feat in (torch.zeros(0, 3), cells.IndexedFeat(FEAT, torch.empty(0, dtype=torch.int64))):
            h = cell(empty, feat, engine=engine)
            assert h.shape == (0, 4)
            assert h.dtype == torch.float32
