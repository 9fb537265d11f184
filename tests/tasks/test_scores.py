"""Scores as numbers in decimal notation, and data whose scores are all equal."""

from __future__ import annotations

import pytest

from graphsent._numbers import decimal
from graphsent.errors import DataError
from graphsent.pairs import TreePair
from graphsent.sentences import Sentence
from graphsent.tasks.scores import check_scores


@pytest.mark.parametrize(
    ("label", "score"),
    [("3", 3), ("-0.5", -0.5), ("+1.", 1), (".25", 0.25), ("1e3", 1000), ("2.5E-1", 0.25)],
)
def test_decimal_notation(label, score):
    assert decimal(label) == score


@pytest.mark.parametrize(
    "label",
    [
        "",
        ".",
        "e3",
        "1_000",
        "1,5",
        "0x10",
        "१२",
        "1 000",
        " 1",
        "1\n",
        "nan",
        "inf",
        "1e39",
        "1e999",
    ],
)
def test_what_is_no_score(label):
    assert decimal(label) is None


def test_equal_scores():
    first = Sentence(["a"], "2")
    examples = [first, Sentence(["b"], ""), Sentence(["c"], "2.0")]
    for split, metric in (("train", "pearson"), ("train", "mse"), ("dev", "pearson")):
        with pytest.raises(DataError, match=f"{split}: all scores are 2: expected several"):
            check_scores(split, examples, metric)
        check_scores(split, [*examples, Sentence(["d"], "3")], metric)
        check_scores(split, [], metric)
    check_scores("dev", examples, "mse")
    pairs = [TreePair(first, first, score) for score in (1.5, None, 1.5)]
    with pytest.raises(DataError, match=r"dev: all scores are 1\.5"):
        check_scores("dev", pairs, "spearman")
