"""Running a trained model over many trees."""

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
    """Gives the model in evaluation mode, without gradients.

    What is given has the parameters and buffers of the model, but modules of its own: the modes of
    the model are not touched, so that any number of threads can do this at once.
    """
    with torch.no_grad():
        yield _in_evaluation_mode(model, {})


def _in_evaluation_mode(module: ModuleType, made: dict[nn.Module, nn.Module]) -> ModuleType:
    if module not in made:  # a module may be in several places
        children = {
            name: child if child is None else _in_evaluation_mode(child, made)
            for name, child in module._modules.items()
        }
        # As torch makes replicas; faster than copy.copy, which counts for a single sentence.
        twin = made[module] = object.__new__(type(module))
        of_its_own = {
            "training": False,
            "_modules": children,
            "_compiled_call_impl": None,  # torch.compile's, which calls the module it was made of
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
    """``compute`` over batches of items of like size, largest first; results in the items' order.

    Args:
        items: What is computed on.
        sizes: How large each is.
        batch_size: How many there are in a batch.
        compute: Gives a result for each item of a batch.
        show_progress_bar: Whether there is a bar on standard error; None for one in a terminal, if
            there are several batches.

    Raises:
        ModelError: The batch size is no positive integer, or a result is not finite.
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
                raise ModelError("the model gives NaN or infinity")
            results.update(zip(chosen, computed, strict=True))
            bar.update(len(chosen))
    return [results[index] for index in range(len(items))]


def _is_finite(result: Any) -> bool:
    """Whether there is no NaN or infinity in an array, or in a list of them."""
    if isinstance(result, list):
        return all(map(_is_finite, result))
    return bool(np.isfinite(result).all())
