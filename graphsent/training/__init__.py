"""Training: options, the loop, checkpoints, evaluation, and the directory of a run.

Names are imported on first use: the options alone do not need Lightning.
"""

from __future__ import annotations

from graphsent._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
