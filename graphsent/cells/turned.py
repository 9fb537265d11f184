"""A graph with its edges turned round, as far as cells look at it, without making one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from torch import Tensor

from graphsent._dgl import dgl
from graphsent.propagation.schedule.schedule import Schedule, schedule_of


class TurnedGraph:
    """What a cell asks of ``dgl.reverse(graph)``, answered by the graph itself.

    Args:
        graph: the graph.
        edata: edge data; those of the graph are not taken over.
    """

    is_homogeneous = True

    def __init__(self, graph: dgl.DGLGraph, edata: Mapping[str, Tensor]) -> None:
        self.graph = graph
        self.edata = edata
        self.num_nodes = graph.num_nodes
        self.num_edges = graph.num_edges
        self.in_degrees = graph.out_degrees
        self.out_degrees = graph.in_degrees
        self.batch_num_nodes = graph.batch_num_nodes
        self.batch_size = graph.batch_size
        self.device = graph.device

    def edges(self) -> tuple[Tensor, Tensor]:
        """Sources and targets of all edges, by id."""
        source, target = self.graph.edges(order="eid")
        return target, source


Graph: TypeAlias = "dgl.DGLGraph | TurnedGraph"


def schedule_of_graph(graph: Graph) -> Schedule:
    """The schedule of a graph that may be turned, on the CPU."""
    if isinstance(graph, TurnedGraph):
        return schedule_of(graph.graph, turn_edges=True)
    return schedule_of(graph)
