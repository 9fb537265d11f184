"""Checks of what a cell is called with, and the words for what is wrong."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from graphsent._dgl import dgl
from graphsent.cells.errors import CellError
from graphsent.graphs.kinds import graph_problem
from graphsent.propagation.autocast import autocast_enabled
from graphsent.propagation.errors import described
from graphsent.propagation.feats import IndexedFeat
from graphsent.propagation.schedule.schedule import Schedule

_modes = torch._C._TorchDispatchModeKey
_RECORDERS = (_modes.FAKE, _modes.PROXY, _modes.FUNCTIONAL)
LEAF, SLOT = "leaf", "slot"
"""Node data of all cells, and a message of some; no part of a state is called so."""


def check_size(name: str, size: int) -> None:
    """Raises a CellError unless a size is a whole number of at least 1."""
    if not hasattr(size, "__index__"):
        raise CellError(f"expected {name} to be a whole number, got {size!r}")
    if size < 1:
        raise CellError(f"expected {name} to be at least 1, got {size}")


def check_graph(graph: Any) -> None:
    """Raises a CellError unless it is a graph with one type of nodes and one of edges.

    Also in transforms of ``torch.func`` and in records of operations, where not even a graph can
    be read.
    """
    if torch._C._are_functorch_transforms_active():  # whose tensors have no memory to read
        raise CellError(
            "cells do not run in transforms of torch.func (grad, vmap, jvp, ...): use "
            "torch.autograd, whose gradients have gradients, too"
        )
    if torch._C._len_torch_dispatch_stack() and any(map(torch._C._get_dispatch_mode, _RECORDERS)):
        raise CellError(
            "cells do not run where operations are recorded or tensors are fake (torch.export, "
            "make_fx, FakeTensorMode)"
        )
    problem = graph_problem(graph)
    if problem:
        raise CellError(problem)


def check_names(cell: Any) -> None:
    """Raises a CellError unless a cell's names of node and edge data can be told apart."""
    names = cell.state_names, cell.input_names, cell.edge_names
    problem = _problem_of_names(
        *(tuple(part) if isinstance(part, (tuple, list)) else str(part) for part in names)
    )
    if problem:
        raise CellError(f"expected {type(cell).__name__}.{problem}")


@functools.cache
def _problem_of_names(*names: Any) -> str:
    """What is wrong with the names of states, inputs and edge data; empty if nothing is."""
    attributes = {"state_names": ("h",), "input_names": ("x",), "edge_names": ()}
    for (attribute, first), found in zip(attributes.items(), names, strict=True):
        if (
            not isinstance(found, tuple)
            or not all(isinstance(name, str) for name in found)
            or found[: len(first)] != first
            or len(set(found)) < len(found)
        ):
            begin = f", {first[0]!r} first" if first else ""
            return f"{attribute} to be a tuple of different names{begin}, got {found!r}"
    for name in names[0]:
        if name in (*names[1], LEAF, SLOT):
            return f"state_names to be others than those of its inputs, got {name!r}"
    return ""


def check_signature(cell: Any, method: str, *names: str) -> None:
    """Raises a CellError if a cell's method does not take arguments of some names, in their order.

    To be asked when it has failed: the search takes long.
    """
    signature = inspect.signature(getattr(cell, method))
    try:
        signature.bind(*names)
    except TypeError:
        raise CellError(
            f"expected {type(cell).__name__}.{method} to take ({', '.join(names)}) beside self, "
            f"but it takes {signature}"
        ) from None


def check_state(cell: Any, method: str, state: Any, like: Tensor) -> tuple[Tensor, ...]:
    """The parts of states that a cell's method has returned.

    Args:
        cell: the cell.
        method: its name.
        state: what it returned.
        like: a tensor with a row for each node, of the states' dtype and on their device.

    Raises:
        CellError: if they are not a tuple of a tensor (num_nodes, hidden_feats) for each name.
    """
    names = cell.state_names
    shape, dtype, device = (like.shape[0], cell.hidden_feats), like.dtype, like.device
    if isinstance(state, (tuple, list)) and len(state) == len(names):
        for part in state:
            if not isinstance(part, Tensor) or part.shape != shape or part.device != device:
                break
            if part.dtype != dtype and not _chosen_by_torch(part):
                break
        else:
            return tuple(state)
    parts = f"{', '.join(names)}{',' if len(names) == 1 else ''}"
    expected = f"expected {type(cell).__name__}.{method} to return a tuple ({parts}) of tensors"
    if isinstance(state, Tensor):
        raise CellError(f"{expected}, got a tensor by itself: return ({parts})")
    raise CellError(
        f"{expected} of shape (num_nodes, hidden_feats) = {shape} and {like.dtype} on "
        f"{like.device}, got {described(state)}"
    )


def check_projected(cell: Any, x: Any, feat: Tensor) -> Tensor:
    """What a cell's ``project`` has returned; a CellError unless it has a row for each of feat."""
    if isinstance(x, Tensor) and x.shape[:1] == feat.shape[:1] and x.device == feat.device:
        return x
    raise CellError(
        f"expected {type(cell).__name__}.project to return a tensor with a row for each of the "
        f"{len(feat)} of feat, on {feat.device}, got {described(x)}"
    )


def check_extra(cell: Any, extra: Mapping[str, Tensor], num_nodes: int) -> None:
    """Raises a CellError unless there are node data for each name of inputs beside x."""
    names = tuple(cell.input_names[1:])
    if tuple(extra) != names or any(len(values) != num_nodes for values in extra.values()):
        found = {name: described(values) for name, values in extra.items()}
        raise CellError(
            f"expected {type(cell).__name__}.extra_inputs to return tensors of {num_nodes} rows "
            f"for {names}, the input_names after x, got {found}"
        )


def _chosen_by_torch(part: Tensor) -> bool:
    """Whether a tensor's dtype may be any of real numbers: autocast is on."""
    return part.is_floating_point() and autocast_enabled(part.device.type)


def first_parameter(cell: Any) -> Tensor | None:
    """A parameter of a cell, if it has any, without all of torch's search where that can be."""
    for module in cell._modules.values():
        for parameter in () if module is None else module._parameters.values():
            if parameter is not None:
                return parameter
    return next(cell.parameters(), None)


def check_feat(
    feat: Tensor | IndexedFeat, schedule: Schedule, in_feats: int, parameter: Tensor | None
) -> None:
    """Raises a CellError unless ``feat`` has a row for each node, and fits the parameters."""
    shape = (schedule.num_nodes, in_feats)
    if isinstance(feat, IndexedFeat):
        _check_index(feat, schedule)
        shape = (len(feat.rows), in_feats)
        feat = feat.rows
    if not isinstance(feat, Tensor):
        raise CellError(f"expected feat to be a tensor or IndexedFeat, got {type(feat).__name__}")
    if feat.dim() != 2 or tuple(feat.shape) != shape:
        raise CellError(
            f"expected feat of shape (num_nodes, in_feats) = {shape}, got {tuple(feat.shape)}"
        )
    if feat.layout != torch.strided:
        raise CellError(f"expected a dense feat, got one of {feat.layout}")
    if parameter is None:
        return
    if feat.device != parameter.device:
        raise CellError(f"expected feat on the parameters' {parameter.device}, got {feat.device}")
    if feat.dtype == parameter.dtype:
        return
    narrow = {torch.float32, torch.bfloat16, torch.float16}  # which autocast makes one
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
            f"expected the index of feat from -1 to {len(feat.rows) - 1}, for as many rows and "
            f"one more, got {low} to {high}"
        )


def check_initial_state(state: Sequence[Tensor], names: Sequence[str], like: Tensor) -> None:
    """Raises a CellError unless ``state`` has a part for each name, ``like`` a tensor."""
    if len(state) != len(names):
        raise CellError(
            f"expected initial_state to be ({', '.join(names)}), got {len(state)} parts"
        )
    for name, part in zip(names, state, strict=True):
        expected = f"expected {name} of initial_state"
        if not isinstance(part, Tensor):
            raise CellError(f"{expected} to be a tensor, got {described(part)}")
        if part.shape != like.shape or part.dtype != like.dtype:
            raise CellError(
                f"{expected} of shape (num_nodes, hidden_feats) = "
                f"{tuple(like.shape)} and {like.dtype}, got {tuple(part.shape)} and {part.dtype}"
            )
        if part.device != like.device:
            raise CellError(f"{expected} on {like.device}, got {part.device}")


def check_query(query: Tensor | None, rows: tuple[int, int], attention_feats: int) -> None:
    """Raises a CellError unless there is a row for each graph, or for each node."""
    batch_size, num_nodes = rows
    expected = (
        f"expected query of shape (batch_size, attention_feats) = {(batch_size, attention_feats)} "
        f"or (num_nodes, attention_feats) = {(num_nodes, attention_feats)}"
    )
    if query is None:
        raise CellError(f"{expected}: dynamic attention needs the attention vectors")
    if query.dim() != 2 or len(query) not in rows or query.shape[1] != attention_feats:
        raise CellError(f"{expected}, got {tuple(query.shape)}")


def check_choice(name: str, value: str, valid: Sequence[str]) -> None:
    """Raises a CellError that lists the valid values unless ``value`` is one of them."""
    if value not in valid:
        choices = ", ".join(repr(choice) for choice in valid)
        raise CellError(f"unknown {name} {value!r}: expected one of {choices}")


def describe_node(graph: dgl.DGLGraph, node: int) -> str:
    """Names a node by its id, and in a batch also by its graph and its id there."""
    if graph.batch_size == 1:
        return f"node {node}"
    ends = torch.cumsum(graph.batch_num_nodes(), 0)
    member = int(torch.searchsorted(ends, node, right=True))
    offset = int(ends[member - 1]) if member else 0
    return f"node {node} (node {node - offset} of graph {member} in the batch)"
