"""Training: options, the loop, checkpoints, evaluation, and the directory of a run.

Names are imported on first use: the options alone do not need Lightning.
"""

from __future__ import annotations

import importlib
from typing import Any

_NAMES = {
    "RunConfig": "config",
    "RunDirectory": "directory",
    "RunSet": "run_set",
    "TrainingError": "errors",
    "TrainingInterrupted": "errors",
    "TrainingModule": "module",
    "TrainingOptions": "options",
    "TreeDataModule": "data",
    "count_parameters": "setting",
    "evaluate": "evaluation",
    "flushed_subnormals": "subnormals",
    "load_model": "directory",
    "resume": "run",
    "resume_runs": "runs",
    "summary": "run_set",
    "train": "run",
    "train_runs": "runs",
}

__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
