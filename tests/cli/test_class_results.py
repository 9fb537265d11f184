"""What evaluate prints about many classes."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from graphsent.cli.class_results import tables
from graphsent.tasks.class_report import ClassReport


def test_of_many_classes_the_most_frequent_confusions_are_listed():
    report = ClassReport([f"c{number}" for number in range(13)], range(13))
    gold, predicted = torch.tensor([0, 2, 0, 0, 1]), torch.tensor([2, 0, 1, 1, 1])
    logits = torch.nn.functional.one_hot(predicted, 13).float()
    report.update(logits, SimpleNamespace(gold=gold, roots=torch.arange(5)))
    head, *lines = tables(report).partition("\n\n")[2].splitlines()
    assert head == "most frequent confusions (matrix of all 13 classes: --confusion FILE):"
    assert [line.split() for line in lines] == [
        ["times", "gold", "predicted"],
        ["2", "c0", "c1"],
        ["1", "c0", "c2"],
        ["1", "c2", "c0"],
    ]
