"""Pins undocumented DGL behaviour that cells rely on: mailboxes follow edge ids."""

from __future__ import annotations

import random

import pytest
import torch
from strategies import random_dependency_tree, random_tree

from graphsent._dgl import dgl
from graphsent.graphs import (
    batch,
    constituency_batch,
    constituency_graph,
    dependency_batch,
    dependency_graph,
    reverse,
    unbatch,
)

# DGL warns in the first step of a propagation, in which leaves receive nothing.
pytestmark = pytest.mark.filterwarnings("ignore:The input graph for the user-defined edge")


def seen_children(graph) -> dict[int, list[int]]:
    """The senders in each node's mailbox under ``dgl.prop_nodes_topo``, in order."""
    seen = {}
    with graph.local_scope():
        graph.ndata["id"] = graph.ndata["out"] = torch.arange(graph.num_nodes())

        def reduce_func(nodes):
            for node, senders in zip(nodes.nodes().tolist(), nodes.mailbox["id"], strict=True):
                seen[node] = senders.tolist()
            return {"out": nodes.mailbox["id"].sum(1)}

        dgl.prop_nodes_topo(graph, lambda edges: {"id": edges.src["id"]}, reduce_func)
    return seen


def senders_by_edge(graph) -> dict[int, list[int]]:
    """The senders of each node in the order of edge ids."""
    senders: dict[int, list[int]] = {}
    source, target = graph.edges(order="eid")
    for sender, node in zip(source.tolist(), target.tolist(), strict=True):
        senders.setdefault(node, []).append(sender)
    return senders


def constituency_forest():
    rng = random.Random(3)
    return [random_tree(rng, size, max_children=6) for size in (1, 5, 14, 30, 9, 2)]


def dependency_forest():
    rng = random.Random(4)
    return [random_dependency_tree(rng, size) for size in (1, 4, 13, 29, 2)]


@pytest.fixture(params=["constituency", "dependency"])
def graphs(request):
    """The same trees as graphs in every form: built at once, batched, single, reversed."""

    def of_direction(direction):
        if request.param == "constituency":
            forest, at_once, single = constituency_forest(), constituency_batch, constituency_graph
        else:
            forest, at_once, single = dependency_forest(), dependency_batch, dependency_graph
        whole = at_once(forest, direction)
        singles = [single(tree, direction) for tree in forest]
        return [whole, batch(singles), *singles, *unbatch(whole), reverse(reverse(whole))]

    return of_direction


def test_children_come_from_left_to_right(graphs):
    for graph in [*graphs("bottom_up"), *map(reverse, graphs("top_down"))]:
        seen = seen_children(graph)
        assert seen == senders_by_edge(graph)
        index = dict(
            zip(graph.edges()[0].tolist(), graph.edata["child_index"].tolist(), strict=True)
        )
        for senders in seen.values():
            assert [index[sender] for sender in senders] == list(range(len(senders)))
            assert senders == sorted(senders)


def test_the_left_sibling_comes_before_the_child(graphs):
    for graph in graphs("sibling"):
        kinds = {}
        for sender, node, kind in zip(
            *(ends.tolist() for ends in graph.edges(order="eid")),
            graph.edata["kind"].tolist(),
            strict=True,
        ):
            kinds[sender, node] = kind
        seen = seen_children(graph)
        assert seen == senders_by_edge(graph)
        for node, senders in seen.items():
            assert [kinds[sender, node] for sender in senders] in ([0, 1], [1])


def test_every_node_sends_to_one_node_but_the_root(graphs):
    for direction in ("bottom_up", "sibling"):
        graph = graphs(direction)[0]
        sends = graph.out_degrees()
        assert torch.equal(sends, (graph.ndata["depth"] > 0).long())


def schedule_depth(graph) -> list[int]:
    """``D(t) = 1 + max(D(left sibling), D(rightmost child))``, 0 at tokens, by recursion."""
    senders = senders_by_edge(graph)

    def depth(node: int) -> int:
        return 1 + max(map(depth, senders[node])) if node in senders else 0

    return [depth(node) for node in range(graph.num_nodes())]


def test_sibling_graphs_are_propagated_in_order_of_their_schedule(graphs):
    graph = graphs("sibling")[0]
    levels = [0] * graph.num_nodes()
    for level, frontier in enumerate(dgl.topological_nodes_generator(graph)):
        for node in frontier.tolist():
            levels[node] = level
    assert levels == schedule_depth(graph)
    has_word = graph.ndata["position"] >= 0
    assert torch.equal(torch.tensor(levels) == 0, has_word)  # only tokens start
