"""Schedules, slots and distinct words: compiled code agrees exactly with numpy."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from graphsent.kernels.library import SWITCH
from graphsent.models.embeddings.table import WordEmbedding
from graphsent.propagation import kernels_in_use
from graphsent.propagation.schedule.indices import distinct_words, fill_schedule
from graphsent.propagation.schedule.schedule import Schedule, make_schedule
from graphsent.propagation.schedule.slots import fill_slots, make_slots

pytestmark = pytest.mark.skipif(not kernels_in_use(), reason="there is no C compiler")

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


def both(monkeypatch, function) -> tuple:
    """The results of a function with and without compiled code."""
    with monkeypatch.context() as context:
        context.delenv(SWITCH, raising=False)
        compiled = function()
        context.setenv(SWITCH, "0")
        return compiled, function()


def assert_same(schedules: tuple[Schedule, Schedule]) -> None:
    compiled, plain = schedules
    for name in ("nodes", "position", "edges", "source", "target"):
        assert torch.equal(getattr(compiled, name), getattr(plain, name)), name
    assert compiled.levels == plain.levels
    for name in ("num_nodes", "num_edges", "num_sources", "num_levels"):
        assert getattr(compiled, name) == getattr(plain, name), name


@pytest.mark.parametrize("shape", SHAPES)
def test_schedules(monkeypatch, shape):
    given = structure(shape)
    assert_same(both(monkeypatch, lambda: make_schedule(*given)))
    apart = [np.stack((part, part), axis=1)[:, 0] for part in given]  # not contiguous
    assert_same(both(monkeypatch, lambda: make_schedule(*apart)))
    assert fill_schedule(*given) is not None
    monkeypatch.setenv(SWITCH, "0")
    assert fill_schedule(*given) is None


@pytest.mark.parametrize("wrong", [-1, 3])
@pytest.mark.parametrize("part", range(3))
def test_node_and_level_numbers_out_of_range(monkeypatch, wrong, part):
    given = [np.array([0, 1]), np.array([2, 2]), np.array([0, 0, 1])]
    make_schedule(*given)
    given[part][1] = wrong
    for switch in ("1", "0"):
        monkeypatch.setenv(SWITCH, switch)
        with pytest.raises(ValueError, match="expected node numbers below 3"):
            make_schedule(*given)


def places_of(schedule: Schedule, count: int) -> torch.Tensor:
    """Random slots, distinct for the edges to one node."""
    rng = random.Random(0)
    free = [rng.sample(range(count), count) for _ in range(schedule.num_nodes)]
    places = torch.empty(schedule.num_edges, dtype=torch.int64)
    for edge, target in zip(schedule.edges.tolist(), schedule.target.tolist(), strict=True):
        places[edge] = free[target].pop()
    return places


@pytest.mark.parametrize("with_places", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_slots(monkeypatch, shape, with_places):
    schedule = make_schedule(*structure(shape))
    count = 1 + int(schedule.degrees.max(initial=0))
    places = places_of(schedule, count) if with_places else None
    compiled, plain = both(monkeypatch, lambda: make_slots(schedule, count, places))
    assert torch.equal(compiled.source, plain.source)
    assert fill_slots(schedule, places, count, compiled.source.clone()) is True


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8])
def test_slots_of_other_types(monkeypatch, dtype):
    schedule = make_schedule(*structure("tree"))
    places = places_of(schedule, 40)
    expected = make_slots(schedule, 40, places)
    for slots in both(monkeypatch, lambda: make_slots(schedule, 40, places.to(dtype))):
        assert torch.equal(slots.source, expected.source)


@pytest.mark.parametrize("places", [[0, 0], [0, 2], [-1, 1], [0, 2**62], None])
def test_slots_out_of_range(monkeypatch, places):
    count = 1 if places is None else 2
    schedule = make_schedule(np.array([0, 1]), np.array([2, 2]), np.array([0, 0, 1]))
    given = None if places is None else torch.tensor(places)
    for switch in ("1", "0"):
        monkeypatch.setenv(SWITCH, switch)
        with pytest.raises(ValueError, match="expected edges in different slots"):
            make_slots(schedule, count, given)


@pytest.mark.parametrize("places", [[0], [0, 1, 2]])
def test_slots_of_other_edges(monkeypatch, places):
    schedule = make_schedule(np.array([0, 1]), np.array([2, 2]), np.array([0, 0, 1]))
    for switch in ("1", "0"):
        monkeypatch.setenv(SWITCH, switch)
        with pytest.raises(ValueError, match=r"expected one slot per edge, \(2,\)"):
            make_slots(schedule, 4, torch.tensor(places))


def test_edges_to_the_first_level_have_no_slot(monkeypatch):
    """As in the schedule of a graph for messages against the order of the levels."""
    schedule = make_schedule(np.array([0, 1]), np.array([2, 2]), np.array([1, 1, 0]))
    for switch in ("1", "0"):
        monkeypatch.setenv(SWITCH, switch)
        with pytest.raises(ValueError, match="expected edges in different slots"):
            make_slots(schedule, 2)


@pytest.mark.parametrize(
    "tokens",
    [[], [-1], [5], [3, 3, 3], [-1, 7, 2, -1, 7, 0], list(range(50)), [2**40, 1, 2**40 + 64, 1]],
)
def test_distinct_words(monkeypatch, tokens):
    known = torch.tensor(tokens, dtype=torch.int64)
    words, places = (part.numpy() for part in distinct_words(known))
    assert len(set(words.tolist())) == len(words)
    assert np.where(places < 0, -1, np.append(words, -1)[places]).tolist() == tokens
    last = {word: number for number, word in enumerate(tokens) if word >= 0}
    assert words.tolist() == sorted(last, key=last.get)
    for other in (known.int(), torch.stack((known, known), 1)[:, 0]):
        if max(tokens, default=0) < 2**31:
            assert all(map(torch.equal, distinct_words(other), distinct_words(known)))
    monkeypatch.setenv(SWITCH, "0")
    assert distinct_words(known) is None


def test_many_words_are_the_same_with_and_without_compiled_code(monkeypatch):
    table = WordEmbedding(1000, 4)
    token = torch.randint(-300, 1000, (5000,)).clamp(min=-1)
    compiled, plain = both(monkeypatch, lambda: table.indexed(token))
    assert torch.equal(compiled.index, plain.index)
    assert torch.equal(compiled.rows, plain.rows)
