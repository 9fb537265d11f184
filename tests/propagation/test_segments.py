"""Sums of edges by node."""

from __future__ import annotations

import pytest
import torch

from graphsent._dgl import dgl
from graphsent.propagation.schedule.schedule import schedule_of
from graphsent.propagation.segments import SUMMED_AT_ONCE, Segmentation

DEGREES = (1, 2, SUMMED_AT_ONCE - 1, SUMMED_AT_ONCE, SUMMED_AT_ONCE + 1, 5 * SUMMED_AT_ONCE)


def stars(degrees: tuple[int, ...]) -> dgl.DGLGraph:
    """Nodes with so many children each, in turns, and a node above all of them."""
    targets = torch.repeat_interleave(torch.arange(len(degrees)), torch.tensor(degrees))
    children = torch.arange(len(targets)) + len(degrees) + 1
    tops = torch.arange(len(degrees))
    top = torch.full_like(tops, len(degrees))
    mixed = torch.randperm(len(targets), generator=torch.Generator().manual_seed(0))
    return dgl.graph((torch.cat((children, tops)), torch.cat((targets[mixed], top))))


def plain_sums(values, target, num_nodes):
    return torch.zeros(num_nodes, values.shape[1]).index_add_(0, target, values)


@pytest.mark.parametrize("degrees", [DEGREES, DEGREES[::-1], (3, 1), (300, 300, 300)])
def test_sums_by_level_and_of_all_edges(degrees):
    schedule = schedule_of(stars(degrees))
    segments = Segmentation(schedule)
    first = schedule.num_sources
    values = torch.randint(-9, 10, (schedule.num_edges, 3)).float()  # sums of these are exact
    sums = plain_sums(values, schedule.target - first, schedule.num_nodes - first)
    assert torch.equal(segments.sum(values), sums)
    for level, part in zip(schedule.levels[1:], segments.by_level(), strict=True):
        rows = values[level.first_edge : level.last_edge]
        expected = sums[level.start - first : level.end - first]
        assert torch.equal(part.sum(rows, out=torch.empty_like(expected)), expected)
        by_edge = part.expand(expected, out=torch.empty_like(rows))
        targets = schedule.target[level.first_edge : level.last_edge] - level.start
        assert torch.equal(by_edge, expected[targets])


def test_rounding_of_long_sums():
    schedule = schedule_of(stars((200_000,)))
    values = torch.rand(schedule.num_edges, 2)
    sums = Segmentation(schedule).sum(values)[0]
    exact = values[:200_000].double().sum(0)
    assert (sums - exact).abs().max() <= 1e-6 * exact.max()
