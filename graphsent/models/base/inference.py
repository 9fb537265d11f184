"""Inference over many trees."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from graphsent.errors import ModelError
from graphsent.models.arguments import check_sizes

__all__ = ["evaluating", "map_batches"]

ModuleType = TypeVar("ModuleType", bound=nn.Module)
Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def evaluating(model: ModuleType) -> Iterator[ModuleType]:
    """Context manager that yields a view of the model in evaluation mode, without gradients.

    The view shares the parameters and buffers of the model, but has its own modules: the model's
    mode is not changed, so that any number of threads can run inference at once.
    """
    with torch.no_grad():
        yield _in_evaluation_mode(model, {})


def _in_evaluation_mode(module: ModuleType, made: dict[nn.Module, nn.Module]) -> ModuleType:
    if module not in made:  # a module may occur several times
        children = {
            name: child if child is None else _in_evaluation_mode(child, made)
            for name, child in module._modules.items()
        }
        # The way torch creates replicas; faster than copy.copy, which matters for one sentence.
        twin = made[module] = object.__new__(type(module))
        of_its_own = {
            "training": False,
            "_modules": children,
            "_compiled_call_impl": None,  # torch.compile's, which calls the original module
        }
        twin.__dict__.update(module.__dict__, **of_its_own)
    return made[module]  # type: ignore[return-value]


def map_batches(
    items: Sequence[Item],
    sizes: Sequence[int],
    batch_size: int,
    compute: Callable[[list[Item]], Iterable[Result]],
    *,
    show_progress_bar: bool | None = False,
) -> list[Result]:
    """Applies ``compute`` to batches of similar-sized items, largest first, keeping their order.

    Args:
        items: The items.
        sizes: Size of each item.
        batch_size: Number of items per batch.
        compute: Returns one result per item of a batch.
        show_progress_bar: Whether to show a progress bar on standard error; None shows one in a
            terminal if there are several batches.

    Returns:
        The results, in the order of the items.

    Raises:
        ModelError: The batch size is not a positive integer, or a result is not finite.
    """
    check_sizes(batch_size=batch_size)
    order = np.argsort(-np.asarray(sizes, np.int64), kind="stable")
    results: dict[int, Result] = {}
    if show_progress_bar is None:
        show_progress_bar = len(items) > batch_size and sys.stderr.isatty()
    with tqdm(total=len(items), disable=not show_progress_bar, leave=False) as bar:
        for begin in range(0, len(order), batch_size):
            chosen = order[begin : begin + batch_size].tolist()
            computed = compute([items[index] for index in chosen])
            if not all(map(_is_finite, computed)):
                raise ModelError("the output of the model is NaN or infinite")
            results.update(zip(chosen, computed, strict=True))
            bar.update(len(chosen))
    return [results[index] for index in range(len(items))]


def _is_finite(result: Any) -> bool:
    """Whether an array, or a list of arrays, has only finite values."""
    if isinstance(result, list):
        return all(map(_is_finite, result))
    return bool(np.isfinite(result).all())
