"""Running a trained model over many trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import torch
from torch import nn

from graphsent.errors import ModelError

__all__ = ["evaluating", "map_batches"]

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients; every submodule gets its own mode back afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training


def map_batches(
    items: Sequence[Item],
    sizes: Sequence[int],
    batch_size: int,
    compute: Callable[[list[Item]], Sequence[Result]],
) -> list[Result]:
    """``compute`` over batches of items of like size, largest first; results in the items' order.

    Raises:
        ModelError: The batch size is not positive.
    """
    if batch_size < 1:
        raise ModelError(f"batch_size: expected at least 1, got {batch_size}")
    order = np.argsort(-np.asarray(sizes, np.int64), kind="stable")
    results: dict[int, Result] = {}
    for begin in range(0, len(order), batch_size):
        chosen = order[begin : begin + batch_size].tolist()
        computed = compute([items[index] for index in chosen])
        results.update(zip(chosen, computed, strict=True))
    return [results[index] for index in range(len(items))]
