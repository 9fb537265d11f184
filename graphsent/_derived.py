"""What has been made of an object, kept with it: the one cache of trees, graphs and schedules.

One rule says when it is stale: it holds for the structure it was made of. Trees, schedules and
recurrences never change. A graph has a new structure once its nodes or edges change. Node and edge
data may change in place, of which nobody is told: what depends on them is kept beside a copy of
them, and compared at each use.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any, NamedTuple

_ATTRIBUTE = "_graphsent_notes"  # DGL copies and pickles attributes together with a graph


class Unchanging:
    """An object that never changes. Its copies and pickles go without what was made of it."""

    @cached_property
    def derived(self) -> dict[Hashable, Any]:
        """What other parts of the library have made of it, by names of theirs."""
        return {}


class Notes(NamedTuple):
    """What has been made of the nodes and edges of a graph.

    Attributes:
        structure: what DGL keeps nodes and edges in; it makes a new one when they change.
        turned: whether the facts are about the graph with its edges reversed.
        facts: the facts, by names of those who note them.
    """

    structure: object
    turned: bool
    facts: dict[Hashable, Any]


def notes_of(graph: Any) -> Notes:
    """The notes on a DGL graph; without facts if it is new or its nodes or edges have changed."""
    notes = vars(graph).get(_ATTRIBUTE)
    if notes is None or notes.structure is not graph._graph:
        notes = vars(graph)[_ATTRIBUTE] = Notes(graph._graph, False, {})
    return notes


def share_notes(graph: Any, turned: Any) -> None:
    """Notes on a graph what is known about the same graph with reversed edges."""
    notes = notes_of(graph)
    vars(turned)[_ATTRIBUTE] = Notes(turned._graph, not notes.turned, notes.facts)
