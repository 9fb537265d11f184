"""Formatting of metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["figure", "figures", "is_share", "metric_title", "selection_figures"]

_SHARES = ("accuracy", "f1", "precision", "recall")


def figures(values: Mapping[str, float]) -> str:
    """Formats metrics in one line, each with its name."""
    return ", ".join(
        f"{metric_title(name)} {figure(name, value)}" for name, value in values.items()
    )


def selection_figures(results: Mapping[str, Any]) -> str:
    """Formats the first metric, the selection metric, of dev and, if evaluated, of test."""
    found = {}
    for split in ("dev", "test"):
        for name, value in list(results.get(split, {}).items())[:1]:
            found[f"{split}_{name}"] = value
    return figures(found)


def figure(name: str, value: float, form: str = ".4g") -> str:
    """Formats a metric: accuracies in per cent, others in the given format."""
    return f"{100 * value:.2f} %" if is_share(name) else f"{value:{form}}"


def is_share(name: str) -> bool:
    """Whether a metric is a fraction that is conventionally given in per cent."""
    return name.endswith(_SHARES)


def metric_title(name: str) -> str:
    """The display name of a metric: ``macro F1`` for ``macro_f1``."""
    return " ".join("F1" if part == "f1" else part for part in name.split("_"))
