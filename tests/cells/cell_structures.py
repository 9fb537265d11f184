"""Graph structures to run cells on: which nodes are predecessors of which, and in what slot."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import pytest
import torch
from hypothesis import strategies as st
from strategies import Shape, chain_shape, perfect_shape, random_shape

from graphsent._dgl import dgl

in_edge_order = pytest.mark.filterwarnings(
    "ignore:the graph has no edge data 'child_index':graphsent.errors.GraphsentWarning"
)
"""Of tests in which the order of edges is that of predecessors, for want of anything else."""


@dataclass(frozen=True)
class Structure:
    """The predecessors of each node, with their slots, and the name of the slots' edge data."""

    incoming: list[list[tuple[int, int]]]
    field: str = "child_index"

    @property
    def num_nodes(self) -> int:
        return len(self.incoming)

    @property
    def edges(self) -> list[tuple[int, int, int]]:
        """Predecessor, node, slot: the predecessors of a node in the order of their slots."""
        return [(k, node, slot) for node, before in enumerate(self.incoming) for k, slot in before]

    @property
    def leaves(self) -> torch.Tensor:
        return torch.tensor([not before for before in self.incoming])

    def graph(self, order: Sequence[int] | None = None, slots: bool = True) -> dgl.DGLGraph:
        """The graph with edges in a given order, with or without the edge data."""
        edges = torch.tensor(self.edges, dtype=torch.int64).view(-1, 3)
        edges = edges if order is None else edges[torch.tensor(order, dtype=torch.int64)]
        graph = dgl.graph((edges[:, 0], edges[:, 1]), num_nodes=self.num_nodes)
        if slots:
            graph.edata[self.field] = edges[:, 2]
        return graph

    def mirrored(self) -> Structure:
        """The structure with the predecessors of each node in reversed slots."""
        turned = [
            [(k, len(before) - 1 - slot) for k, slot in reversed(before)]
            for before in self.incoming
        ]
        return Structure(turned, self.field)

    def ancestors_or_self(self, node: int) -> set[int]:
        """All nodes on which the state of a node depends."""
        found, waiting = {node}, [node]
        while waiting:
            new = {k for k, _ in self.incoming[waiting.pop()]} - found
            found |= new
            waiting += new
        return found


def bottom_up(shape: Shape) -> Structure:
    return Structure([[(child, i) for i, child in enumerate(children)] for children in shape])


def top_down(shape: Shape) -> Structure:
    incoming: list[list[tuple[int, int]]] = [[] for _ in shape]
    for node, children in enumerate(shape):
        for i, child in enumerate(children):
            incoming[child] = [(node, i)]
    return Structure(incoming)


def sibling(shape: Shape) -> Structure:
    """Kind 0 from the left sibling, kind 1 from the rightmost child or the token of a leaf."""
    incoming: list[list[tuple[int, int]]] = [[] for _ in shape]
    for children in shape:
        for left, right in pairwise(children):
            incoming[right].append((left, 0))
    for node, children in enumerate(shape):
        if not children:
            incoming.append([])
        incoming[node].append((children[-1] if children else len(incoming) - 1, 1))
    return Structure(incoming, "kind")


def join(members: Sequence[Structure]) -> Structure:
    """Several structures as one batch, as by ``dgl.batch``."""
    starts = accumulate((member.num_nodes for member in members), initial=0)
    incoming = [
        [(k + start, slot) for k, slot in before]
        for start, member in zip(starts, members, strict=False)
        for before in member.incoming
    ]
    return Structure(incoming, members[0].field)


def random_dag(rng: random.Random, num_nodes: int, max_degree: int) -> Structure:
    """A directed acyclic graph, randomly numbered; nodes have up to ``max_degree`` parents."""
    names = rng.sample(range(num_nodes), num_nodes)
    incoming: list[list[tuple[int, int]]] = [[] for _ in names]
    for place, node in enumerate(names):
        before = rng.sample(names[:place], rng.randint(0, min(place, max_degree)))
        slots = sorted(rng.sample(range(max_degree), len(before)))
        incoming[node] = list(zip(before, slots, strict=True))
    return Structure(incoming)


def comb_shape(depth: int, spine: int) -> Shape:
    """Every inner node has a leaf and, as child number ``spine``, the next inner node."""
    inner = [[node + 1, depth + 1 + node] for node in range(depth)]
    return [pair if spine == 0 else pair[::-1] for pair in inner] + [[]] * (depth + 1)


def single_file(rng: random.Random, num_nodes: int, slots: Sequence[int]) -> Structure:
    """Random trees of nodes with one predecessor or none, in some of the slots."""
    incoming = [
        [(rng.randrange(node), rng.choice(slots))] if node % 8 else [] for node in range(num_nodes)
    ]
    return Structure(incoming)


@st.composite
def binary_shapes(draw: st.DrawFn) -> Shape:
    """Every inner node has two children: one node, combs, perfect and random trees."""
    kind = draw(st.sampled_from(["leaf", "comb", "perfect", "random"]))
    if kind == "leaf":
        return chain_shape(0)
    if kind == "comb":
        return comb_shape(draw(st.integers(1, 8)), draw(st.integers(0, 1)))
    if kind == "perfect":
        return perfect_shape(draw(st.integers(1, 4)))
    return random_shape(draw(st.randoms(use_true_random=False)), draw(st.integers(2, 10)), 2, 0.0)
