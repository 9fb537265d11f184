"""Propagation of node data in topological order by message, reduce and apply functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from graphsent._dgl import dgl
from graphsent.graphs.kinds import graph_problem
from graphsent.propagation.errors import PropagationError, described, mode_problem
from graphsent.propagation.schedule.schedule import schedule_of
from graphsent.propagation.topological.builtin_functions import is_builtin
from graphsent.propagation.untraced import untraced

Function = Callable[..., Any]
# DGL warns of this on the first level, whose nodes have no incoming edges by definition.
_NO_EDGES = "The input graph for the user-defined edge function does not contain valid edges"


@untraced
def prop_nodes_topo(
    graph: dgl.DGLGraph,
    message_func: Function,
    reduce_func: Function,
    reverse: bool = False,
    apply_node_func: Function | None = None,
    *,
    ndata: Mapping[str, Tensor] | None = None,
    edata: Mapping[str, Tensor] | None = None,
) -> dict[str, Tensor] | None:
    """Updates the data of every node after those of all its predecessors.

    A replacement for ``dgl.prop_nodes_topo`` with the same arguments and results, for built-in and
    user-defined functions. On nodes without incoming edges only ``apply_node_func`` runs, and a
    built-in reduce function gives zeros. Levels are computed once per graph, and values and
    gradients are updated in place.

    Data can also be passed as arguments, and may then be on another device than the graph, such as
    a GPU if DGL is built without CUDA; data of the graph itself are moved there when a function
    reads them. The host never waits for that device.

    There are two differences from DGL: ``graph.ndata`` itself changes at the end, not after each
    level (``nodes.data`` and ``edges.src`` are up to date); and message functions are not called
    for levels without edges if the reduce function is user-defined.

    Args:
        graph: A homogeneous acyclic graph.
        message_func: DGL message function, built-in or user-defined.
        reduce_func: DGL reduce function, built-in or user-defined.
        reverse: Take the levels in the order of the reversed graph. As in DGL, messages still
            follow the edges; to send them the other way, reverse the graph.
        apply_node_func: User-defined function of the nodes of a level, after ``reduce_func``. Only
            what it returns is kept.
        ndata: Node data in place of ``graph.ndata``, which is then unchanged.
        edata: Edge data in place of ``graph.edata``.

    Returns:
        With ``ndata``, these and the computed node data; None otherwise.

    Raises:
        PropagationError: If the graph is not homogeneous or has a cycle, if an argument is not a
            function, if data do not fit the graph or each other, or if the functions' results do
            not fit the data.

    Example:
        >>> import torch
        >>> from graphsent import dgl
        >>> graph = dgl.graph(([1, 2, 3], [0, 0, 1]))  # node 0 has the children 1 and 2, 1 has 3
        >>> graph.ndata["size"] = torch.zeros(4)
        >>> message, total = dgl.function.copy_u("size", "m"), dgl.function.sum("m", "size")
        >>> count = lambda nodes: {"size": nodes.data["size"] + 1}
        >>> prop_nodes_topo(graph, message, total, apply_node_func=count)
        >>> graph.ndata["size"]  # of the tree below each node
        tensor([4., 2., 1., 1.])
    """
    problem = mode_problem() or graph_problem(graph)
    if problem:
        raise PropagationError(problem)
    _check_functions(message_func, reduce_func, apply_node_func)
    before = dict(graph.ndata if ndata is None else ndata)
    edge_data = dict(graph.edata if edata is None else edata)
    _check_rows("node", before, graph.num_nodes())
    _check_rows("edge", edge_data, graph.num_edges())
    given = [data for data in (ndata, edata) if data is not None]
    schedule = schedule_of(graph, reverse=reverse).to(_device(graph, given))
    # Its classes derive from DGL's, and DGL is imported on first use.
    from graphsent.propagation.topological.traversal import Traversal

    after = Traversal(graph, schedule, before, edge_data).run(
        message_func, reduce_func, apply_node_func
    )
    if ndata is None:
        graph.ndata.update(after)
        return None
    return {**before, **after}


def _check_functions(message_func: Any, reduce_func: Any, apply_node_func: Any) -> None:
    for name, function in (("message", message_func), ("reduce", reduce_func)):
        if not (callable(function) or is_builtin(function)):
            raise PropagationError(
                f"expected a {name} function, built-in or user-defined, got {function!r}"
            )
    if not (apply_node_func is None or callable(apply_node_func)):
        raise PropagationError(f"expected an apply function or None, got {apply_node_func!r}")
    if not (is_builtin(message_func) and is_builtin(reduce_func)):
        return
    if message_func.out_field != reduce_func.msg_field:
        raise PropagationError(
            f"expected a reduce function of the message {message_func.out_field!r}, got one of "
            f"{reduce_func.msg_field!r}"
        )


def _check_rows(kind: str, data: Mapping[str, Tensor], num_rows: int) -> None:
    for name, values in data.items():
        has_rows = isinstance(values, Tensor) and values.dim() > 0
        if not has_rows or len(values) != num_rows:
            got = len(values) if has_rows else described(values)
            raise PropagationError(f"expected {kind} data {name!r} of {num_rows} rows, got {got}")


def _device(graph: dgl.DGLGraph, given: Iterable[Mapping[str, Tensor]]) -> torch.device:
    """The device to compute on: that of the given data."""
    devices = {data[name].device for data in given for name in data}
    if len(devices) > 1:
        names = " and ".join(sorted(map(str, devices)))
        raise PropagationError(f"expected all data on one device, got some on {names}")
    return devices.pop() if devices else graph.device


def prop_nodes_topo_of_dgl(*arguments: Any, **options: Any) -> None:
    """``dgl.prop_nodes_topo`` itself, without its warnings about levels without edges."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _NO_EDGES)
        dgl.prop_nodes_topo(*arguments, **options)
