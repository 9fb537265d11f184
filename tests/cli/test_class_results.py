"""What evaluate prints about many classes."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from graphsent.cli.class_results import tables
from graphsent.tasks.class_report import ClassReport


def confusions(gold, predicted):
    """The lines below the table of 13 classes."""
    report = ClassReport([f"c{number}" for number in range(13)], range(13))
    logits = torch.nn.functional.one_hot(torch.tensor(predicted), 13).float()
    batch = SimpleNamespace(gold=torch.tensor(gold), roots=torch.arange(len(gold)))
    report.update(logits, batch)
    return tables(report).partition("\n\n")[2].splitlines()


def test_of_many_classes_the_most_frequent_confusions_are_listed():
    head, *lines = confusions([0, 2, 0, 0, 1], [2, 0, 1, 1, 1])
    assert head == "most frequent confusions (matrix of all 13 classes: --confusion FILE):"
    assert [line.split() for line in lines] == [
        ["times", "gold", "predicted"],
        ["2", "c0", "c1"],
        ["1", "c0", "c2"],
        ["1", "c2", "c0"],
    ]


def test_of_many_classes_without_errors_no_empty_table_is_printed():
    assert confusions([0, 1, 2], [0, 1, 2]) == ["no confusions"]
