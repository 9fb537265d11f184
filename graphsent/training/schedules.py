"""Learning-rate schedules."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

__all__ = ["SCHEDULES", "build_schedules", "share_of_rate"]

SCHEDULES = ("constant", "linear")


def share_of_rate(step: int, num_steps: int, schedule: str, warmup: float) -> float:
    r"""The factor of the learning rate at a step.

    For steps :math:`t = 0, 1, \dots, T - 1`, the first :math:`w` of which are warm-up steps:

    .. math::
        \min\left(1,\; \frac{t + 1}{w},\; \frac{T - t}{T - w}\right)

    For a constant schedule, the last term is omitted.

    Args:
        step: t in the equation.
        num_steps: T in the equation.
        schedule: One of ``SCHEDULES``.
        warmup: w as a fraction of T, below 1; w is rounded down.
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
    """Builds one scheduler per optimizer with a common schedule, to be stepped every step."""
    share = partial(share_of_rate, num_steps=num_steps, schedule=schedule, warmup=warmup)
    return [LambdaLR(optimizer, share) for optimizer in optimizers]
