"""Pictures in one style: elements, colours, confusion matrices.

Nothing here imports matplotlib before the first picture is drawn.
"""

from __future__ import annotations

from graphsent.drawing.confusion import draw_confusion

__all__ = ["draw_confusion"]
