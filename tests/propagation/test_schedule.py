"""Schedules against a slow computation of levels, on trees, chains, stars and random DAGs."""

import pickle
import random
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from on_gpu import needs_gpu
from strategies import dependency_trees, trees

from graphsent._dgl import dgl
from graphsent.graphs import DIRECTIONS, batch, constituency_batch, dependency_batch, reverse
from graphsent.graphs.notes import known_levels, notes_of
from graphsent.propagation import PropagationError
from graphsent.propagation.schedule.schedule import Schedule, schedule_of
from graphsent.propagation.schedule.slots import slots_of
from graphsent.trees import DependencyTree


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    """Number of nodes, and edges of an acyclic graph in any order, possibly repeated."""
    rng = draw(st.randoms(use_true_random=False))
    num_nodes = draw(st.integers(0, 12))
    names = rng.sample(range(num_nodes), num_nodes)
    num_edges = draw(st.integers(0, 24)) if num_nodes > 1 else 0
    ends = [sorted(rng.sample(range(num_nodes), 2)) for _ in range(num_edges)]
    return num_nodes, [(names[low], names[high]) for low, high in ends]


def make_graph(num_nodes: int, edges: list[tuple[int, int]]) -> dgl.DGLGraph:
    pairs = torch.tensor(edges, dtype=torch.int64).view(-1, 2)
    return dgl.graph((pairs[:, 0], pairs[:, 1]), num_nodes=num_nodes)


def slow_levels(num_nodes: int, edges: list[tuple[int, int]]) -> list[int]:
    """The longest path that ends at each node."""
    level = [0] * num_nodes
    for _ in range(num_nodes):
        for source, target in edges:
            level[target] = max(level[target], level[source] + 1)
    return level


def check(schedule: Schedule, num_nodes: int, edges: list[tuple[int, int]], level: list[int]):
    nodes = schedule.nodes.tolist()
    degree = [sum(target == node for _, target in edges) for node in range(num_nodes)]
    assert nodes == sorted(range(num_nodes), key=lambda node: (level[node], degree[node], node))
    assert [nodes[place] for place in schedule.ordinal.tolist()] == list(range(num_nodes))
    mailbox = [edge for node in nodes for edge, (_, target) in enumerate(edges) if target == node]
    assert schedule.edges.tolist() == mailbox
    place = schedule.ordinal.tolist()
    assert schedule.source.tolist() == [place[edges[edge][0]] for edge in mailbox]
    assert schedule.target.tolist() == [place[edges[edge][1]] for edge in mailbox]

    rows = [node for part in schedule.levels for node in nodes[part.start : part.end]]
    assert rows == nodes
    for number, part in enumerate(schedule.levels):
        assert {level[node] for node in nodes[part.start : part.end]} == {number}
        assert part.start == part.buckets[0].start
        assert part.end == part.buckets[-1].end
        assert [bucket.degree for bucket in part.buckets] == sorted(
            {bucket.degree for bucket in part.buckets}
        )
        for bucket in part.buckets:
            assert {degree[node] for node in nodes[bucket.start : bucket.end]} == {bucket.degree}
            received = schedule.target[bucket.first_edge : bucket.last_edge].tolist()
            assert received == [
                place for place in range(bucket.start, bucket.end) for _ in range(bucket.degree)
            ]


@given(edge_lists())
def test_any_acyclic_graph(case):
    num_nodes, edges = case
    graph = make_graph(num_nodes, edges)
    turned = [(target, source) for source, target in edges]
    heights = slow_levels(num_nodes, turned)
    check(schedule_of(graph), num_nodes, edges, slow_levels(num_nodes, edges))
    check(schedule_of(graph, reverse=True), num_nodes, edges, heights)
    check(schedule_of(graph, turn_edges=True), num_nodes, turned, heights)
    check(
        schedule_of(graph, reverse=True, turn_edges=True),
        num_nodes,
        turned,
        slow_levels(num_nodes, edges),
    )


@pytest.mark.parametrize("idtype", [torch.int32, torch.int64])
def test_index_types(idtype):
    schedule = schedule_of(dgl.graph(([0, 1], [1, 2]), idtype=idtype))
    assert schedule.nodes.dtype == schedule.source.dtype == torch.int64
    assert schedule.nodes.tolist() == [0, 1, 2]


def test_no_nodes_and_no_edges():
    assert schedule_of(make_graph(0, [])).levels == ()
    assert schedule_of(make_graph(0, [])).num_leaves == 0
    lonely = schedule_of(make_graph(3, []))
    assert [(level.start, level.end) for level in lonely.levels] == [(0, 3)]
    assert lonely.num_edges == 0


def test_more_nodes_than_16_bits_can_count():
    num_nodes = 70_000
    children = torch.randperm(num_nodes - 1) + 1
    graph = dgl.graph((children, (children - 1) // 2))
    schedule = schedule_of(graph)
    depth = torch.log2(torch.arange(1, num_nodes + 1).double()).floor()
    assert torch.equal(schedule.ordinal[schedule.nodes], torch.arange(num_nodes))
    assert (schedule.source < schedule.target).all()
    assert len(schedule.levels) == int(depth.max()) + 1


def test_long_chain():
    num_nodes = 20_000
    schedule = schedule_of(dgl.graph((torch.arange(num_nodes - 1), torch.arange(1, num_nodes))))
    assert len(schedule.levels) == num_nodes
    assert torch.equal(schedule.nodes, torch.arange(num_nodes))


def test_cycles():
    expected = "expected an acyclic graph, got one with a cycle among its"
    rest = list(range(1, 10))
    for source, target, cycle in (
        ([0, 1, 2], [1, 2, 1], "3 nodes, 1 -> 2 -> 1"),
        ([0, 1, 1], [1, 1, 2], "3 nodes, 1 -> 1: dgl.remove_self_loop removes such edges"),
        ([0, *rest], [*rest, 0], "10 nodes, 0 -> 1 -> 2 -> 3 -> 4 -> ... -> 0"),
    ):
        with pytest.raises(PropagationError, match=re.escape(f"{expected} {cycle}")):
            schedule_of(dgl.graph((source, target)))


def test_a_cycle_beside_many_paths():
    """A search for the cycle that follows all edges of a path again takes most of a minute."""
    size = 1000  # leaves, nodes of a chain to which all of them lead, and a cycle apart
    leaves, chain = torch.arange(size), torch.arange(size, 2 * size)
    cycle = torch.tensor([2 * size, 2 * size + 1])
    source = torch.cat((leaves, chain[:-1], cycle))
    target = torch.cat((torch.full((size,), size), chain[1:], cycle.flip(0)))
    with pytest.raises(PropagationError, match=r"2002 nodes, 2000 -> 2001 -> 2000$"):
        schedule_of(dgl.graph((source, target)))


def test_it_is_cached_as_long_as_the_graph_and_its_edges():
    graph = make_graph(4, [(0, 1), (1, 2)])
    first = schedule_of(graph)
    graph.ndata["h"] = torch.zeros(4)
    assert schedule_of(graph) is first
    with graph.local_scope():
        assert schedule_of(graph) is first
    assert schedule_of(graph, reverse=True) is not first
    copy = graph.local_var()
    assert schedule_of(copy) is first
    copy.add_edges([2], [3])
    assert schedule_of(copy).num_edges == 3
    assert schedule_of(graph) is first
    graph.add_nodes(1)
    assert schedule_of(graph).num_nodes == 5


def test_it_is_pickled_with_the_graph():
    graph = make_graph(4, [(0, 1), (1, 2)])
    first = schedule_of(graph)
    again = pickle.loads(pickle.dumps(graph))
    assert notes_of(again).facts
    first.derived["anything"] = lambda: None  # cannot be pickled
    assert pickle.loads(pickle.dumps(first)).derived == {}
    assert schedule_of(again) is schedule_of(again)
    assert schedule_of(again).levels == first.levels
    assert torch.equal(schedule_of(again).source, first.source)


def levels_unknown(graph: dgl.DGLGraph) -> dgl.DGLGraph:
    return dgl.graph(graph.edges(order="eid"), num_nodes=graph.num_nodes())


def assert_same_schedule(ours: Schedule, theirs: Schedule):
    assert ours.levels == theirs.levels
    for name in ("nodes", "ordinal", "edges", "source", "target"):
        assert torch.equal(getattr(ours, name), getattr(theirs, name)), name


@settings(max_examples=30)
@given(
    st.lists(trees(), max_size=4) | st.lists(dependency_trees(), max_size=4),
    st.sampled_from(DIRECTIONS),
    st.booleans(),
)
def test_levels_from_trees(some, direction, by_batch):
    """Schedules computed from the trees' own levels equal those of their graphs."""
    of_words = bool(some) and isinstance(some[0], DependencyTree)
    build = dependency_batch if of_words else constituency_batch
    if by_batch and some:
        graph = batch([build([tree], direction) for tree in some])
    else:
        graph = build(some, direction)
    unknown = levels_unknown(graph)
    assert known_levels(unknown) is None
    for each in (graph, reverse(graph)):
        turned = each is not graph
        assert known_levels(each) is not None
        for take_reverse in (False, True):
            for turn_edges in (False, True):
                ours = schedule_of(each, reverse=take_reverse, turn_edges=turn_edges)
                theirs = schedule_of(unknown, reverse=take_reverse, turn_edges=turned != turn_edges)
                assert_same_schedule(ours, theirs)


def test_both_directions_share_their_schedules():
    graph = constituency_batch(["(3 (2 a) (3 (3 lovely) (2 film)))"])
    turned = reverse(graph)
    assert schedule_of(turned) is schedule_of(graph, turn_edges=True)
    assert schedule_of(turned, turn_edges=True) is schedule_of(graph)
    assert schedule_of(reverse(turned)) is schedule_of(graph)
    turned.add_edges([1], [3])
    assert schedule_of(turned).num_edges == 5
    assert schedule_of(graph).num_edges == 4


def test_no_level_is_searched_for_trees(monkeypatch):
    def fail(*_):
        raise AssertionError("the levels are known")

    monkeypatch.setattr(dgl, "topological_nodes_generator", fail)
    for build, tree in (
        (constituency_batch, "(3 (2 a) (3 (3 lovely) (2 film)))"),
        (dependency_batch, DependencyTree(["a", "lovely", "film"], [2, 2, -1])),
    ):
        for direction in DIRECTIONS:
            graph = build([tree, tree], direction)
            assert schedule_of(graph).num_nodes == graph.num_nodes()
            assert schedule_of(graph, turn_edges=True).num_nodes == graph.num_nodes()
            with pytest.raises(AssertionError, match="known"):
                schedule_of(levels_unknown(graph))


def test_devices():
    schedule = schedule_of(make_graph(3, [(0, 1), (1, 2)]))
    assert schedule.to("cpu") is schedule
    moved = schedule.to("meta")
    assert moved is schedule.to(torch.device("meta"))
    slots = slots_of(schedule, 1, None)
    assert slots.to(torch.device("meta")) is slots.to(torch.device("meta"))
    assert moved.levels == schedule.levels
    for name in ("nodes", "ordinal", "edges", "source", "target"):
        assert getattr(moved, name).shape == getattr(schedule, name).shape
        assert getattr(moved, name).device.type == "meta"


@needs_gpu
def test_gpu():
    rng = random.Random(0)
    edges = [tuple(sorted(rng.sample(range(50), 2))) for _ in range(60)]
    schedule = schedule_of(make_graph(50, edges))
    assert torch.equal(schedule.to("cuda").source.cpu(), schedule.source)
