"""How results look on a terminal."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["figures"]


def figures(values: Mapping[str, float]) -> str:
    """Metrics in one line: accuracies in per cent, the rest as they are."""
    return ", ".join(
        f"{name.replace('_', ' ')} {100 * value:.2f} %"
        if name.endswith("accuracy")
        else f"{name.replace('_', ' ')} {value:.4f}"
        for name, value in values.items()
    )
