"""DGL itself, for ``graphsent.dgl``."""

from __future__ import annotations

from typing import Any

from graphsent._dgl import import_dgl

__all__ = ["dgl"]

dgl: Any = import_dgl()
