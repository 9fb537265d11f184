"""Devices by name."""

from __future__ import annotations

import re

import torch


def find_device(name: str) -> torch.device:
    """The device of a name: ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        ValueError: There is no such device.
    """
    match = re.fullmatch(r"cpu|cuda(?::(0|[1-9][0-9]*))?", name)
    if match is None:
        raise ValueError(f"expected cpu, cuda or cuda:N, got {name!r}")
    num_gpus = torch.cuda.device_count()
    if name != "cpu" and int(match[1] or 0) >= num_gpus:  # torch itself reads cuda:256 as cuda:0
        raise ValueError(f"{name} is not available; torch sees {num_gpus} GPUs")
    return torch.device(name)
