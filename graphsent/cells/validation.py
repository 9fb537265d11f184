"""Checks of what a cell is called with, and the words for what is wrong."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from graphsent.cells.errors import CellError
from graphsent.cells.feats import IndexedFeat
from graphsent.cells.turned import Graph
from graphsent.propagation.autocast import autocast_enabled
from graphsent.propagation.schedule import Schedule


def check_graph(graph: Graph) -> None:
    """Raises a CellError unless the graph has one type of nodes and one of edges."""
    if not graph.is_homogeneous:
        raise CellError(
            f"expected a homogeneous graph, got node types {graph.ntypes} "
            f"and edge types {graph.etypes}"
        )


def first_parameter(cell: nn.Module) -> Tensor | None:
    """A parameter of a cell, if it has any, without all of torch's search where that can be."""
    for module in cell._modules.values():
        for parameter in () if module is None else module._parameters.values():
            if parameter is not None:
                return parameter
    return next(cell.parameters(), None)


def check_feat(
    feat: Tensor | IndexedFeat, schedule: Schedule, in_feats: int, parameter: Tensor | None
) -> None:
    """Raises a CellError unless ``feat`` has a row for each node and the parameters' dtype."""
    shape = (schedule.num_nodes, in_feats)
    if isinstance(feat, IndexedFeat):
        _check_index(feat, schedule)
        feat, shape = feat.rows, (len(feat.rows), in_feats)
    if not isinstance(feat, Tensor):
        raise CellError(f"expected feat to be a tensor or IndexedFeat, got {type(feat).__name__}")
    if feat.dim() != 2 or tuple(feat.shape) != shape:
        raise CellError(
            f"expected feat of shape (num_nodes, in_feats) = {shape}, got {tuple(feat.shape)}"
        )
    if parameter is None or feat.dtype == parameter.dtype:
        return
    if not (feat.is_floating_point() and autocast_enabled(feat.device.type)):
        raise CellError(f"expected feat of the parameters' {parameter.dtype}, got {feat.dtype}")


def _check_index(feat: IndexedFeat, schedule: Schedule) -> None:
    index, num_nodes = feat.index, schedule.num_nodes
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
    """Raises a CellError unless ``state`` has a part for each name, shaped as ``like``."""
    if len(state) != len(names):
        raise CellError(
            f"expected initial_state to be ({', '.join(names)}), got {len(state)} parts"
        )
    for name, part in zip(names, state, strict=True):
        if part.shape != like.shape or part.dtype != like.dtype:
            raise CellError(
                f"expected {name} of initial_state of shape (num_nodes, hidden_feats) = "
                f"{tuple(like.shape)} and {like.dtype}, got {tuple(part.shape)} and {part.dtype}"
            )


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


def describe_node(graph: Graph, node: int) -> str:
    """Names a node by its id, and in a batch also by its graph and its id there."""
    if graph.batch_size == 1:
        return f"node {node}"
    ends = torch.cumsum(graph.batch_num_nodes(), 0)
    member = int(torch.searchsorted(ends, node, right=True))
    offset = int(ends[member - 1]) if member else 0
    return f"node {node} (node {node - offset} of graph {member} in the batch)"
