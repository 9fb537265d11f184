"""Which way a cell runs, and why not a faster one."""

from __future__ import annotations

from typing import NamedTuple

import torch

from graphsent.cells.recursion import Recursion
from graphsent.cells.turned import Graph, schedule_of_graph
from graphsent.cells.validation import first_parameter
from graphsent.propagation.found import find_recurrence


class Explanation(NamedTuple):
    """How a cell runs over a graph.

    Attributes:
        way: ``"compiled"``: compiled code does all levels; ``"traced"``: operations of torch, level
            by level, by what was traced; ``"levels"``: ``combine``, once a level;
            ``"functions"``: the DGL functions, once a level.
        reason: what it is, or why it is no faster way.
    """

    way: str
    reason: str

    def __str__(self) -> str:
        return f"{self.way}: {self.reason}"


def explain(cell: Recursion, graph: Graph, extra: dict[str, torch.Tensor]) -> Explanation:
    """How a recursion runs over a graph level by level, inputs being like its parameters.

    Args:
        cell: the cell.
        graph: it fits the cell.
        extra: node data beside x.
    """
    parameter = first_parameter(cell)
    like = torch.empty(0) if parameter is None else parameter
    schedule = schedule_of_graph(graph)
    if schedule.num_levels < 2:
        return Explanation("levels", "no node has a predecessor: start is called once")
    slots = cell.slots(graph, schedule)
    num_slots = None if slots is None else slots.count
    found = find_recurrence(cell, like, extra, num_slots)
    if isinstance(found, str):
        return Explanation("levels", found)
    if isinstance(found.library, str):
        return Explanation("traced", found.library)
    return Explanation("compiled", "there is code that was generated from start and combine")
