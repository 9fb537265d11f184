"""Autocast, also of devices that have none."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch


def autocast_enabled(device_type: str) -> bool:
    """Whether autocast is enabled for a device type."""
    try:
        return torch.is_autocast_enabled(device_type)
    except RuntimeError:  # no device with autocast, such as "meta"
        return False


def without_autocast(device_type: str) -> AbstractContextManager[Any]:
    """A context that disables autocast for a device type."""
    if not autocast_enabled(device_type):
        return nullcontext()
    return torch.autocast(device_type, enabled=False)
