"""Pictures in one style: elements, colours, confusion matrices, learning curves.

Nothing here imports matplotlib before the first picture is drawn.
"""

from __future__ import annotations

from graphsent.drawing.confusion import draw_confusion
from graphsent.drawing.curves import draw_curves

__all__ = ["draw_confusion", "draw_curves"]
