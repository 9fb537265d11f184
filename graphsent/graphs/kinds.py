"""Checks of the graphs given for propagation, and their error messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graphsent._dgl import dgl
from graphsent.errors import DataError


def graph_problem(graph: Any) -> str:
    """Why something is not a homogeneous DGL graph; empty if it is one.

    The message says what was expected, what was found, and how to convert it.
    """
    if not isinstance(graph, dgl.DGLGraph):
        return f"expected a DGLGraph, got {type(graph).__name__}{_way_from(graph)}"
    if graph.is_homogeneous:
        return ""
    if graph.is_block:
        return (
            "expected a homogeneous graph, got a block, whose sources and targets are different "
            "nodes: pass the graph from which it was made"
        )
    found = (
        f"expected a homogeneous graph, got node types {graph.ntypes} and edge types {graph.etypes}"
    )
    if len(graph.ntypes) == 1:
        return f"{found}: select the edges of one type, such as graph[{graph.etypes[0]!r}]"
    return f"{found}: convert it with dgl.to_homogeneous(graph)"


def _way_from(graph: Any) -> str:
    """How to convert graphs of other libraries to a DGLGraph."""
    if hasattr(graph, "edge_index"):  # a graph of PyTorch Geometric
        return ": convert it with dgl.graph(tuple(data.edge_index), num_nodes=data.num_nodes)"
    if type(graph).__module__.split(".")[0] == "networkx":
        return ": convert it with dgl.from_networkx(graph)"
    return ": build one with dgl.graph((sources, targets), num_nodes=n)"


@contextmanager
def needing_formats(graph: dgl.DGLGraph) -> Iterator[None]:
    """Turns DGL errors about a graph restricted to some sparse formats into a DataError.

    Other DGL errors pass through.
    """
    try:
        yield
    except dgl.DGLError as error:
        formats = [name for names in graph.formats().values() for name in names]
        if len(formats) == 3:
            raise
        raise DataError(
            f"expected a graph with all sparse formats, got one with {formats} only: "
            "convert it with graph.formats(['coo', 'csr', 'csc'])"
        ) from error
