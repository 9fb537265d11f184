"""Learning rates over the steps of a run."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

__all__ = ["SCHEDULES", "build_schedules", "share_of_rate"]

SCHEDULES = ("constant", "linear")


def share_of_rate(step: int, num_steps: int, schedule: str, warmup: float) -> float:
    r"""By what a step's learning rate is multiplied.

    With steps :math:`t = 0, 1, \dots, T - 1`, of which the first :math:`w` warm up:

    .. math::
        \min\left(1,\; \frac{t + 1}{w},\; \frac{T - t}{T - w}\right)

    without the last of the three if the schedule is constant.

    Args:
        step: The equation's t.
        num_steps: The equation's T.
        schedule: One of ``SCHEDULES``.
        warmup: w as a share of T, below 1; rounded down.
    """
    num_warm = int(warmup * num_steps)
    if step < num_warm:
        return (step + 1) / num_warm
    if schedule == "constant":
        return 1.0
    return max(0.0, (num_steps - step) / (num_steps - num_warm))


def build_schedules(
    optimizers: Iterable[Optimizer], schedule: str, warmup: float, num_steps: int
) -> list[LambdaLR]:
    """What changes the learning rates of each optimizer, all in the same way, after each step."""
    share = partial(share_of_rate, num_steps=num_steps, schedule=schedule, warmup=warmup)
    return [LambdaLR(optimizer, share) for optimizer in optimizers]
