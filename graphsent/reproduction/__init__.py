"""The tables of the papers, run anew: what was reported, what is run for it, and what came out.

A *table* has rows with the figures of a paper, and for each the *configuration* that stands for it
here. A configuration is run with several seeds, or on all folds of its task. Each finished run is
one small file, kept until the configuration, its revision or its data change; tables are made of
these files alone.
"""

from __future__ import annotations

import importlib
from typing import Any

_NAMES = {
    "Catalogue": "catalogue",
    "Configuration": "configurations",
    "Execution": "execution",
    "FinishedRuns": "finished",
    "Places": "places",
    "Run": "runs",
    "Table": "tables",
    "compare": "comparison",
    "entries": "report",
    "markdown": "markdown",
    "repeat": "repetition",
    "run_all": "scheduling",
    "write_report": "report",
}

__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
