"""The drop-in against ``dgl.prop_nodes_topo``: many functions on random graphs."""

from __future__ import annotations

import re
import warnings

import pytest
import torch
from function_zoo import BUILTIN_MESSAGES, USER_DEFINED, Functions, random_graph, with_data
from on_gpu import needs_gpu
from torch.nn import functional

from graphsent._dgl import dgl
from graphsent.propagation import PropagationError, prop_nodes_topo
from graphsent.propagation.topological.prop_nodes_topo import prop_nodes_topo_of_dgl

fn = dgl.function


def results(run, graph, module, functions, reverse):
    """Node data after a run, and the gradients of a loss over all of them."""
    graph = graph.local_var()
    leaves = {}
    for data in (graph.ndata, graph.edata):
        for name, values in list(data.items()):
            if values.is_floating_point():
                leaves[name] = data[name] = values.clone().requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(graph, *functions[:2], reverse, functions[2])
    after = dict(graph.ndata)
    weights = torch.Generator().manual_seed(0)
    loss = sum(
        (values * torch.randn(values.shape, generator=weights, dtype=torch.float64)).sum()
        for name, values in sorted(after.items())
        if values.is_floating_point()
    )
    wanted = [*leaves.values(), *module.parameters()]
    gradients = torch.autograd.grad(loss, wanted, allow_unused=True)
    return {name: values.detach() for name, values in after.items()}, gradients


def check_same_values(graph, module, functions, reverse=False):
    ours, theirs = graph.local_var(), graph.local_var()
    prop_nodes_topo(ours, *functions[:2], reverse, functions[2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dgl.prop_nodes_topo(theirs, *functions[:2], reverse, functions[2])
    assert ours.ndata.keys() == theirs.ndata.keys()
    for name, values in theirs.ndata.items():
        torch.testing.assert_close(ours.ndata[name], values, rtol=1e-10, atol=1e-10, equal_nan=True)


def check_same(graph, module, functions, reverse=False):
    theirs, their_gradients = results(dgl.prop_nodes_topo, graph, module, functions, reverse)
    ours, our_gradients = results(prop_nodes_topo, graph, module, functions, reverse)
    assert ours.keys() == theirs.keys()
    for name, values in theirs.items():
        torch.testing.assert_close(ours[name], values, rtol=1e-10, atol=1e-10)
    for got, expected in zip(our_gradients, their_gradients, strict=True):
        expected = torch.zeros(()) if expected is None else expected
        got = torch.zeros_like(expected) if got is None else got
        expected = expected.expand_as(got).to(got)
        torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("names", USER_DEFINED, ids=lambda names: "-".join(map(str, names)))
def test_user_defined(names, reverse):
    module = Functions()
    functions = [None if name is None else getattr(module, name) for name in names]
    for seed in range(3):
        check_same(random_graph(seed), module, functions, reverse)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("message", BUILTIN_MESSAGES, ids=lambda message: message.name)
def test_builtin_messages(message, reverse):
    module = Functions()
    for reducer in (fn.sum("m", "out"), lambda nodes: {"out": nodes.mailbox["m"].sum(1)}):
        check_same(random_graph(1), module, (message, reducer, None), reverse)
    if message.name not in ("copy_e", "u_dot_e", "v_dot_u"):
        check_same(random_graph(2), module, (message, fn.mean("m", "h"), module.apply), reverse)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("reducer", ["sum", "mean", "max", "min"])
def test_builtin_reducers(reducer, reverse):
    module = Functions()
    reduce_func = getattr(fn, reducer)("m", "h")
    # DGL has no gradients of maxima if a level has no edges.
    check = check_same if reducer in ("sum", "mean") else torch.no_grad()(check_same_values)
    for message in (fn.copy_u("h", "m"), fn.u_mul_e("h", "w", "m"), module.weighted, module.state):
        for apply in (None, module.apply, module.apply_all):
            check(random_graph(3), module, (message, reduce_func, apply), reverse)


def test_gradients_of_maxima():
    graph, module = random_graph(3), Functions()
    x = graph.ndata["x"].requires_grad_()

    def run(x):
        data = {"h": torch.sin(x), "x": x}
        return prop_nodes_topo(
            graph,
            fn.u_mul_e("h", "w", "m"),
            fn.max("m", "h"),
            ndata=data,
            apply_node_func=module.apply,
        )["h"]

    assert torch.autograd.gradcheck(run, x)


@pytest.mark.parametrize(
    "graph",
    [
        dgl.graph(([], []), num_nodes=1),
        dgl.graph(([], []), num_nodes=4),
        dgl.graph((torch.arange(9), torch.arange(1, 10))),
        dgl.graph((torch.arange(1, 10), torch.zeros(9, dtype=torch.int64))),
        dgl.graph(([0, 0, 1], [2, 2, 2]), idtype=torch.int32),
        dgl.batch([dgl.graph(([1, 2], [0, 0])), dgl.graph(([0], [1]))]),
    ],
    ids=["one node", "no edges", "chain", "star", "parallel edges", "batch"],
)
@pytest.mark.parametrize("reverse", [False, True])
def test_other_shapes(graph, reverse):
    module = Functions()
    graph = with_data(graph)
    for functions in (
        (module.weighted, module.attentive, module.apply),
        (module.state, module.ordered, None),
        (fn.copy_u("h", "m"), fn.sum("m", "h"), module.apply),
        (module.state, fn.sum("m", "h"), None),
    ):
        check_same(graph, module, functions, reverse)


def test_ids_have_the_type_of_those_of_the_graph():
    """A graph takes no ids of another type, as in ``graph.in_degrees(nodes.nodes())``."""
    graph = dgl.graph(([0, 0, 1], [2, 2, 2]), idtype=torch.int32)
    graph.ndata["h"] = torch.zeros(3)
    seen = []

    def message(edges):
        seen.extend(edges.edges())
        return {"m": edges.src["h"]}

    def apply(nodes):
        seen.append(nodes.nodes())
        return {"h": graph.in_degrees(nodes.nodes()).float()}

    prop_nodes_topo(graph, message, fn.sum("m", "h"), apply_node_func=apply)
    assert {ids.dtype for ids in seen} == {torch.int32}
    assert graph.ndata["h"].tolist() == [0, 0, 3]


def test_empty_graph():
    module = Functions()
    graph = with_data(dgl.graph(([], [])))
    assert prop_nodes_topo(graph, module.state, module.summed) is None
    assert graph.ndata["h"].shape == (0, 3)


def test_initializers():
    graph = random_graph(4)
    graph.set_n_initializer(lambda shape, dtype, device, _: torch.full(shape, 7.0, dtype=dtype))
    module = Functions()
    check_same(graph, module, (module.state, module.ordered, None), reverse=True)
    check_same(graph, module, (module.state, module.ordered, None))


def test_data_as_arguments():
    graph, module = random_graph(5), Functions()
    expected = graph.local_var()
    functions = (module.weighted, module.attentive)
    prop_nodes_topo(expected, *functions, apply_node_func=module.apply_all)
    node_data, edge_data = dict(graph.ndata), dict(graph.edata)
    bare = dgl.graph(graph.edges(), num_nodes=graph.num_nodes())
    after = prop_nodes_topo(
        bare, *functions, apply_node_func=module.apply_all, ndata=node_data, edata=edge_data
    )
    assert not bare.ndata
    assert node_data.keys() == dict(graph.ndata).keys()
    assert after.keys() == dict(expected.ndata).keys()
    assert all(torch.equal(after[name], expected.ndata[name]) for name in after)


@needs_gpu
def test_data_on_the_gpu():
    graph, module = random_graph(6), Functions()
    functions = (module.weighted, module.attentive)
    expected = prop_nodes_topo(graph, *functions, ndata=graph.ndata, edata=graph.edata)
    node_data, edge_data = (
        {name: values.cuda() for name, values in data.items()}
        for data in (graph.ndata, graph.edata)
    )
    module.cuda()
    after = prop_nodes_topo(graph, *functions, ndata=node_data, edata=edge_data)
    for name, values in expected.items():
        torch.testing.assert_close(after[name].cpu(), values)


def test_no_grad_and_inference_mode():
    graph, module = random_graph(7), Functions()
    functions = (module.weighted, module.attentive)
    expected = prop_nodes_topo(graph, *functions, ndata=graph.ndata)["h"]
    assert expected.requires_grad
    with torch.no_grad():
        h = prop_nodes_topo(graph, *functions, ndata=graph.ndata)["h"]
    assert not h.requires_grad
    assert torch.equal(h, expected)
    with torch.inference_mode():
        assert torch.equal(prop_nodes_topo(graph, *functions, ndata=graph.ndata)["h"], expected)


def test_edge_and_node_ids():
    graph, module = random_graph(5), Functions()
    source, target = graph.edges()
    edge = torch.arange(graph.num_edges())
    graph.edata["number"] = (source + 2 * target + 3 * edge).double().unsqueeze(1)

    def numbered(edges):
        u, v, e = edges.edges()
        assert torch.equal((u + 2 * v + 3 * e).double().unsqueeze(1), edges.data["number"])
        return {"m": edges.src["h"] * (u + 2 * v + 3 * e).unsqueeze(1)}

    ours = prop_nodes_topo(graph, numbered, module.summed, ndata=graph.ndata)
    expected = prop_nodes_topo(
        graph, fn.u_mul_e("h", "number", "m"), module.summed, ndata=graph.ndata
    )
    assert torch.equal(ours["h"], expected["h"])


def test_functions_without_gradients():
    """What a function reads without gradients is a constant."""
    graph, module = random_graph(5), Functions()
    x = graph.ndata["h"].requires_grad_()

    def constants_first(edges):
        with torch.no_grad():
            constant = edges.src["h"] + 1
        return {"m": edges.src["h"] * constant}

    first, second = (
        prop_nodes_topo(graph, message, module.summed, ndata=graph.ndata)["h"]
        for message in (constants_first, module.of_constants)
    )
    gradients = [torch.autograd.grad(h.sum(), x)[0] for h in (first, second)]
    torch.testing.assert_close(*gradients)


def test_several_backward_passes():
    graph, module = random_graph(8), Functions()
    x = graph.ndata["x"].requires_grad_()
    functions = (module.weighted, module.attentive)
    first, second = (
        prop_nodes_topo(graph, *functions, ndata=graph.ndata, apply_node_func=module.apply)["h"]
        for _ in range(2)
    )
    (expected,) = torch.autograd.grad(first.sum(), x, retain_graph=True)
    again = torch.autograd.grad(first.sum(), [x, *module.parameters()], allow_unused=True)[0]
    torch.testing.assert_close(again, expected)
    # The other one first: no gradient between the two.
    (other,) = torch.autograd.grad(2 * second.sum(), x)
    torch.testing.assert_close(other, 2 * expected)


def test_tensors_that_functions_store():
    """Tensors that functions store have gradients, too."""
    graph, module = random_graph(9), Functions()
    x = graph.ndata["x"].requires_grad_()
    expected = []
    for run in (dgl.prop_nodes_topo, prop_nodes_topo):
        kept = []

        def reduce(nodes, kept=kept):
            h = nodes.data["h"]
            new = functional.softplus(nodes.mailbox["m"].sum(1) * nodes.data["x"])
            kept.append((new.detach() * h).sum() + new.sum())
            return {"h": new}

        local = graph.local_var()
        run(local, fn.copy_u("h", "m"), reduce, False, module.apply)
        expected.append(torch.autograd.grad(sum(kept), x)[0])
    torch.testing.assert_close(*expected)


def test_deep_chain():
    num_nodes = 1000
    graph = dgl.graph((torch.arange(num_nodes - 1), torch.arange(1, num_nodes)))
    x = torch.ones(num_nodes, 1, requires_grad=True)
    after = prop_nodes_topo(
        graph,
        fn.copy_u("h", "m"),
        lambda nodes: {"h": nodes.mailbox["m"].sum(1) * nodes.data["h"]},
        ndata={"h": x},
    )
    after["h"].sum().backward()
    assert torch.equal(x.grad.squeeze(1), torch.arange(num_nodes, 0, -1.0))


def test_gradients_of_gradients():
    graph, module = random_graph(10), Functions()
    x = graph.ndata["x"].requires_grad_()
    functions = (module.weighted, module.attentive)
    states = [prop_nodes_topo(graph, *functions, ndata=graph.ndata)["h"]]
    local = graph.local_var()
    prop_nodes_topo_of_dgl(local, *functions)
    states.append(local.ndata["h"])
    found = []
    for h in states:
        (gradient,) = torch.autograd.grad(h.square().sum(), x, create_graph=True)
        loss = gradient.square().sum() + h.sum()
        gradients = torch.autograd.grad(loss, [x, *module.linear.parameters()], create_graph=True)
        found.append([*gradients, *torch.autograd.grad(gradients[0].square().sum(), x)])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


def test_errors():
    graph, module = random_graph(11), Functions()
    state, summed = module.state, module.summed
    cases = [
        (
            (fn.copy_u("h", "m"), fn.sum("n", "h")),
            "expected a reduce function of the message 'm', got one of 'n'",
        ),
        ((lambda edges: {"m": edges.src["h"][:0]}, summed), "expected a row of the message 'm'"),
        ((state, lambda nodes: {"h": nodes.data["h"][:0]}), "expected a row of 'h' for each of"),
        (
            (state, lambda nodes: {"h": nodes.data["h"].float()}),
            "expected rows of 'h' of shape (3,) and torch.float64, got (3,) and torch.float32",
        ),
    ]
    expected = "expected the {} function to return a dict of tensors by name, got "
    for name, reduced in [("None", None), ("a tensor of shape (1, 3)", torch.zeros(1, 3))]:
        get = lambda rows, reduced=reduced: reduced  # noqa: E731
        cases.append(((get, summed), f"{expected.format('message')}{name}"))
        cases.append(((state, get), f"{expected.format('reduce')}{name}"))
        cases.append(((state, summed, False, get), f"{expected.format('apply')}{name}"))
    for value, name in [
        ([1], "a list of 1: a int"),
        (torch.tensor(1.0), "a tensor of shape () and torch.float32 on cpu"),
        (torch.zeros(0, 3), "a tensor of shape (0, 3) and torch.float32 on cpu"),
    ]:
        got = f"got {name}"
        cases.append(((lambda edges, value=value: {"m": value}, summed), got))
        cases.append(((state, lambda nodes, value=value: {"h": value}), got))
        cases.append(((state, summed, False, lambda nodes, value=value: {"h": value}), got))
    for functions, message in cases:
        with pytest.raises(PropagationError, match=re.escape(message)):
            prop_nodes_topo(graph, *functions)
    with pytest.raises(PropagationError, match="expected node data 'h' of 14 rows, got a list of"):
        prop_nodes_topo(graph, state, summed, ndata={"h": [1, 2]})
    with pytest.raises(PropagationError, match="expected node data 'h' of 14 rows, got 2"):
        prop_nodes_topo(graph, state, summed, ndata={"h": torch.zeros(2, 3)})
    with pytest.raises(PropagationError, match="expected edge data 'w' of"):
        prop_nodes_topo(graph, state, summed, edata={"w": torch.zeros(2, 3)})
    with pytest.raises(KeyError, match="absent"):
        prop_nodes_topo(graph, lambda edges: {"m": edges.src["absent"]}, summed)
    typed = dgl.heterograph({("a", "r", "b"): ([0], [0])})
    with pytest.raises(PropagationError, match="expected a homogeneous graph"):
        prop_nodes_topo(typed, state, summed)


def test_a_reduce_function_with_other_names_for_some_nodes():
    graph = dgl.graph(([0, 0, 1], [2, 3, 3]))  # nodes 2 and 3 are on one level
    graph.ndata["h"] = torch.ones(4, 2)

    def reduce_func(nodes):
        messages = nodes.mailbox["m"]
        return {"h" if messages.shape[1] > 1 else "g": messages.sum(1)}

    message = r"expected the reduce function to return the same names .* got \['g', 'h'\] for some"
    with pytest.raises(PropagationError, match=message):
        prop_nodes_topo(graph, fn.copy_u("h", "m"), reduce_func)


def test_graphs_of_other_libraries():
    with pytest.raises(
        PropagationError, match=r"expected a DGLGraph, got tuple: build one with dgl\.graph"
    ):
        prop_nodes_topo(([0], [1]), fn.copy_u("h", "m"), fn.sum("m", "h"))
