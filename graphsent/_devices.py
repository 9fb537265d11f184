"""Devices by name."""

from __future__ import annotations

import re

import torch

__all__ = ["DEVICE", "DEVICES", "find_device"]

DEVICE = re.compile(r"cpu|cuda(?::(0|[1-9][0-9]*))?")
DEVICES = "cpu, cuda or cuda:N"


def find_device(name: str) -> torch.device:
    """The device of a name: ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        ValueError: There is no such device.
    """
    match = DEVICE.fullmatch(name)
    if match is None:
        raise ValueError(f"expected {DEVICES}, got {name!r}")
    num_gpus = torch.cuda.device_count()
    if name != "cpu" and int(match[1] or 0) >= num_gpus:  # torch itself reads cuda:256 as cuda:0
        raise ValueError(f"{name} is not available; torch sees {num_gpus} GPUs")
    return torch.device(name)
