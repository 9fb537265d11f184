"""Reproduction of the papers' tables: what was reported, what is run, and the results.

A *table* has rows with a paper's figures, each with the *configuration* that reproduces it. A
configuration is run with several seeds, or on all folds of its task. Each finished run is one small
file, valid until the configuration, its revision or its data change; tables are computed from these
files alone.
"""

from __future__ import annotations

from graphsent._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
