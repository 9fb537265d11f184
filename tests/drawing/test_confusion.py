from __future__ import annotations

import pytest
from pictures import assert_no_overlap, texts

from graphsent.drawing import draw_confusion

pytest.importorskip("matplotlib")
CONFUSION = [[1234, 0, 0], [0, 0, 0], [0, 1, 3]]


def reds(figure) -> list[float]:
    """The red component of each cell, row by row: the bluer, the smaller."""
    return figure.axes[0].collections[2].get_facecolors()[:, 0].tolist()


def test_rows_are_gold_classes_and_columns_predicted_ones():
    figure = draw_confusion([[11, 12, 13], [21, 22, 23], [31, 32, 33]], ["a", "b", "c"])
    found = figure.axes[0].texts
    rows = {
        each.get_text(): each.get_position()[1]
        for each in found
        if each.get_horizontalalignment() == "right"
    }
    places = {
        each.get_text(): each.get_position()
        for each in found
        if each.get_horizontalalignment() == "center"
    }
    for row, gold in enumerate("abc", start=1):
        for column, predicted in enumerate("abc", start=1):
            assert places[f"{row}{column}"] == (places[predicted][0], rows[gold])
    assert places["a"][0] < places["b"][0] == places["predicted"][0] < places["c"][0]
    assert places["predicted"][1] > places["a"][1] == rows["gold"] > rows["a"] > rows["b"]


def test_the_colour_of_a_cell_is_its_share_of_the_row():
    figure = draw_confusion(CONFUSION, ["a", "b", "c"])
    all_of_row, none, *_, quarter, three_quarters = reds(figure)
    assert none > quarter > three_quarters > all_of_row
    assert reds(figure)[3:7] == [none] * 4
    assert "colour: share of the row, from white (0) to blue (1)" in texts(figure)
    assert reds(draw_confusion([[1, 0], [7, 0]], ["a", "b"])) == [all_of_row, none] * 2


def test_large_counts_and_long_names():
    counts = draw_confusion([[123_456_789] * 3] * 3, ["a", "b", "c"], title="Confusion")
    assert texts(counts).count("123,456,789") == 9
    assert_no_overlap(counts)
    names = draw_confusion(CONFUSION, ["a" * 30, "b" * 31, "c"])
    assert {"a" * 30, "b" * 29 + "…", "1,234"} <= set(texts(names))
    assert_no_overlap(names)
