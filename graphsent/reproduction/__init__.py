"""The tables of the papers, run anew: what was reported, what is run for it, and what came out.

A *table* has rows with the figures of a paper, and for each the *configuration* that stands for it
here. A configuration is run with several seeds, or on all folds of its task. Each finished run is
one small file, kept until the configuration, its revision or its data change; tables are made of
these files alone.
"""

from __future__ import annotations

from graphsent._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
