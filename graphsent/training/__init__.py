"""Training: options, the training loop, checkpoints, evaluation, and run directories.

Names are imported on first use, since the options alone do not need Lightning.
"""

from __future__ import annotations

from graphsent._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
