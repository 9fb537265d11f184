"""How results look on a terminal."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["figure", "figures"]


def figures(values: Mapping[str, float]) -> str:
    """Metrics in one line: accuracies in per cent, the rest as they are."""
    return ", ".join(
        f"{name.replace('_', ' ')} {figure(name, value)}" for name, value in values.items()
    )


def figure(name: str, value: float) -> str:
    """A metric: an accuracy or F1 in per cent, others as they are."""
    return f"{100 * value:.2f} %" if name.endswith(("accuracy", "f1")) else f"{value:.4f}"
