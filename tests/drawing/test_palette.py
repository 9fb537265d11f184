from __future__ import annotations

import itertools

import numpy as np
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
def test_other_labels_are_not_classes(labels):
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
    for color in (*colors, *class_colors(count, [], ordered_classes=False)):
        lighter, darker = sorted((luminance(color.fill), luminance(color.text)), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) > 4.5  # the contrast WCAG asks for


# Machado, Oliveira and Fernandes 2009, on linear RGB, at severity 1.
VISION = {
    "common": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(color: str, vision) -> np.ndarray:
    """The CIELAB coordinates of a colour as perceived."""
    linear = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]) ** 2.2
    seen = TO_XYZ @ np.clip(np.array(vision) @ linear, 0, 1) / TO_XYZ.sum(axis=1)
    x, y, z = np.where(seen > 0.008856, np.cbrt(seen), 7.787 * seen + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize(("count", "least"), [(6, 10), (9, 5)])
def test_classes_without_an_order_can_be_told_apart(count, least, vision):
    fills = [each.fill for each in class_colors(count, [], ordered_classes=False)]
    assert len(set(fills)) == count
    places = [lab(fill, VISION[vision]) for fill in fills]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(places, 2)) > least


def test_many_classes_without_an_order_share_colours():
    colors = class_colors([f"class {index}" for index in range(50)], [], ordered_classes=False)
    assert len({each.fill for each in colors}) == 9
    assert colors[0].fill == colors[9].fill != colors[1].fill


def test_labels_outside_the_classes_are_rejected():
    with pytest.raises(DataError, match="at least 2, got 1"):
        class_colors(1, ["0"])
    with pytest.raises(DataError, match="label '2' is not a class: expected 0 to 1"):
        class_colors(2, ["0", "2"])
    with pytest.raises(DataError, match="label 'NP' is not a class"):
        class_colors(("a", "b"), ["NP"])
