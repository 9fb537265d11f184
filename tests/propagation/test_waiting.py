"""The host does not wait for the device: neither forward nor backward reads a value."""

from __future__ import annotations

import pytest
import torch
from function_zoo import BUILTIN_MESSAGES, USER_DEFINED, Functions, fn, random_graph
from on_gpu import gpu_does_not_wait, needs_gpu
from waiting import no_waiting

from graphsent.propagation import prop_nodes_topo
from graphsent.propagation.schedule.schedule import schedule_of

NAMES = {"ids": lambda names: "-".join(map(str, names))}


def run(functions, reverse=False, device="cpu", guard=no_waiting):
    """A forward and a backward pass, in which only the schedule may read values."""
    module = Functions().to(device)
    graph = random_graph(0)
    schedule_of(graph, reverse=reverse)
    message, reduce, apply = (
        getattr(module, each) if isinstance(each, str) else each for each in functions
    )
    ndata, edata = (
        {
            name: values.to(device).requires_grad_(values.is_floating_point())
            for name, values in data.items()
        }
        for data in (graph.ndata, graph.edata)
    )
    with guard():
        after = prop_nodes_topo(graph, message, reduce, reverse, apply, ndata=ndata, edata=edata)
        sum(values.sum() for values in after.values() if values.requires_grad).backward()
    return after, ndata


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("functions", USER_DEFINED, **NAMES)
def test_user_defined(functions, reverse):
    run(functions, reverse)


@pytest.mark.parametrize("reducer", [fn.sum("m", "h"), fn.mean("m", "h"), fn.max("m", "h")])
@pytest.mark.parametrize("message", BUILTIN_MESSAGES, ids=lambda message: message.name)
def test_builtin(message, reducer):
    if "dot" in message.name:  # one number per message, while the state has three
        reducer = fn.sum("m", "out")
    run((message, reducer, "apply"))


@pytest.mark.parametrize(
    "functions", USER_DEFINED[-4:], ids=lambda names: "-".join(map(str, names))
)
def test_without_values(functions):
    """On a device whose tensors have shapes but no values, nothing can depend on values."""
    after, ndata = run(functions, device="meta")
    assert {values.device.type for values in after.values()} == {"meta"}
    assert ndata["h"].grad.shape == ndata["h"].shape


@pytest.mark.parametrize(
    "look",
    [
        lambda x: bool(x.sum() > 0),
        lambda x: x.sum().item(),
        lambda x: float(x.sum()),
        lambda x: x[x > 0],
        lambda x: x.nonzero(),
        lambda x: x.tolist(),
        lambda x: x.cpu(),
        lambda x: x.numpy(),
        lambda x: torch.equal(x, x),
        lambda x: torch.repeat_interleave(x.long() + 2),
        lambda x: x.masked_select(x > 0),
        lambda x: torch.unique(x),
    ],
)
def test_operations_that_wait_are_caught(look):
    x = torch.arange(3.0)
    look(x)
    with pytest.raises(AssertionError, match="waits"), no_waiting():
        look(x)


@needs_gpu
@pytest.mark.parametrize("functions", USER_DEFINED, **NAMES)
def test_on_a_gpu(functions):
    run(functions, device="cuda")  # loads kernels, allocates memory
    run(functions, device="cuda", guard=gpu_does_not_wait)
