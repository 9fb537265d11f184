"""The cache of everything derived from a tree, graph or schedule, stored on that object.

An entry stays valid as long as the object's structure does not change. Trees, schedules and
recurrences never change. A graph has a new structure once its nodes or edges change. Node and edge
data may change in place without notice: entries that depend on them are stored with a copy of the
data, which is compared on each use.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any, NamedTuple

_ATTRIBUTE = "_graphsent_notes"  # DGL copies and pickles attributes along with a graph


class Unchanging:
    """An immutable object. Copies and pickles do not include what was derived from it."""

    @cached_property
    def derived(self) -> dict[Hashable, Any]:
        """Values derived from it by other parts of the library, by their keys."""
        return {}


class Notes(NamedTuple):
    """What has been derived from the nodes and edges of a graph.

    Attributes:
        structure: DGL's object of nodes and edges, which it replaces when they change.
        turned: Whether the facts describe the graph with its edges reversed.
        facts: The derived values, by the keys of their users.
    """

    structure: object
    turned: bool
    facts: dict[Hashable, Any]


def notes_of(graph: Any) -> Notes:
    """The notes on a DGL graph; empty if it is new or its nodes or edges have changed."""
    notes = vars(graph).get(_ATTRIBUTE)
    if notes is None or notes.structure is not graph._graph:
        notes = vars(graph)[_ATTRIBUTE] = Notes(graph._graph, False, {})
    return notes


def share_notes(graph: Any, turned: Any) -> None:
    """Shares the notes on a graph with the same graph with reversed edges."""
    notes = notes_of(graph)
    vars(turned)[_ATTRIBUTE] = Notes(turned._graph, not notes.turned, notes.facts)
