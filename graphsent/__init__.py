"""Sentence models that read parse trees, as graph neural networks on DGL and PyTorch.

The names below and the subpackages are imported on first use, so that ``import graphsent`` itself
is cheap: it loads neither torch nor DGL, nor anything needed only for training or drawing.
"""

from __future__ import annotations

from graphsent._lazy import attach

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach(__name__)
