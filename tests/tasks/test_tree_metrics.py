"""Accuracies against plain counts."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphsent.errors import DataError
from graphsent.tasks import PhraseAccuracy, RootAccuracy, get_task, tree_metrics
from graphsent.tasks.metrics import sentence_metrics


class Batch(NamedTuple):
    gold: torch.Tensor
    roots: torch.Tensor


def batch(gold, roots) -> Batch:
    return Batch(torch.tensor(gold), torch.tensor([*roots]))


def logits(predicted, num_classes=5) -> torch.Tensor:
    return torch.eye(num_classes)[torch.tensor(predicted)]


@given(
    st.lists(
        st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 4)), min_size=1, max_size=6),
        min_size=1,
        max_size=5,
    )
)
def test_accuracies_are_counts_over_all_batches(batches):
    metrics = tree_metrics(range(5))
    for units in batches:
        metrics.update(logits([p for _, p in units]), batch([y for y, _ in units], [0]))
    labelled = [(y, p) for units in batches for y, p in units if y >= 0]
    roots = [units[0] for units in batches if units[0][0] >= 0]
    if not roots:
        with pytest.raises(DataError, match="no example has a gold label"):
            metrics.compute()
        return
    result = metrics.compute()
    for name, cases in (("phrase_accuracy", labelled), ("root_accuracy", roots)):
        right = sum(y == p for y, p in cases)
        assert result[name] == pytest.approx(right / len(cases))


def test_metrics_stay_separate_if_equal_on_the_first_batch():
    metrics = tree_metrics(range(5))
    metrics.update(logits([1]), batch([1], [0]))
    metrics.update(logits([1, 2]), batch([1, 3], [0]))
    assert metrics.compute() == {"root_accuracy": 1, "phrase_accuracy": pytest.approx(2 / 3)}


def test_a_neutral_class_competes_in_training_only():
    scores = torch.tensor([[0.1, 0.9, 0.2], [0.4, 0.9, 0.3], [0.0, 0.9, 0.1], [0.5, 0.9, 0.6]])
    metrics = get_task("sst2", neutral="class").metrics()
    metrics.update(scores, batch([2, 2, 1, 0], [0, 1]))
    result = metrics.compute()
    assert result["root_accuracy"] == pytest.approx(1 / 2)
    assert result["phrase_accuracy"] == pytest.approx(1 / 3)


def test_reset_clears_the_metrics():
    metrics = get_task("sst5").metrics()
    assert get_task("sst5").selection_metric in metrics
    metrics.update(logits([1]), batch([1], [0]))
    metrics.reset()
    metrics.update(logits([1]), batch([2], [0]))
    assert metrics.compute() == {"root_accuracy": 0, "phrase_accuracy": 0}


@pytest.mark.parametrize("metric", [RootAccuracy, PhraseAccuracy])
def test_each_metric_can_be_used_alone(metric):
    accuracy = metric(range(5))
    accuracy.update(logits([1, 2]), batch([1, 2], [1]))
    assert accuracy.compute() == 1


def test_macro_f1_is_the_mean_over_the_classes_that_occur():
    metrics = sentence_metrics(range(4))  # of labelled sentences, 3 is not even predicted
    metrics.update(logits([0, 0, 0, 1, 2, 3], 4), batch([0, 0, 0, 0, 2, -1], range(6)))
    # Precision and recall of 0: 1 and 3/4, of 1: 0, of 2: 1 and 1.
    assert metrics.compute() == {
        "accuracy": pytest.approx(4 / 5),
        "macro_f1": pytest.approx((6 / 7 + 0 + 1) / 3),
    }
