"""What a picture shows, for tests."""

from __future__ import annotations

import itertools

import pytest


def texts(figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def assert_no_overlap(figure) -> None:
    """No two texts overlap, and none extends beyond the picture."""
    agg = pytest.importorskip("matplotlib.backends.backend_agg")
    renderer = agg.FigureCanvasAgg(figure).get_renderer()
    boxes = [text.get_window_extent(renderer) for text in figure.axes[0].texts]
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    for box in boxes:
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y1 <= figure.bbox.height
