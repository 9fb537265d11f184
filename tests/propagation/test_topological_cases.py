"""Edge cases of the drop-in, each compared with ``dgl.prop_nodes_topo``."""

from __future__ import annotations

import re
import warnings

import pytest
import torch
from function_zoo import Functions, fn, random_graph, with_data

from graphsent._dgl import dgl
from graphsent.propagation import PropagationError, prop_nodes_topo


def both(graph, message, reduce, reverse=False, apply=None):
    """The graph after our run, and after DGL's."""
    ours, theirs = graph.local_var(), graph.local_var()
    prop_nodes_topo(ours, message, reduce, reverse, apply)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dgl.prop_nodes_topo(theirs, message, reduce, reverse, apply)
    return ours, theirs


def assert_same_data(ours, theirs):
    assert ours.ndata.keys() == theirs.ndata.keys()
    for name, values in theirs.ndata.items():
        assert ours.ndata[name].dtype == values.dtype, name
        torch.testing.assert_close(ours.ndata[name], values, rtol=1e-6, atol=1e-6)
    for name, values in theirs.edata.items():
        assert torch.equal(ours.edata[name], values), name


def add_up(nodes):
    return {"n": nodes.mailbox["m"].sum(1) + nodes.data["n"]}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "dtype",
    [torch.int32, torch.int64, torch.uint8, torch.float16, torch.bfloat16, torch.complex64],
    ids=str,
)
def test_types_of_data(dtype, reverse):
    graph = random_graph(0)
    graph.ndata["n"] = torch.arange(graph.num_nodes()).to(dtype)
    assert_same_data(
        *both(
            graph,
            lambda edges: {"m": edges.src["n"]},
            lambda nodes: {"n": (nodes.mailbox["m"].sum(1) + nodes.data["n"]).to(dtype)},
            reverse,
        )
    )


def test_gradients_of_complex_data():
    graph = random_graph(0)
    z = torch.randn(graph.num_nodes(), dtype=torch.complex128, requires_grad=True)
    graph.ndata["z"] = z
    reduce = lambda nodes: {"z": nodes.mailbox["m"].mean(1) * nodes.data["z"]}  # noqa: E731
    states = both(graph, lambda edges: {"m": edges.src["z"]}, reduce)
    found = [torch.autograd.grad(each.ndata["z"].abs().sum(), z)[0] for each in states]
    torch.testing.assert_close(*found)


def test_boolean_data():
    graph = random_graph(1)
    graph.ndata["reached"] = torch.arange(graph.num_nodes()) == 3
    reduce = lambda nodes: {  # noqa: E731
        "reached": nodes.mailbox["m"].any(1) | nodes.data["reached"]
    }
    assert_same_data(*both(graph, lambda edges: {"m": edges.src["reached"]}, reduce))


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,)], ids=str)
def test_shapes_of_data(shape):
    graph = random_graph(2)
    graph.ndata["n"] = torch.randn(graph.num_nodes(), *shape)
    halve = lambda nodes: {"n": nodes.data["n"] / 2}  # noqa: E731
    assert_same_data(*both(graph, lambda edges: {"m": edges.src["n"]}, add_up, apply=halve))
    if shape != (0,):  # not for built-in functions of DGL
        copy = fn.copy_u("n", "m")
        assert_same_data(*both(graph, copy, add_up, apply=halve))
        assert_same_data(*both(graph, copy, fn.sum("m", "n")))


def test_several_messages_and_results():
    graph = random_graph(3)

    def message(edges):
        return {
            "m": edges.src["h"],
            "weight": edges.data["v"],
            "number": edges.src["number"],
            "unread": edges.dst["x"],
        }

    def reduce(nodes):
        weight = nodes.mailbox["weight"].unsqueeze(2)
        return {
            "h": (nodes.mailbox["m"] * weight).sum(1),
            "number": nodes.mailbox["number"].max(1).values + 1,
            "weights": weight.sum((1, 2)),
        }

    assert_same_data(*both(graph, message, reduce))
    assert_same_data(*both(graph, message, fn.sum("weight", "weights")))


@pytest.mark.parametrize("reverse", [False, True])
def test_data_that_no_function_uses_is_left_alone(reverse):
    graph, module = random_graph(4), Functions()
    before = dict(graph.ndata)
    copies = {name: values.clone() for name, values in before.items()}
    prop_nodes_topo(graph, module.state, module.summed, reverse)
    assert {name for name in before if graph.ndata[name] is not before[name]} == {"h"}
    # Given tensors are not modified.
    assert all(torch.equal(before[name], values) for name, values in copies.items())


def test_functions_that_modify_their_arguments():
    graph = random_graph(5)

    def message(edges):
        edges.src["h"] *= 2
        edges.data["w"] += 1
        return {"m": edges.src["h"] * edges.data["w"]}

    def reduce(nodes):
        nodes.mailbox["m"] += 1
        nodes.data["x"] *= 3  # lost, as in DGL
        return {"h": nodes.mailbox["m"].sum(1) + nodes.data["x"]}

    ours, theirs = both(graph, message, reduce)
    assert_same_data(ours, theirs)
    assert torch.equal(ours.ndata["x"], graph.ndata["x"])


def test_reduce_functions_that_modify_their_mailbox():
    graph = random_graph(3)
    x = graph.ndata["x"].requires_grad_()

    def message(edges):
        states = torch.tanh(edges.src["h"])
        return {"m": states, "n": states}

    def reduce(nodes):
        messages = nodes.mailbox["m"]
        messages += 1
        return {"h": messages.sum(1) + nodes.mailbox["n"].sum(1)}

    graph.ndata["h"] = 2 * x
    ours, theirs = both(graph, message, reduce)
    assert_same_data(ours, theirs)
    gradients = [
        torch.autograd.grad(each.ndata["h"].sum(), x, retain_graph=True)[0]
        for each in (ours, theirs)
    ]
    torch.testing.assert_close(*gradients)


def test_local_scope():
    graph, module = random_graph(6), Functions()
    h = graph.ndata["h"]
    with graph.local_scope():
        prop_nodes_topo(graph, module.state, module.summed, apply_node_func=module.apply_all)
        assert "new" in graph.ndata
    assert graph.ndata["h"] is h
    assert "new" not in graph.ndata


def test_apply_function_alone_changes_nodes():
    graph, module = random_graph(7), Functions()
    ours, theirs = both(
        graph, module.state, lambda nodes: {}, apply=lambda nodes: {"h": nodes.data["h"] + 1}
    )
    assert_same_data(ours, theirs)
    assert torch.equal(ours.ndata["h"], graph.ndata["h"] + 1)


def test_data_names_that_only_some_levels_have():
    graph = with_data(dgl.graph((torch.arange(5), torch.arange(1, 6))))

    def apply(nodes):
        first = int(nodes.nodes()[0]) < 3
        return {"early": nodes.data["s"]} if first else {"late": nodes.data["h"]}

    assert_same_data(*both(graph, fn.copy_u("h", "m"), fn.sum("m", "h"), apply=apply))


@pytest.mark.parametrize("num_nodes", [0, 1, 5])
def test_no_edges(num_nodes):
    module = Functions()
    graph = with_data(dgl.graph(([], []), num_nodes=num_nodes))
    functions = (module.state, module.summed)
    if num_nodes:  # DGL's function fails without nodes
        assert_same_data(*both(graph, *functions, apply=module.apply))
    after = prop_nodes_topo(graph, *functions, apply_node_func=module.apply, ndata=graph.ndata)
    assert {name: values.shape for name, values in after.items()} == {
        name: values.shape for name, values in graph.ndata.items()
    }


def test_no_data():
    graph = dgl.graph(([0, 1], [1, 2]))
    assert_same_data(
        *both(
            graph,
            lambda edges: {"m": torch.ones(len(edges), 1)},
            lambda nodes: {"n": nodes.mailbox["m"].sum(1)},
        )
    )


def test_graph_data_besides_given_data():
    graph, module = random_graph(8), Functions()
    expected = prop_nodes_topo(graph, module.weighted, module.attentive, ndata=graph.ndata)
    # The edge weights are those of the graph, moved to the device of the node data.
    ndata = {name: values.to("meta") for name, values in graph.ndata.items()}
    after = prop_nodes_topo(graph, module.to("meta").weighted, module.attentive, ndata=ndata)
    assert after["h"].device.type == "meta"
    assert after["h"].shape == expected["h"].shape


def test_errors_of_calls():
    graph, module = random_graph(9), Functions()
    cases = [
        ((None, module.summed), {}, "expected a message function, built-in or user-defined"),
        ((module.state, "sum"), {}, "expected a reduce function, built-in or user-defined"),
        ((module.state, module.summed, False, 3), {}, "expected an apply function or None"),
        (
            (module.state, module.summed),
            {"ndata": {"h": torch.zeros(14, 3), "x": torch.zeros(14, 3, device="meta")}},
            "expected all data on one device, got some on cpu and meta",
        ),
    ]
    for functions, data, message in cases:
        with pytest.raises(PropagationError, match=re.escape(message)):
            prop_nodes_topo(graph, *functions, **data)
