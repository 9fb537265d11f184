from __future__ import annotations

import math

import numpy as np
import pytest
from pictures import assert_no_overlap, texts

from graphsent.drawing import draw_curves
from graphsent.errors import DataError

to_hex = pytest.importorskip("matplotlib.colors").to_hex


@pytest.mark.parametrize("epochs", [1, 2, 5, 12, 99, 1000])
def test_curves_have_names_scales_and_epochs(epochs):
    falling = [30 / epoch for epoch in range(1, epochs + 1)]
    rising = [1 - 1 / (epoch + 1) for epoch in range(1, epochs + 1)]
    nearly = [value + 0.001 for value in rising]
    figure = draw_curves(
        {"training": {"loss": falling}, "dev": {"root accuracy": rising, "macro F1": nearly}},
        title="A run",
    )
    assert {"A run", "training", "dev", "loss", "root accuracy", "macro F1"} <= set(texts(figure))
    assert texts(figure).count("1") >= 2  # the first epoch of both panels
    assert texts(figure).count("epoch") == 2
    assert_no_overlap(figure)


def test_a_curve_lies_between_the_numbers_of_its_scale():
    figure = draw_curves({"dev": {"accuracy": [0.46, 0.52, 0.605]}})
    scale = [float(text) for text in texts(figure) if text.startswith("0.")]
    assert scale == [0.45, 0.5, 0.55, 0.6, 0.65]
    lines, *_ = figure.axes[0].collections
    places = [point for segment in lines.get_segments() for point in segment.tolist()]
    heights = {round(y, 6) for _, y in places}
    share = (0.46 - scale[0]) / (scale[-1] - scale[0])
    assert round(150 * share, 6) in heights


@pytest.mark.parametrize(
    ("epochs", "named"),
    [
        (2, [1, 2]),
        (10, [*range(1, 11)]),
        (12, [1, 2, 4, 6, 8, 10, 12]),
        (40, [1, 5, 10, 15, 20, 25, 30, 35, 40]),
        (41, [1, 5, 10, 15, 20, 25, 30, 35, 40]),
        (1000, [1, *range(100, 1001, 100)]),
    ],
)
def test_epochs_are_named_below_their_values(epochs, named):
    figure = draw_curves({"dev": {"loss": [1 / (epoch + 1) for epoch in range(epochs)]}})
    lines, _, markers = figure.axes[0].collections
    curve = lines.get_segments()[1 - epochs :]
    places = [curve[0][0][0], *(end[0] for _, end in curve)]
    found = {
        int(text.get_text()): text.get_position()[0]
        for text in figure.axes[0].texts
        if text.get_text().isdigit()
    }
    assert list(found) == named
    assert found == pytest.approx({epoch: places[epoch - 1] for epoch in named})
    assert len(markers.get_paths()) == (epochs if epochs <= 40 else 0)


def test_the_longest_curve_sets_the_epochs():
    figure = draw_curves({"dev": {"short": [2.0, 1.5], "long": [4.0, 3.0, 2.0, 1.0]}})
    assert [text for text in texts(figure) if text.isdigit()] == ["1", "2", "3", "4"]
    assert_no_overlap(figure)


def test_each_curve_is_named_at_its_end_in_its_colour():
    curves = {name: [0.0, float(3 * place % 7)] for place, name in enumerate("abcdefg")}
    figure = draw_curves({"dev": curves})
    lines, *_ = figure.axes[0].collections
    last = zip(lines.get_segments()[-7:], lines.get_colors()[-7:], strict=True)
    ends = [(tuple(end), to_hex(color)) for (_, end), color in last]
    found = {text.get_text(): text for text in figure.axes[0].texts}
    names = [found[name] for name in curves]
    assert [text.get_color() for text in names] == [color for _, color in ends]
    assert len(set(ends)) == len({color for _, color in ends}) == 7
    shifts = [
        (x - end_x, y - end_y)
        for (x, y), ((end_x, end_y), _) in zip(
            (text.get_position() for text in names), ends, strict=True
        )
    ]
    assert shifts == [pytest.approx(shifts[0])] * 7
    with pytest.raises(DataError, match="dev: expected 1 to 7 curves, got 8"):
        draw_curves({"dev": {**curves, "h": [1.0]}})


@pytest.mark.parametrize("value", [0.0, 5.0, -3.0, 1e-7])
def test_values_that_are_all_the_same(value):
    assert "loss" in texts(draw_curves({"training": {"loss": [value] * 3}}))


def test_values_that_are_the_same_but_for_rounding():
    figure = draw_curves({"dev": {"accuracy": [0.3, 0.1 + 0.2]}})
    assert "0.30" in texts(figure)


def test_curves_of_arrays():
    values = [0.5, 0.75]
    figure = draw_curves({"dev": {"accuracy": np.array(values)}})
    assert texts(figure) == texts(draw_curves({"dev": {"accuracy": values}}))


def test_files(tmp_path):
    for name in ("curves.svg", "curves.png"):
        draw_curves({"dev": {"accuracy": [0.5, 0.6]}}, path=tmp_path / name)
        assert (tmp_path / name).stat().st_size


@pytest.mark.parametrize(
    ("panels", "message"),
    [
        ({}, "no curves"),
        ({"dev": {}}, "dev: expected 1 to 7 curves, got 0"),
        ({"dev": {"accuracy": []}}, "dev, accuracy: expected finite numbers"),
        ({"dev": {"accuracy": [0.5, math.nan]}}, "dev, accuracy: expected finite numbers"),
    ],
)
def test_histories_that_cannot_be_drawn(panels, message):
    with pytest.raises(DataError, match=message):
        draw_curves(panels)


@pytest.mark.parametrize("dpi", [0, -3, float("inf"), float("nan")])
def test_a_resolution_that_is_none(dpi):
    with pytest.raises(DataError, match=f"dpi: expected a positive number, got {dpi}"):
        draw_curves({"loss": {"train": [1.0]}}, dpi=dpi)
