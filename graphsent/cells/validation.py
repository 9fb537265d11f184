"""Checks of what a cell is called with and what its methods return."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from graphsent._dgl import dgl
from graphsent.cells.errors import CellError
from graphsent.graphs.kinds import graph_problem
from graphsent.propagation.autocast import autocast_enabled
from graphsent.propagation.errors import described, mode_problem
from graphsent.propagation.feats import IndexedFeat
from graphsent.propagation.schedule.schedule import Schedule, to_device

TENSOR_ERRORS = (AttributeError, IndexError, RuntimeError, ValueError)
"""Errors of methods that take tensors, or a tuple of them, for something else."""
LEAF, SLOT = "leaf", "slot"
"""Node data of all cells, and a message of some; no part of a state may have these names."""


def check_graph(graph: Any) -> None:
    """Raises a CellError unless it is a graph with one node type and one edge type.

    Also raises one under ``torch.func`` transforms and where operations are recorded.
    """
    problem = mode_problem() or graph_problem(graph)
    if problem:
        raise CellError(problem)


def check_names(cell: Any) -> None:
    """Raises a CellError unless a cell's names of node and edge data are valid and distinct."""
    kind = type(cell).__name__
    for attribute, first in (("state_names", ("h",)), ("input_names", ("x",)), ("edge_names", ())):
        found = getattr(cell, attribute)
        if (
            not isinstance(found, (tuple, list))
            or not all(isinstance(name, str) for name in found)
            or tuple(found[: len(first)]) != first
            or len(set(found)) < len(found)
        ):
            begin = f", {first[0]!r} first" if first else ""
            expected = f"expected {kind}.{attribute} to be a tuple of different names{begin}"
            raise CellError(f"{expected}, got {found!r}")
    for name in cell.state_names:
        if name in (*cell.input_names, LEAF, SLOT):
            raise CellError(
                f"expected {kind}.state_names to differ from the names of its inputs, got {name!r}"
            )


def check_signature(cell: Any, method: str, *names: str) -> None:
    """Raises a CellError if a cell's method does not take positional arguments of these names.

    It is slow, so it is called only after the method has raised a TypeError.
    """
    signature = inspect.signature(getattr(cell, method))
    try:
        signature.bind(*names)
    except TypeError:
        raise CellError(
            f"expected {type(cell).__name__}.{method} to take ({', '.join(names)}) besides self, "
            f"but it takes {signature}"
        ) from None


def failure(
    cell: Any, method: str, names: Sequence[str], arguments: Sequence[Any], error: Exception
) -> str:
    """Describes a call of a cell's method that failed, with the shapes of its arguments."""

    def shown(name: str, argument: Any) -> str:
        if isinstance(argument, Tensor):
            return f"{name} of shape {tuple(argument.shape)}"
        return (
            f"{name}, a tuple of {' and '.join(cell.state_names)}, of shapes "
            f"{[tuple(part.shape) for part in argument]}, that is (num_nodes, num_children, "
            "hidden_feats), where num_children is that of the nodes, and in a SlottedCell always "
            "num_slots"
        )

    given = "; ".join(map(shown, names, arguments))
    return f"{type(cell).__name__}.{method} failed on {given}: {error}"


def state_tuple(cell: Any) -> str:
    """The names of a cell's state as a Python tuple, for messages."""
    return f"({', '.join(cell.state_names)}{',' if len(cell.state_names) == 1 else ''})"


def check_state(cell: Any, method: str, state: Any, like: Tensor) -> tuple[Tensor, ...]:
    """The parts of the states that a cell's method has returned.

    Raises a CellError unless they are a tuple of tensors (num_nodes, hidden_feats), one per name,
    with the number of rows, dtype and device of ``like``.
    """
    shape, dtype, device = (len(like), cell.hidden_feats), like.dtype, like.device

    def fits(part: Any) -> bool:
        if not isinstance(part, Tensor) or part.shape != shape or part.device != device:
            return False
        # Under autocast, torch chooses the dtype.
        return part.dtype == dtype or (
            part.is_floating_point() and autocast_enabled(part.device.type)
        )

    several = isinstance(state, (tuple, list)) and len(state) == len(cell.state_names)
    if several and all(map(fits, state)):
        return tuple(state)
    names = state_tuple(cell)
    expected = f"expected {type(cell).__name__}.{method} to return a tuple {names} of tensors"
    if isinstance(state, Tensor):
        raise CellError(f"{expected}, got a bare tensor: return {names}")
    raise CellError(
        f"{expected} of shape (num_nodes, hidden_feats) = {shape} and {dtype} on {device}, "
        f"got {described(state)}"
    )


def extra_of(
    cell: Any, graph: dgl.DGLGraph, feat: Tensor | IndexedFeat, given: Mapping[str, Any]
) -> dict[str, Tensor]:
    """What ``extra_inputs`` returns, with the device of the features, and the dtype if both float.

    ``given`` are its further arguments. Raises a CellError if it fails, or does not return node
    data for every input name after x.
    """
    rows = feat if isinstance(feat, Tensor) else feat.rows
    try:
        data = cell.extra_inputs(graph, rows.device, **given)
    except (KeyError, *TENSOR_ERRORS) as error:
        if type(error) not in (KeyError, *TENSOR_ERRORS):
            raise
        found = "".join(f"{name}, {described(value)}, and " for name, value in given.items())
        found += f"a graph with node data {[*graph.ndata]} and edge data {[*graph.edata]}"
        shown = f"no {error}" if isinstance(error, KeyError) else error
        name = type(cell).__name__
        raise CellError(f"{name}.extra_inputs failed on {found}: {shown}") from error
    _check_extra(cell, data, graph.num_nodes())
    moved = {name: to_device(values, rows.device) for name, values in data.items()}
    if not rows.is_floating_point():  # it would truncate them
        return moved
    return {
        name: values.to(rows.dtype) if values.is_floating_point() else values
        for name, values in moved.items()
    }


def _check_extra(cell: Any, extra: Mapping[str, Tensor], num_nodes: int) -> None:
    """Raises a CellError unless there are node data for every input name after x."""

    def fits(values: Any) -> bool:
        return isinstance(values, Tensor) and values.dim() > 0 and len(values) == num_nodes

    names = tuple(cell.input_names[1:])
    is_dict = isinstance(extra, Mapping)
    if not is_dict or tuple(extra) != names or not all(map(fits, extra.values())):
        found = {n: described(part) for n, part in extra.items()} if is_dict else described(extra)
        raise CellError(
            f"expected {type(cell).__name__}.extra_inputs to return tensors of {num_nodes} rows "
            f"for {names}, the input_names after x, got {found}"
        )


def check_feat(
    feat: Tensor | IndexedFeat, schedule: Schedule, in_feats: int, parameter: Tensor | None
) -> None:
    """Raises a CellError unless ``feat`` has one row per node and fits the parameters."""
    shape = (schedule.num_nodes, in_feats)
    if isinstance(feat, IndexedFeat):
        _check_index(feat, schedule)
        shape = (len(feat.rows), in_feats)
        feat = feat.rows
    if not isinstance(feat, Tensor):
        raise CellError(f"expected feat to be a tensor or IndexedFeat, got {type(feat).__name__}")
    if feat.layout != torch.strided or feat.is_nested:  # nested tensors may have no shape
        kind = "a nested one" if feat.is_nested else f"one of {feat.layout}"
        raise CellError(f"expected a dense feat, got {kind}")
    if tuple(feat.shape) != shape:
        raise CellError(
            f"expected feat of shape (num_nodes, in_feats) = {shape}, got {tuple(feat.shape)}"
        )
    if parameter is None:
        return
    if feat.device != parameter.device:
        raise CellError(f"expected feat on the parameters' {parameter.device}, got {feat.device}")
    if feat.dtype == parameter.dtype:
        return
    narrow = {torch.float32, torch.bfloat16, torch.float16}  # interchangeable under autocast
    if not ({feat.dtype, parameter.dtype} <= narrow and autocast_enabled(feat.device.type)):
        raise CellError(f"expected feat of the parameters' {parameter.dtype}, got {feat.dtype}")


def _check_index(feat: IndexedFeat, schedule: Schedule) -> None:
    index, num_nodes = feat.index, schedule.num_nodes
    if not isinstance(index, Tensor):
        raise CellError(f"expected the index of feat to be a tensor, got {described(index)}")
    if index.shape != (num_nodes,) or index.dtype != torch.int64 or not index.is_cpu:
        raise CellError(
            f"expected the index of feat of shape (num_nodes,) = ({num_nodes},) and int64 on the "
            f"cpu, got {tuple(index.shape)} and {index.dtype} on the {index.device}"
        )
    low, high = map(int, torch.aminmax(index)) if num_nodes else (0, -1)
    if low < -1 or high >= len(feat.rows):
        raise CellError(
            f"expected the index of feat from -1 (no row) to {len(feat.rows) - 1}, "
            f"got {low} to {high}"
        )


def describe_node(graph: dgl.DGLGraph, node: int) -> str:
    """Names a node by its ID and, in a batch, by its graph and its ID in that graph."""
    if graph.batch_size == 1:
        return f"node {node}"
    sizes = graph.batch_num_nodes()
    member = int((torch.cumsum(sizes, 0) <= node).sum())
    offset = int(sizes[:member].sum())
    return f"node {node} (node {node - offset} of graph {member} in the batch)"
