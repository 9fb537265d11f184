from __future__ import annotations

import pytest

from graphsent.drawing.palette import class_colors
from graphsent.errors import DataError


def luminance(color: str) -> float:
    red, green, blue = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2


def test_sst_labels_are_five_classes():
    colors = class_colors(None, ["", "4", "2"])
    assert [color.name for color in colors] == [
        "very negative",
        "negative",
        "neutral",
        "positive",
        "very positive",
    ]
    assert colors[2].fill == "#f7f7f7"


@pytest.mark.parametrize("labels", [[], ["", ""], ["NP", "1"], ["5"]])
def test_other_labels_are_no_classes(labels):
    assert class_colors(None, labels) == ()


def test_named_and_numbered_classes():
    assert [color.name for color in class_colors(2, ["1"])] == ["negative", "positive"]
    assert [color.name for color in class_colors(["bad", "good"], ["1"])] == ["bad", "good"]
    assert [color.name for color in class_colors(4, [])] == [""] * 4
    assert class_colors(2, [])[0].fill == class_colors(5, [])[0].fill


@pytest.mark.parametrize("count", [2, 3, 4, 5, 7, 11])
def test_colors_differ_and_text_is_readable(count):
    colors = class_colors(count, [])
    assert len({color.fill for color in colors}) == count
    for color in colors:
        lighter, darker = sorted((luminance(color.fill), luminance(color.text)), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) > 4.5  # the contrast WCAG asks for


def test_labels_outside_the_classes_are_refused():
    with pytest.raises(DataError, match="at least 2, got 1"):
        class_colors(1, ["0"])
    with pytest.raises(DataError, match="label '2' is not a class: expected 0 to 1"):
        class_colors(2, ["0", "2"])
    with pytest.raises(DataError, match="label 'NP' is not a class"):
        class_colors(("a", "b"), ["NP"])
