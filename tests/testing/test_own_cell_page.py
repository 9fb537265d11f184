"""docs/own_cell.md: its code runs as typed, outside the package, and computes what it says."""

from __future__ import annotations

import ast
import importlib.util
import re
import runpy
import subprocess
import sys

import pytest
import torch

from graphsent._dgl import dgl
from graphsent.cells import AttentiveTreeLSTM, NaryTreeLSTM, TreeCell
from graphsent.testing import check_cell, example_graphs

MOST_LINES = 15
SIZES = (3, 4)
EDGES = ([1, 0, 1, 2, 3], [2, 2, 3, 4, 4])


@pytest.fixture(scope="module")
def files(tmp_path_factory, repository):
    """A directory with the page's code in the named files."""
    text = (repository / "docs" / "own_cell.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    *cells, run, tests = blocks
    directory = tmp_path_factory.mktemp("page")
    (directory / "my_cells.py").write_text("\n\n".join(cells))
    (directory / "run.py").write_text(run)
    (directory / "test_my_cells.py").write_text(tests)
    return directory


@pytest.fixture(scope="module")
def cells(files):
    spec = importlib.util.spec_from_file_location("my_cells", files / "my_cells.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def definitions(source: str) -> dict[str, tuple[str, int]]:
    """Source of each class and function, and its lines without blank lines and docstrings."""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            segment = ast.get_source_segment(source, node)
            doc = ast.get_source_segment(source, node.body[0])
            lines = [line for line in segment.replace(doc, "", 1).split("\n") if line.strip()]
            found[node.name] = (segment, len(lines))
    return found


def test_the_code_runs(files, cells, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "my_cells", cells)
    runpy.run_path(str(files / "run.py"))
    assert capsys.readouterr().out.startswith(("compiled: ", "traced: ", "levels: "))


def test_its_tests_pass(files):
    options = ["-q", "-p", "no:cacheprovider", "-k", "gated_sum or batch_equals or numbering"]
    command = [sys.executable, "-m", "pytest", *options, "test_my_cells.py"]
    done = subprocess.run(command, cwd=files, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout


def test_the_cells_are_short_and_those_of_the_benchmark(files, repository):
    ours = definitions((files / "my_cells.py").read_text())
    benchmark = repository / "benchmarks" / "users_cells.py"
    theirs = definitions(benchmark.read_text(encoding="utf-8"))
    others = {"EdgeGates", "Formula", "Regularized", "Relations", "Scaled", "TensorNetwork"}
    others |= {"WeightedSum", "with_edge_nodes"}
    assert ours.keys() == {"lstm", "Nary", "Attentive", "GatedSum", *others}
    for name in ours.keys() - others:
        assert theirs[name][0] == ours[name][0]
    for name, (_, num_lines) in theirs.items():
        assert num_lines <= MOST_LINES, name


@pytest.mark.parametrize("engine", ["levels", "dgl"])
@pytest.mark.parametrize(
    ("mine", "built_in"), [("Nary", NaryTreeLSTM), ("Attentive", AttentiveTreeLSTM)]
)
def test_they_compute_what_the_built_in_cells_do(cells, mine, built_in, engine):
    expected, cell = built_in(*SIZES).double(), getattr(cells, mine)(*SIZES).double()
    names = {
        name.removeprefix("attention."): value for name, value in expected.state_dict().items()
    }
    cell.load_state_dict(names)
    for name, graph in example_graphs(max_children=2).items():
        feat = torch.randn(graph.num_nodes(), SIZES[0], dtype=torch.float64)
        for found, known in zip(
            cell(graph, feat, return_cell=True, engine=engine),
            expected(graph, feat, return_cell=True),
            strict=True,
        ):
            torch.testing.assert_close(found, known, rtol=0, atol=1e-12, msg=name)


@pytest.mark.parametrize("engine", ["levels", "dgl"])
@pytest.mark.parametrize("name", ["GatedSum", "Regularized"])
def test_the_gated_sum_is_that_of_the_paper(cells, name, engine):
    cell = getattr(cells, name)(*SIZES).double()
    for graph in example_graphs().values():
        feat = torch.randn(graph.num_nodes(), SIZES[0], dtype=torch.float64)
        known: dict[int, torch.Tensor] = {}
        masks = torch.ones(graph.num_nodes(), SIZES[1], dtype=torch.float64)
        if name == "Regularized":
            torch.manual_seed(1)
            masks = cell.extra_inputs(graph, torch.device("cpu"))["mask"].double()

        def state(node, graph=graph, feat=feat, known=known, masks=masks):
            if node not in known:
                total = torch.zeros(SIZES[1], dtype=torch.float64)
                for before in graph.predecessors(node).tolist():
                    h = state(before)
                    total = total + torch.sigmoid(cell.gate(h)) * cell.map(h)
                known[node] = cell.gru(feat[node], masks[node] * total)
            return known[node]

        expected = torch.stack([state(node) for node in range(graph.num_nodes())])
        torch.manual_seed(1)
        torch.testing.assert_close(cell(graph, feat, engine=engine), expected, rtol=0, atol=1e-12)
        assert graph.num_edges() == 0 or cell.explain(graph).way in ("compiled", "traced")


def test_dropout_of_states_is_that_of_training(cells):
    cell, graph = cells.Regularized(*SIZES, dropout=0.5), example_graphs()["star"]
    mask = cell.extra_inputs(graph, torch.device("cpu"))["mask"]
    assert set(mask.unique().tolist()) == {0.0, 2.0}
    assert (cell.eval().extra_inputs(graph, torch.device("cpu"))["mask"] == 1).all()
    check_cell(lambda *sizes: cells.Regularized(*sizes).eval())


@pytest.mark.parametrize("engine", ["levels", "dgl"])
def test_the_tensor_network_is_that_of_the_paper(cells, engine):
    cell = cells.TensorNetwork(*SIZES).double()
    graph = dgl.graph(([0, 1, 2, 3, 5], [2, 2, 4, 4, 6]))  # a tree, and one with an only child
    graph.edata["child_index"] = torch.tensor([0, 1, 1, 0, 1])
    feat, zeros = torch.randn(7, SIZES[0], dtype=torch.float64), torch.zeros(SIZES[1]).double()
    with torch.no_grad():
        h = {node: torch.tanh(cell.words(feat[node])) for node in (0, 1, 3, 5)}
        for node, left, right in ((2, h[0], h[1]), (4, h[3], None), (6, zeros, h[5])):
            pair = torch.cat((left, h[2] if right is None else right))
            tensor = torch.stack([pair @ each @ pair for each in cell.V.weight])
            h[node] = torch.tanh(tensor + cell.W.weight @ pair)
        found = cell(graph, feat, engine=engine)
    expected = torch.stack([h[node] for node in range(7)])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    assert cell.explain(graph).way in ("compiled", "traced")


@pytest.mark.parametrize("engine", ["levels", "dgl"])
def test_formulas_have_their_values(cells, engine):
    graph = dgl.graph(([0, 1, 2, 3], [2, 2, 4, 4]))  # 2 * 3 + 4
    graph.edata["child_index"] = torch.tensor([0, 1, 0, 1])
    graph.ndata["is_product"] = torch.tensor([0, 0, 1, 0, 0])
    cell, numbers = cells.Formula(1, 1, num_slots=2), torch.tensor([2.0, 3.0, 0.0, 4.0, 0.0])
    values = cell(graph, numbers[:, None], engine=engine)
    assert values[:, 0].tolist() == [2, 3, 6, 4, 10]
    assert cell.explain(graph).way in ("compiled", "traced")


@pytest.mark.parametrize("engine", ["levels", "dgl"])
def test_an_argument_of_each_call(cells, engine):
    cell, plain = cells.Scaled(*SIZES).double(), cells.GatedSum(*SIZES).double()
    plain.load_state_dict(cell.state_dict())
    graph, feat = dgl.graph(EDGES), torch.randn(5, SIZES[0], dtype=torch.float64)
    scale = torch.randn(5, 1, dtype=torch.float64, requires_grad=True)
    found, expected = cell(graph, feat, scale, engine=engine), plain(graph, feat * scale)
    gradients = [torch.autograd.grad(h.square().sum(), scale) for h in (found, expected)]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-12)
    assert cell.explain(graph, scale=scale).way in ("compiled", "traced")


@pytest.mark.parametrize("engine", ["levels", "dgl"])
def test_each_type_of_edges_has_its_matrix(cells, engine):
    cell, graph = cells.Relations(*SIZES).double(), dgl.graph(EDGES)
    graph.edata["child_index"] = torch.tensor([1, 0, 1, 0, 1])
    graph.edata["kind"] = torch.tensor([0, 1, 1, 1, 0])
    x = cell.W(feat := torch.randn(5, SIZES[0], dtype=torch.float64))
    h = [torch.tanh(x[0]), torch.tanh(x[1])]
    h.append(torch.tanh(x[2] + cell.U(h[1]) + cell.V(h[0])))
    h.append(torch.tanh(x[3] + cell.V(h[1])))
    h.append(torch.tanh(x[4] + cell.V(h[2]) + cell.U(h[3])))
    found = cell(graph, feat, engine=engine)
    torch.testing.assert_close(found, torch.stack(h), rtol=0, atol=1e-12)
    assert cell.explain(graph).way in ("compiled", "traced")


@pytest.mark.parametrize("engine", ["levels", "dgl"])
def test_nodes_on_edges(cells, engine):
    cell = cells.EdgeGates(*SIZES).double()
    graph = dgl.graph(EDGES, num_nodes=6)  # node 5 is isolated
    node_feat, edge_feat = torch.randn(11, SIZES[0], dtype=torch.float64).split([6, 5])
    zeros = torch.zeros(SIZES[1]).double()

    def gated(edge, h):
        return torch.sigmoid(cell.W(edge_feat[edge]) + cell.gate(h)) * h

    def gru(node, *messages):
        return cell.gru(cell.W(node_feat[node]), sum(messages, zeros))

    h = [gru(0), gru(1)]
    h.append(gru(2, gated(0, h[1]), gated(1, h[0])))
    h.append(gru(3, gated(2, h[1])))
    h.append(gru(4, gated(3, h[2]), gated(4, h[3])))
    h.append(gru(5))
    subdivided = cells.with_edge_nodes(graph)
    found = cell(subdivided, torch.cat([node_feat, edge_feat]), engine=engine)
    torch.testing.assert_close(found[:6], torch.stack(h), rtol=0, atol=1e-12)
    assert cell.explain(subdivided).way in ("compiled", "traced")


@pytest.mark.parametrize("engine", ["levels", "dgl"])
def test_messages_with_the_data_of_edges(cells, engine):
    cell, graph = cells.WeightedSum(*SIZES).double(), dgl.graph(EDGES)
    weight = graph.edata["weight"] = torch.randn(5, 1, dtype=torch.float64)
    feat, zeros = torch.randn(5, SIZES[0], dtype=torch.float64), torch.zeros(SIZES[1]).double()

    def gru(node, *messages):
        gated = [torch.sigmoid(cell.gate(h)) * cell.map(h) for h in messages]
        return cell.gru(feat[node], sum(gated, zeros))

    h = [gru(0), gru(1)]
    h.append(gru(2, weight[0] * h[1], weight[1] * h[0]))
    h.append(gru(3, weight[2] * h[1]))
    h.append(gru(4, weight[3] * h[2], weight[4] * h[3]))
    found = cell(graph, feat, engine=engine)
    torch.testing.assert_close(found, torch.stack(h), rtol=0, atol=1e-12)
    assert cell.explain(graph).way == "functions"


class ByNames(TreeCell):
    """A cell that names the arguments of torch's functions."""

    state_names = ("h",)

    def project(self, feat):
        return feat

    def start(self, x):
        return (x,)

    def combine(self, children, x):
        (h,) = children
        return ((torch.softmax(input=h, dim=1) * h).sum(dim=1),)


def test_arguments_by_name_are_compiled():
    graph = dgl.graph(([0, 1, 2, 3, 4], [3, 3, 3, 5, 5]))
    cell, feat = ByNames(3, 3), torch.randn(6, 3)
    assert cell.explain(graph).way in ("compiled", "traced")
    torch.testing.assert_close(cell(graph, feat), cell(graph, feat, engine="dgl"))


def test_a_cell_without_parameters_that_reads_node_data(cells):
    graphs = {name: graph for name, graph in example_graphs(2).items() if name != "chain"}
    for graph in graphs.values():
        graph.ndata["is_product"] = torch.arange(graph.num_nodes()) % 2
    check_cell(lambda *sizes: cells.Formula(*sizes, 2), graphs=graphs, sizes=(4, 4))
