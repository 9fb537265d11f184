"""Confusion, class metrics and mistakes, checked by hand; the picture of a matrix."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from graphsent.drawing import draw_confusion
from graphsent.errors import DataError
from graphsent.tasks import get_task
from graphsent.tasks.class_report import ClassReport


def batch_of(labels):
    return SimpleNamespace(gold=torch.tensor(labels), roots=torch.arange(len(labels)))


def logits_of(rows):
    return torch.log(torch.tensor(rows))


@pytest.fixture
def report():
    report = ClassReport(("a", "b", "c"), (0, 1, 2))
    report.update(logits_of([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1]]), batch_of([0, 1]))
    report.update(
        logits_of([[0.1, 0.8, 0.1], [0.9, 0.1, 0.0], [0.2, 0.2, 0.6]]), batch_of([1, 2, -1])
    )
    return report


def test_confusion_and_class_metrics(report):
    assert report.confusion == [[1, 0, 0], [1, 1, 0], [1, 0, 0]]
    a, b, c = report.classes
    assert (a.name, a.precision, a.recall, a.f1, a.count) == pytest.approx(("a", 1 / 3, 1, 0.5, 1))
    assert (b.precision, b.recall, b.f1, b.count) == pytest.approx((1, 0.5, 2 / 3, 2))
    assert (c.precision, c.recall, c.f1, c.count) == (0, 0, 0, 1)


def test_the_most_confident_mistakes_come_first(report):
    report.update(logits_of([[0.2, 0.7, 0.1]]), batch_of([0]))
    found = [(each.index, each.gold, each.predicted) for each in report.mistakes()]
    assert found == [(3, "c", "a"), (5, "a", "b"), (1, "b", "a")]
    assert report.mistakes()[0].probability == pytest.approx(0.9)


def test_classes_that_do_not_compete_are_left_out():
    task = get_task("sst2", neutral="class")
    report = ClassReport(task.label_names, task.judged)
    report.update(logits_of([[0.1, 0.7, 0.2], [0.2, 0.7, 0.1]]), batch_of([2, 1]))
    assert report.names == ("negative", "positive")
    assert report.confusion == [[0, 0], [0, 1]]


def test_units_that_are_not_sentences_do_not_count():
    report = ClassReport(("a", "b"), (0, 1))
    batch = SimpleNamespace(gold=torch.tensor([0, 1, 1]), roots=torch.tensor([2]))
    report.update(logits_of([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8]]), batch)
    assert report.confusion == [[0, 0], [0, 1]]


def test_the_picture_of_a_confusion_matrix_is_reproducible(report, tmp_path):
    path = tmp_path / "confusion.svg"
    draw_confusion(
        report.confusion, ("a", "b", "a name that is much too long for a cell"), path=path
    )
    assert path.read_text().startswith("<?xml")
    first = path.read_bytes()
    draw_confusion(
        report.confusion, ("a", "b", "a name that is much too long for a cell"), path=path
    )
    assert path.read_bytes() == first
    with pytest.raises(DataError, match=r"\.png"):
        draw_confusion(report.confusion, report.names, path=tmp_path / "confusion.bmp")
    for confusion in ([[1, 2]], [[1], [2]], [[1, 2], [3]]):
        with pytest.raises(DataError, match="expected 2 rows of 2 counts, one per name"):
            draw_confusion(confusion, ["a", "b"])
    with pytest.raises(DataError, match="at least one class"):
        draw_confusion([], [])
