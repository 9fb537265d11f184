"""The drop-in for ``dgl.prop_nodes_topo``."""

import contextlib
import re
import warnings

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from graphsent._dgl import dgl
from graphsent.propagation import ENGINES, PropagationError, prop_nodes_topo, resolve_engine


def diamond() -> dgl.DGLGraph:
    """0 -> 1, 2 -> 3 -> 4, and an isolated node 5."""
    graph = dgl.graph(([0, 0, 1, 2, 3], [1, 2, 3, 3, 4]), num_nodes=6)
    graph.ndata["h"] = torch.arange(1.0, 7.0).unsqueeze(1)
    return graph


def message(edges):
    return {"m": 2 * edges.src["h"]}


def reduce(nodes):
    return {"h": nodes.mailbox["m"].sum(1) + nodes.data["h"]}


def apply(nodes):
    return {"h": nodes.data["h"] + 0.5}


@pytest.mark.filterwarnings("ignore:.torch.jit")  # by torch itself
def test_forward_mode_gradients_are_not_lost():
    graph, forward_ad = diamond(), torch.autograd.forward_ad
    h = graph.ndata["h"]
    expected = prop_nodes_topo(graph, message, reduce, ndata={"h": h})["h"]
    with forward_ad.dual_level():
        assert torch.equal(prop_nodes_topo(graph, message, reduce, ndata={"h": h})["h"], expected)
        dual = forward_ad.make_dual(h, h)
        with pytest.raises(PropagationError, match="expected gradients in reverse mode"):
            prop_nodes_topo(graph, message, reduce, ndata={"h": dual})
        with pytest.raises(PropagationError, match="expected gradients in reverse mode"):
            prop_nodes_topo(graph, lambda edges: {"m": edges.src["h"] * dual[0]}, reduce)


@pytest.mark.filterwarnings("ignore:.torch.jit")
def test_transforms_of_functions():
    graph, h = diamond(), diamond().ndata["h"]

    def total(h):
        return prop_nodes_topo(graph, message, reduce, ndata={"h": h})["h"].sum()

    for transformed in (
        lambda: torch.func.grad(total)(h),
        lambda: torch.func.vmap(total)(h[None]),
        lambda: torch.func.jvp(total, (h,), (h,)),
    ):
        with pytest.raises(PropagationError, match=r"do not run in transforms of torch\.func"):
            transformed()


def test_fake_tensors_leave_the_graph_as_it_is():
    graph = diamond()
    with (
        FakeTensorMode(allow_non_fake_inputs=True),
        pytest.raises(PropagationError, match="operations are recorded or tensors are fake"),
    ):
        prop_nodes_topo(graph, message, reduce)
    prop_nodes_topo(graph, message, reduce)


def test_every_node_comes_after_those_before_it():
    graph = diamond()
    prop_nodes_topo(graph, message, reduce)
    # 1; 2 + 2 * 1; 3 + 2 * 1; 4 + 2 * (4 + 5); 5 + 2 * 22; 6
    assert graph.ndata["h"].squeeze(1).tolist() == [1, 4, 5, 22, 49, 6]


@pytest.mark.parametrize(
    "functions",
    [
        (dgl.function.copy_u("h", "m"), dgl.function.sum("m", "h")),
        (message, dgl.function.max("m", "h")),
        (dgl.function.copy_u("h", "m"), reduce),
        (message, reduce),
    ],
)
@pytest.mark.parametrize("apply_node_func", [None, apply])
@pytest.mark.parametrize("reverse", [False, True])
def test_it_agrees_with_dgl(functions, apply_node_func, reverse):
    ours, theirs = diamond(), diamond()
    prop_nodes_topo(ours, *functions, reverse, apply_node_func)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dgl.prop_nodes_topo(theirs, *functions, reverse, apply_node_func)
    assert ours.ndata.keys() == theirs.ndata.keys()
    assert torch.equal(ours.ndata["h"], theirs.ndata["h"])


def test_cycles():
    graph = dgl.graph(([0, 1, 2], [1, 2, 1]))
    graph.ndata["h"] = torch.zeros(3, 1)
    expected = "expected an acyclic graph, got one with a cycle among its 3 nodes"
    with pytest.raises(PropagationError, match=re.escape(expected)):
        prop_nodes_topo(graph, message, reduce)


@pytest.mark.parametrize("fails", [True, False])
def test_data_are_freed(fails, new_buffers):
    """Also those of a propagation that fails: autograd must not refer to itself."""

    def applied(nodes):
        if fails and 4 in nodes.nodes().tolist():
            raise ZeroDivisionError
        return {"h": nodes.data["h"] * factor}

    graph, factor = diamond(), torch.ones(1, requires_grad=True)
    with contextlib.suppress(ZeroDivisionError):
        prop_nodes_topo(graph, message, reduce, apply_node_func=applied)
    del graph
    assert new_buffers() == 0


def test_other_errors_pass():
    def wrong(nodes):
        raise dgl.DGLError("not this one")

    with pytest.raises(dgl.DGLError, match="not this one"):
        prop_nodes_topo(diamond(), message, wrong)


def test_engines():
    assert [resolve_engine(engine) for engine in ENGINES] == ["levels", "dgl", "levels"]
    expected = "unknown engine 'fast': expected one of auto, dgl, levels"
    with pytest.raises(PropagationError, match=re.escape(expected)):
        resolve_engine("fast")
