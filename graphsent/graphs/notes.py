"""Facts about the structure of a graph, kept with it until the structure changes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from graphsent._dgl import dgl
from graphsent.graphs.kinds import needing_formats

_ATTRIBUTE = "_graphsent_notes"  # DGL copies and pickles attributes together with a graph


class Notes(NamedTuple):
    """Facts about nodes and edges, not about data.

    Attributes:
        structure: what DGL keeps nodes and edges in; it makes a new one when they change.
        turned: whether the facts are about the graph with its edges reversed.
        facts: the facts, by names of those who note them.
    """

    structure: object
    turned: bool
    facts: dict[Hashable, Any]


def notes_of(graph: dgl.DGLGraph) -> Notes:
    """The notes on a graph; without facts if it is new or its nodes or edges have changed."""
    notes = vars(graph).get(_ATTRIBUTE)
    if notes is None or notes.structure is not graph._graph:
        notes = vars(graph)[_ATTRIBUTE] = Notes(graph._graph, False, {})
    return notes


def share_notes(graph: dgl.DGLGraph, turned: dgl.DGLGraph) -> None:
    """Notes on a graph what is known about the same graph with reversed edges."""
    notes = notes_of(graph)
    vars(turned)[_ATTRIBUTE] = Notes(turned._graph, not notes.turned, notes.facts)


def edge_ends(graph: dgl.DGLGraph) -> tuple[np.ndarray, np.ndarray]:
    """Sources and targets of all edges by id, each (num_edges,) int64.

    Raises:
        DataError: The graph has some sparse formats alone.
    """
    notes = notes_of(graph)
    if "ends" not in notes.facts:
        with needing_formats(graph):
            ends = graph.edges(order="eid")
        note_edge_ends(graph, *(part.cpu().long().numpy() for part in ends))
    ends = notes.facts["ends"]
    return ends[::-1] if notes.turned else ends


def note_edge_ends(graph: dgl.DGLGraph, source: np.ndarray, target: np.ndarray) -> None:
    """Notes what :func:`edge_ends` gives, where it is at hand already."""
    notes = notes_of(graph)
    notes.facts["ends"] = (target, source) if notes.turned else (source, target)


def note_levels(graph: dgl.DGLGraph, ending: np.ndarray, starting: np.ndarray) -> None:
    """Notes the lengths of the longest paths that end, and that start, at each node.

    Args:
        graph: an acyclic graph.
        ending: (num_nodes,) int64.
        starting: (num_nodes,) int64.
    """
    notes = notes_of(graph)
    pair = (starting, ending) if notes.turned else (ending, starting)
    notes.facts["levels"] = pair


def known_levels(graph: dgl.DGLGraph, *, turn_edges: bool = False) -> np.ndarray | None:
    """The length of the longest path that ends at each node, (num_nodes,) int64, if it is known.

    Args:
        graph: a graph.
        turn_edges: that of the graph with its edges reversed.
    """
    notes = notes_of(graph)
    levels = notes.facts.get("levels")
    return None if levels is None else levels[notes.turned != turn_edges]
