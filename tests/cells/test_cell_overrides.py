"""What users override in a cell is what runs, on every engine."""

import pytest
import torch
from cell_contract import HIDDEN_FEATS, IN_FEATS, cells_where, each_cell
from cell_structures import bottom_up, join
from strategies import chain_shape, perfect_shape
from torch import nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from torch.nn.utils import parametrize, prune

from graphsent import cells
from graphsent.cells.errors import CellError

ENGINES = ["levels", "dgl"]
STRUCTURE = join([bottom_up(shape) for shape in (chain_shape(4), chain_shape(0), perfect_shape(2))])
KINDS = [cells.NaryTreeLSTM, cells.ChildSumTreeLSTM, cells.ChildSumTreeGRU, cells.RecursiveCell]
each_kind = pytest.mark.parametrize("kind", KINDS)


def built(kind):
    cell = kind(IN_FEATS, HIDDEN_FEATS).double()
    for parameter in cell.parameters():
        nn.init.uniform_(parameter, -0.9, 0.9)
    return cell


def outputs(cell):
    """States and gradients of inputs and parameters, which must agree on all engines."""
    found = []
    for engine in ENGINES:
        torch.manual_seed(0)
        feat = torch.randn(STRUCTURE.num_nodes, IN_FEATS, dtype=torch.float64, requires_grad=True)
        h = cell(STRUCTURE.graph(), feat, engine=engine)
        targets = [feat, *cell.parameters()]
        grads = torch.autograd.grad(
            (h * torch.randn_like(h)).sum(), targets, allow_unused=True, materialize_grads=True
        )
        found.append((h, *grads))
    for first, second in zip(*found, strict=True):
        torch.testing.assert_close(first, second, rtol=0, atol=1e-10)
    return found[0][0].detach()


def halved(state):
    return tuple(0.5 * part for part in state)


def assert_inner_nodes_alone_differ(cell, plain):
    leaves, h, before = STRUCTURE.leaves, outputs(cell), outputs(plain)
    torch.testing.assert_close(h[leaves], before[leaves])
    assert (h[~leaves] - before[~leaves]).abs().amax(1).gt(1e-6).all()


def subclass(kind, **methods):
    """A subclass, and an instance of the class with the weights of an instance of the subclass."""
    changed = built(type("Changed", (kind,), methods))
    plain = kind(IN_FEATS, HIDDEN_FEATS).double()
    plain.load_state_dict(changed.state_dict())
    return changed, plain


@each_kind
def test_another_combine(kind):
    def combine(self, children, *inputs):
        return halved(kind.combine(self, children, *inputs))

    assert_inner_nodes_alone_differ(*subclass(kind, combine=combine))


@each_kind
def test_another_reduce_function(kind):
    def reduce_func(self, nodes):
        return {name: 0.5 * part for name, part in kind.reduce_func(self, nodes).items()}

    assert_inner_nodes_alone_differ(*subclass(kind, reduce_func=reduce_func))


@each_kind
def test_another_message_function(kind):
    def message_func(self, edges):
        messages = kind.message_func(self, edges)
        return {**messages, "h": 0.5 * messages["h"]}

    assert_inner_nodes_alone_differ(*subclass(kind, message_func=message_func))


class Edges(cells.ChildSumTreeLSTM):
    """A Tree-LSTM over the states of children times a number on the edge."""

    def message_func(self, edges):
        return {name: edges.src[name] * edges.data["weight"] for name in self.state_names}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_message_function_that_reads_edge_data(engine):
    graph, cell = STRUCTURE.graph(), built(Edges)
    feat = torch.randn(STRUCTURE.num_nodes, IN_FEATS, dtype=torch.float64)
    with pytest.raises(KeyError, match="weight"):
        cell(graph, feat, engine=engine)
    graph.edata["weight"] = torch.ones(graph.num_edges(), 1, dtype=torch.float64)
    with pytest.raises(CellError, match=r"Edges read edge data 'weight', .* edge_names, \(\)"):
        cell(graph, feat, engine=engine)
    cell.edge_names = ("weight",)
    plain = cells.ChildSumTreeLSTM(IN_FEATS, HIDDEN_FEATS).double()
    plain.load_state_dict(cell.state_dict())
    torch.testing.assert_close(cell(graph, feat, engine=engine), plain(graph, feat))


class SlottedEdges(cells.NaryTreeLSTM):
    """A Tree-LSTM over the states of ordered children times a number on the edge."""

    edge_names = ("weight",)

    def message_func(self, edges):
        messages = super().message_func(edges)
        return {**messages, "h": messages["h"] * edges.data["weight"][:, None]}


@pytest.mark.parametrize("names", [("weight",), ("child_index", "weight")], ids=str)
@pytest.mark.parametrize("engine", ENGINES)
def test_edge_data_of_a_cell_with_slots_are_no_slots(engine, names):
    """The children of a node keep their slots, whichever edge data the message function reads."""
    graph, cell = STRUCTURE.graph(), built(SlottedEdges)
    cell.edge_names = names
    feat = torch.randn(STRUCTURE.num_nodes, IN_FEATS, dtype=torch.float64)
    graph.edata["weight"] = torch.ones(graph.num_edges(), dtype=torch.float64)
    plain = cells.NaryTreeLSTM(IN_FEATS, HIDDEN_FEATS).double()
    plain.load_state_dict(cell.state_dict())
    torch.testing.assert_close(cell(graph, feat, engine=engine), plain(graph, feat))


@pytest.mark.parametrize("engine", ENGINES)
def test_edge_data_that_the_graph_does_not_have(engine):
    cell, graph = built(SlottedEdges), STRUCTURE.graph()
    feat = torch.randn(STRUCTURE.num_nodes, IN_FEATS, dtype=torch.float64)
    message = "SlottedEdges reads edge data 'weight', which the graph does not have"
    with pytest.raises(CellError, match=message):
        cell(graph, feat, engine=engine)


class OtherMessages(cells.ChildSumTreeGRU):
    """A cell whose messages have a name that its reduce function does not know."""

    def message_func(self, edges):
        return {"m": edges.src["h"]}


@pytest.mark.parametrize("engine", ENGINES)
def test_messages_of_another_name(engine):
    feat = torch.randn(STRUCTURE.num_nodes, IN_FEATS, dtype=torch.float64)
    message = r"expected OtherMessages.message_func to return messages \['h'\], got \['m'\]"
    with pytest.raises(CellError, match=message):
        built(OtherMessages)(STRUCTURE.graph(), feat, engine=engine)


class MappedMessages(cells.TreeCell):
    """The sum of the children's states, each of which the message function maps by a matrix."""

    state_names = ("h",)

    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats)
        self.map = nn.Linear(hidden_feats, hidden_feats)

    def project(self, feat):
        return feat

    def start(self, x):
        return (x,)

    def message_func(self, edges):
        return {"h": self.map(edges.src["h"])}

    def combine(self, children, x):
        return (torch.tanh(x + children[0].sum(1)),)


@pytest.mark.parametrize("engine", ENGINES)
def test_messages_of_lower_precision_under_autocast(engine):
    """States keep the dtype of the inputs, whichever one autocast gives to the messages."""
    cell, graph = MappedMessages(IN_FEATS, IN_FEATS), STRUCTURE.graph()
    feat = torch.randn(STRUCTURE.num_nodes, IN_FEATS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        h = cell(graph, feat, engine=engine)
    assert h.dtype == torch.float32
    torch.testing.assert_close(h, cell(graph, feat), rtol=0, atol=0.1)
    h.sum().backward()
    assert cell.map.weight.grad.abs().sum() > 0


@each_kind
def test_another_apply_function(kind):
    def apply_node_func(self, nodes):
        state = kind.apply_node_func(self, nodes)
        return {**state, "h": state["h"] + 1}

    changed, plain = subclass(kind, apply_node_func=apply_node_func)
    leaves = STRUCTURE.leaves
    torch.testing.assert_close(outputs(changed)[leaves], outputs(plain)[leaves] + 1)


@each_kind
def test_another_start(kind):
    def start(self, *inputs):
        return halved(kind.start(self, *inputs))

    changed, plain = subclass(kind, start=start)
    leaves = STRUCTURE.leaves
    torch.testing.assert_close(outputs(changed)[leaves], 0.5 * outputs(plain)[leaves])


@each_kind
def test_another_projection(kind):
    def project(self, feat):
        return kind.project(self, 2 * feat + 1)

    changed, plain = subclass(kind, project=project)
    assert (outputs(changed) - outputs(plain)).abs().amax(1).gt(1e-6).all()


@each_kind
def test_another_combine_and_another_reduce_function(kind):
    def combine(self, children, *inputs):
        return halved(kind.combine(self, children, *inputs))

    def reduce_func(self, nodes):
        return {name: part + 1 for name, part in kind.reduce_func(self, nodes).items()}

    changed, plain = subclass(kind, combine=combine, reduce_func=reduce_func)
    assert_inner_nodes_alone_differ(changed, plain)


@each_kind
def test_another_order_of_children(kind):
    def arrange(self, messages, slots=None):
        return tuple(part.flip(-1) for part in kind.arrange(self, messages, slots))

    assert_inner_nodes_alone_differ(*subclass(kind, arrange=arrange))


@each_kind
def test_other_node_data(kind):
    def prepare(self, *args, **extra):
        inputs = kind.prepare(self, *args, **extra)
        return {**inputs, "x": inputs["x"] + 1}

    changed, plain = subclass(kind, prepare=prepare)
    assert (outputs(changed) - outputs(plain)).abs().amax(1).gt(1e-6).all()


@each_kind
def test_functions_set_on_an_instance(kind):
    cell, plain = subclass(kind)
    cell.combine = lambda children, *inputs: halved(kind.combine(cell, children, *inputs))
    assert_inner_nodes_alone_differ(cell, plain)
    del cell.combine
    cell.reduce_func = lambda nodes: {
        name: 0.5 * part for name, part in kind.reduce_func(cell, nodes).items()
    }
    assert_inner_nodes_alone_differ(cell, plain)


class Doubled(nn.Linear):
    def forward(self, rows):
        return 2 * super().forward(rows)


@each_kind
@pytest.mark.parametrize("how", ["subclass", "hook", "function"])
def test_another_map_of_states(kind, how):
    cell, plain = subclass(kind)
    linear = cell.U
    if how == "hook":
        linear.register_forward_hook(lambda module, args, output: 2 * output)
    elif how == "function":
        linear.forward = lambda rows: 2 * nn.Linear.forward(linear, rows)
    else:
        cell.U = Doubled(linear.in_features, linear.out_features, linear.bias is not None).double()
        cell.U.load_state_dict(linear.state_dict())
    assert_inner_nodes_alone_differ(cell, plain)


@each_kind
def test_hooks_of_the_cell_itself_run(kind):
    cell, plain = subclass(kind)
    cell.register_forward_hook(lambda module, args, output: output + 1)
    torch.testing.assert_close(outputs(cell), outputs(plain) + 1)


@cells_where(lambda row: row.initial and not row.name.startswith("bi_"))
def test_every_cell_runs_the_combine_of_a_subclass(row):
    structure = row.small_structure()
    cell = row.cell()
    calls = []

    def combine(self, children, *inputs):
        calls.append(len(children[0]))
        return halved(type(cell).combine(cell, children, *inputs))

    changed = row.cell()
    changed.__class__ = type("Changed", (type(cell),), {"combine": combine})
    feat = torch.randn(structure.num_nodes, IN_FEATS, dtype=torch.float64)
    arguments = row.arguments(structure)
    cell.load_state_dict(changed.state_dict())
    found = []
    for engine in ENGINES:
        calls.clear()
        found.append(changed(structure.graph(), feat, engine=engine, **arguments))
        assert sum(calls) == (~structure.leaves).sum()
    torch.testing.assert_close(*found, rtol=0, atol=1e-10)


class Shifted(nn.Module):
    """A parametrization."""

    def forward(self, values):
        return values + 1


@pytest.mark.parametrize("options", [{}, {"leaf_peephole": True}, {"lexicalized": False}], ids=str)
@pytest.mark.parametrize("how", ["pruned", "parametrized", "hook"])
def test_the_bias_of_a_changed_map_of_states(how, options):
    """Leaves have no children, but still the bias of the state map."""
    structure = join([bottom_up(shape) for shape in (perfect_shape(2), chain_shape(0))])
    cell = cells.LexicalizedTreeLSTM(IN_FEATS, HIDDEN_FEATS, **options).double()
    plain = cells.LexicalizedTreeLSTM(IN_FEATS, HIDDEN_FEATS, **options).double()
    plain.load_state_dict(cell.state_dict())
    if how == "pruned":
        prune.l1_unstructured(cell.U, "bias", 0.5)
    elif how == "parametrized":
        parametrize.register_parametrization(cell.U, "bias", Shifted())
    else:
        cell.U.register_forward_hook(lambda module, args, output: output + 1)
    feat = torch.randn(structure.num_nodes, IN_FEATS, dtype=torch.float64)
    for _ in range(3):  # as in training
        with torch.no_grad():
            if how == "pruned":
                bias = cell.U.bias_orig * cell.U.bias_mask
            elif how == "parametrized":
                bias = cell.U.parametrizations.bias.original + 1
            else:
                bias = cell.U.bias + 1
            plain.U.bias.copy_(bias)
            plain.U.weight.copy_(cell.U.weight)
        expected = plain(structure.graph(), feat)
        for engine in ENGINES:
            h = cell(structure.graph(), feat, engine=engine)
            torch.testing.assert_close(h, expected, rtol=0, atol=1e-10)
            h.sum().backward()
        with torch.no_grad():
            for parameter in cell.U.parameters():
                parameter += 0.5


GLOBAL_HOOKS = {
    "forward": (register_module_forward_hook, lambda module, args, output: None),
    "forward_pre": (register_module_forward_pre_hook, lambda module, args: None),
    "backward": (register_module_full_backward_hook, lambda module, into, out: None),
    "backward_pre": (register_module_full_backward_pre_hook, lambda module, out: None),
}


# Torch warns so about modules with constant inputs, such as the missing children of leaves.
@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
@pytest.mark.parametrize("name", GLOBAL_HOOKS)
@each_cell
def test_hooks_of_all_modules(row, name):
    """The hooks see the same maps on every engine."""
    register, nothing = GLOBAL_HOOKS[name]
    structure, cell = row.small_structure(), row.cell()
    maps = {module: name for name, module in cell.named_modules() if type(module) is nn.Linear}
    feat = torch.randn(structure.num_nodes, IN_FEATS, dtype=torch.float64, requires_grad=True)
    arguments, seen = row.arguments(structure), []

    def hook(module, *given):
        called.add(maps.get(module))
        return nothing(module, *given)

    handle = register(hook)
    try:
        for engine in ENGINES:
            called = set()
            cell(structure.graph(), feat, engine=engine, **arguments).square().sum().backward()
            seen.append(called - {None})
    finally:
        handle.remove()
    assert seen[0] == seen[1]
    assert seen[0]


def test_changes_by_a_hook_of_all_modules():
    cell = built(cells.ChildSumTreeLSTM)
    before = outputs(cell)
    handle = register_module_forward_hook(
        lambda module, args, output: 2 * output if type(module) is nn.Linear else None
    )
    try:
        after = outputs(cell)
    finally:
        handle.remove()
    assert (after - before).abs().amax(1).gt(1e-6).all()
    assert torch.equal(outputs(cell), before)
