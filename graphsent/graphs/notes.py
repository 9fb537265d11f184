"""Edge ends and node levels, cached on a graph."""

from __future__ import annotations

import numpy as np

from graphsent._derived import notes_of
from graphsent._dgl import dgl
from graphsent.graphs.kinds import needing_formats


def edge_ends(graph: dgl.DGLGraph) -> tuple[np.ndarray, np.ndarray]:
    """Sources and targets of all edges in order of edge id, each (num_edges,) int64.

    Raises:
        DataError: The graph is restricted to some sparse formats.
    """
    notes = notes_of(graph)
    if "ends" not in notes.facts:
        with needing_formats(graph):
            ends = graph.edges(order="eid")
        note_edge_ends(graph, *(part.cpu().long().numpy() for part in ends))
    ends = notes.facts["ends"]
    return ends[::-1] if notes.turned else ends


def note_edge_ends(graph: dgl.DGLGraph, source: np.ndarray, target: np.ndarray) -> None:
    """Caches the edge ends that :func:`edge_ends` returns, where they are already known."""
    notes = notes_of(graph)
    notes.facts["ends"] = (target, source) if notes.turned else (source, target)


def note_levels(graph: dgl.DGLGraph, ending: np.ndarray, starting: np.ndarray) -> None:
    """Caches the lengths of the longest paths ending and starting at each node.

    Args:
        graph: An acyclic graph.
        ending: (num_nodes,) int64.
        starting: (num_nodes,) int64.
    """
    notes = notes_of(graph)
    pair = (starting, ending) if notes.turned else (ending, starting)
    notes.facts["levels"] = pair


def known_levels(graph: dgl.DGLGraph, *, turn_edges: bool = False) -> np.ndarray | None:
    """The cached level of each node, (num_nodes,) int64; None if it is not known.

    Args:
        graph: A graph.
        turn_edges: Whether to use the graph with its edges reversed.
    """
    notes = notes_of(graph)
    levels = notes.facts.get("levels")
    return None if levels is None else levels[notes.turned != turn_edges]
