"""The device to compute on, checked before anything is read or written."""

from __future__ import annotations

from typing import Any

import torch

from graphsent.training.errors import TrainingError

__all__ = ["trainer_device"]


def trainer_device(name: str) -> dict[str, Any]:
    """The arguments of Lightning's trainer for a device.

    Args:
        name: ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        TrainingError: There is no such device here.
    """
    try:
        device = torch.device(name)
    except (RuntimeError, ValueError, OverflowError):
        raise TrainingError(f"device: expected cpu, cuda or cuda:N, got {name!r}") from None
    if device.type == "cpu":
        return {"accelerator": "cpu", "devices": 1}
    if device.type != "cuda" or (device.index or 0) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise TrainingError(f"device: {name} is not here; torch sees {count} GPUs")
    return {"accelerator": "gpu", "devices": [device.index or 0]}
