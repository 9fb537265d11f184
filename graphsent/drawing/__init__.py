"""Pictures in one style: confusion matrices, learning curves and HTML pages of predictions.

matplotlib is imported only when the first picture is drawn.
"""

from __future__ import annotations

from graphsent.drawing.confusion import draw_confusion
from graphsent.drawing.curves import draw_curves
from graphsent.drawing.page import ClassPrediction, write_page

__all__ = ["ClassPrediction", "draw_confusion", "draw_curves", "write_page"]
