"""Reranking metrics against brackets counted by hand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from graphsent.errors import DataError
from graphsent.tasks.rerank_metrics import RerankMetrics


def test_each_choice_adds_up_its_own_brackets():
    # Two lists of three candidates with their gold trees, and one list without one.
    counts = [[4, 8, 10], [6, 9, 10], [1, 5, 10], [10, 10, 10]]
    counts += [[3, 4, 6], [2, 5, 6], [4, 9, 6], [6, 6, 6], [0, 0, 0]]
    batch = SimpleNamespace(
        counts=torch.tensor(counts),
        base=torch.tensor([3.0, 2, 1, -torch.inf, 1, 2, 3, -torch.inf, 9]),
        candidates=[(0, 3), (4, 7), (8, 9)],
        gold=torch.tensor([3, 7, -1]),
    )
    metrics = RerankMetrics()
    metrics.update(torch.tensor([0.0, 1, 0, 9, 1, 5, 2, 9, 9]), batch)
    found = {name: float(value) for name, value in metrics.compute().items()}
    assert found == {
        "f1": pytest.approx(2 * 8 / (14 + 16)),
        "precision": pytest.approx(8 / 14),
        "recall": pytest.approx(8 / 16),
        "one_best_f1": pytest.approx(2 * 8 / (17 + 16)),
        "oracle_f1": pytest.approx(2 * 9 / (13 + 16)),
        "worst_f1": pytest.approx(2 * 3 / (10 + 16)),
    }


def test_without_any_gold_tree_there_is_nothing_to_evaluate():
    batch = SimpleNamespace(
        counts=torch.zeros(2, 3, dtype=torch.int64),
        base=torch.tensor([1.0, 2]),
        candidates=[(0, 2)],
        gold=torch.tensor([-1]),
    )
    metrics = RerankMetrics()
    metrics.update(torch.tensor([0.0, 1]), batch)
    with pytest.raises(DataError, match="no example has a gold tree"):
        metrics.compute()
