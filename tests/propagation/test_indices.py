"""Schedules, slots and distinct words, by their definitions."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from graphsent.models.embeddings.table import WordEmbedding
from graphsent.propagation.schedule.schedule import Schedule, make_schedule
from graphsent.propagation.schedule.slots import make_slots

SHAPES = ("no nodes", "one node", "no edges", "chain", "star", "tree", "dag", "larger dag")


def structure(shape: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sources, targets and levels of an acyclic graph."""
    rng = random.Random(shape)
    num_nodes = {"no nodes": 0, "one node": 1, "larger dag": 400}.get(shape, 40)
    names = rng.sample(range(num_nodes), num_nodes)
    pairs: list[tuple[int, int]] = []
    if shape == "chain":
        pairs = [(number, number + 1) for number in range(num_nodes - 1)]
    elif shape == "star":
        pairs = [(number, num_nodes - 1) for number in range(num_nodes - 1)]
    elif shape == "tree":
        pairs = [(number, rng.randrange(number + 1, 40)) for number in range(num_nodes - 1)]
    elif "dag" in shape:
        pairs = [sorted(rng.sample(range(num_nodes), 2)) for _ in range(3 * num_nodes)]
    levels = [0] * num_nodes
    for source, target in sorted(pairs):
        levels[target] = max(levels[target], levels[source] + 1)
    rng.shuffle(pairs)
    source, target = (np.array([names[pair[end]] for pair in pairs], np.int64) for end in (0, 1))
    level = np.empty(num_nodes, np.int64)
    level[names] = levels
    return source, target, level


def following(schedule: Schedule, levels: np.ndarray, edges: list[tuple[int, int]]) -> None:
    """Checks a schedule by its definition."""
    degrees = [sum(target == node for _, target in edges) for node in range(len(levels))]
    nodes = sorted(range(len(levels)), key=lambda node: (levels[node], degrees[node], node))
    ordinal = {node: place for place, node in enumerate(nodes)}
    rows = sorted(range(len(edges)), key=lambda edge: (ordinal[edges[edge][1]], edge))
    assert schedule.nodes.tolist() == nodes
    assert schedule.ordinal.tolist() == [ordinal[node] for node in range(len(nodes))]
    assert schedule.edges.tolist() == rows
    assert schedule.source.tolist() == [ordinal[edges[edge][0]] for edge in rows]
    assert schedule.target.tolist() == [ordinal[edges[edge][1]] for edge in rows]
    assert schedule.degrees.tolist() == [degrees[node] for node in nodes]
    counts = np.bincount(levels, minlength=schedule.num_levels)
    assert schedule.ends.tolist() == np.cumsum(counts).tolist()


@pytest.mark.parametrize("shape", SHAPES)
def test_schedules(shape):
    source, target, level = structure(shape)
    edges = list(zip(source.tolist(), target.tolist(), strict=True))
    following(make_schedule(source, target, level), level, edges)


def places_of(schedule: Schedule, count: int) -> torch.Tensor:
    """Random slots, distinct for the edges to one node."""
    rng = random.Random(0)
    free = [rng.sample(range(count), count) for _ in range(schedule.num_nodes)]
    places = torch.empty(schedule.num_edges, dtype=torch.int64)
    for edge, target in zip(schedule.edges.tolist(), schedule.target.tolist(), strict=True):
        places[edge] = free[target].pop()
    return places


@pytest.mark.parametrize("dtype", [None, torch.int64, torch.int32, torch.uint8])
@pytest.mark.parametrize("shape", SHAPES)
def test_slots(shape, dtype):
    schedule = make_schedule(*structure(shape))
    count = 1 + int(schedule.degrees.max(initial=0))
    places = None if dtype is None else places_of(schedule, count)
    slots = make_slots(schedule, count, None if places is None else places.to(dtype))
    found = slots.source.reshape(-1, count).tolist()
    expected = [[schedule.num_nodes] * count for _ in found]
    taken = [0] * schedule.num_nodes
    rows = (schedule.edges, schedule.source, schedule.target)
    for edge, source, target in zip(*(part.tolist() for part in rows), strict=True):
        place = taken[target] if places is None else int(places[edge])
        taken[target] += 1
        expected[target - schedule.num_leaves][place] = source
    assert found == expected


@pytest.mark.parametrize("places", [[0, 0], [0, 2], [-1, 1], [0, 2**62], None])
def test_slots_out_of_range(places):
    count = 1 if places is None else 2
    schedule = make_schedule(np.array([0, 1]), np.array([2, 2]), np.array([0, 0, 1]))
    given = None if places is None else torch.tensor(places)
    with pytest.raises(ValueError, match="expected edges in different slots"):
        make_slots(schedule, count, given)


@pytest.mark.parametrize("places", [[0], [0, 1, 2]])
def test_slots_of_other_edges(places):
    schedule = make_schedule(np.array([0, 1]), np.array([2, 2]), np.array([0, 0, 1]))
    with pytest.raises(ValueError, match="expected one slot per edge"):
        make_slots(schedule, 4, torch.tensor(places))


@pytest.mark.parametrize(
    "tokens", [[], [-1], [5], [3, 3, 3], [-1, 7, 2, -1, 7, 0], list(range(50))]
)
def test_distinct_words(tokens):
    table, known = WordEmbedding(50, 4), torch.tensor(tokens, dtype=torch.int64)
    words, places = (part.numpy() for part in table._distinct(known))
    assert np.where(places < 0, -1, np.append(words, -1)[places]).tolist() == tokens
    last = {word: number for number, word in enumerate(tokens) if word >= 0}
    assert words.tolist() == sorted(last, key=last.get)
    for other in (known.int(), torch.stack((known, known), 1)[:, 0]):
        assert all(map(torch.equal, table._distinct(other), table._distinct(known)))
