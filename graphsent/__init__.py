"""Sentence models that read parse trees, as graph neural networks on DGL and PyTorch.

The names below and the subpackages are imported on first use, so that ``import graphsent`` itself
is cheap: it loads neither torch nor DGL, nor anything needed only for training or drawing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Public name -> module that defines it; a room is public as a module of its own.
_NAMES = {
    "ChildSumTreeLSTM": "graphsent.cells",
    "GraphsentError": "graphsent.errors",
    "GraphsentWarning": "graphsent.errors",
    "NaryTreeLSTM": "graphsent.cells",
    "Tree": "graphsent.trees",
    "TreeLSTMClassifier": "graphsent.models",
    "Vocabulary": "graphsent.vocabulary",
    "constituency_batch": "graphsent.graphs",
    "constituency_graph": "graphsent.graphs",
    "dependency_graph": "graphsent.graphs",
    "dgl": "graphsent._dgl",
    "get_task": "graphsent.tasks",
    "load_pretrained": "graphsent.models",
    "read_conllu": "graphsent.trees",
    "read_trees": "graphsent.trees",
}
_ROOMS = (
    "cells",
    "drawing",
    "errors",
    "graphs",
    "layers",
    "models",
    "parsing",
    "propagation",
    "tasks",
    "testing",
    "training",
    "trees",
)

__all__ = sorted(["__version__", *_NAMES, *_ROOMS])


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
