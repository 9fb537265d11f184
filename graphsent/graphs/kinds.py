"""What can be propagated over, and the words for what cannot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graphsent._dgl import dgl
from graphsent.errors import DataError


def graph_problem(graph: Any) -> str:
    """Why something is not a homogeneous DGL graph; empty if it is one.

    It says what was expected, what was found, and how to convert it.
    """
    if not isinstance(graph, dgl.DGLGraph):
        return f"expected a DGLGraph, got {type(graph).__name__}{_way_from(graph)}"
    if graph.is_homogeneous:
        return ""
    found = (
        f"expected a homogeneous graph, got node types {graph.ntypes} and edge types {graph.etypes}"
    )
    if len(graph.ntypes) == 1:
        return f"{found}: take the edges of one type, graph[{graph.etypes[0]!r}] or another"
    return f"{found}: dgl.to_homogeneous makes one"


def _way_from(graph: Any) -> str:
    """How to convert graphs of other libraries to a DGLGraph."""
    if hasattr(graph, "edge_index"):  # as PyTorch Geometric has
        return ": dgl.graph(tuple(data.edge_index), num_nodes=data.num_nodes) makes one"
    if type(graph).__module__.split(".")[0] == "networkx":
        return ": dgl.from_networkx makes one"
    return ": dgl.graph((sources, targets), num_nodes=n) makes one"


@contextmanager
def needing_formats(graph: dgl.DGLGraph) -> Iterator[None]:
    """What DGL cannot do meanwhile with a graph that has some sparse formats alone is a DataError.

    Others of its errors pass.
    """
    try:
        yield
    except dgl.DGLError as error:
        formats = [name for names in graph.formats().values() for name in names]
        if len(formats) == 3:
            raise
        raise DataError(
            f"expected a graph with all sparse formats, got one with {formats} alone: "
            "graph.formats(['coo', 'csr', 'csc']) has all"
        ) from error
