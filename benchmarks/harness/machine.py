"""Describes the machine of a benchmark."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from typing import Any

import torch

from graphsent._machine import processor, system_fields
from graphsent.propagation import kernels_in_use

PACKAGES = ("torch", "dgl", "numpy", "dynet38", "pytorch-tree-lstm", "graphsent")


def machine() -> dict[str, Any]:
    """Processor, cores, memory and versions."""
    return {
        "processor": processor(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "cores": cpu_count(),
        "memory_gib": round(_gib("MemTotal") or 0, 1),
        "load_before": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "kernels": kernels_in_use(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def cpu_count() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def free_gib() -> float | None:
    """Available memory; None if the system does not report it."""
    return _gib("MemAvailable")


def _gib(name: str) -> float | None:
    kilobytes = system_fields("/proc/meminfo").get(name, "").removesuffix(" kB")
    return int(kilobytes) / 2**20 if kilobytes else None


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
