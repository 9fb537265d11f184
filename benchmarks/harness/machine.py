"""The class of machine that figures belong to."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

import torch

from graphsent.propagation import kernels_in_use

from .options import cpu_count

PACKAGES = ("torch", "dgl", "numpy", "dynet38", "pytorch-tree-lstm", "graphsent")


def machine() -> dict[str, Any]:
    """Processor, cores, memory and versions."""
    return {
        "processor": _processor(),
        "architecture": platform.machine(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "cores": cpu_count(),
        "memory_gib": round(total_memory() / 2**30, 1),
        "load_before": load(),
        "kernels": kernels_in_use(),
        "system": platform.system(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
    }


def load() -> float | None:
    """How many processes want a core, on average over a minute; None if the system cannot tell."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def version(package: str) -> str:
    """The version of a package, or ``"not installed"``."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def total_memory() -> int:
    """Bytes of the machine's memory; 0 where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0


def available_memory() -> int | None:
    """Bytes that a process could take now; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    sizes = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(sizes[0]) * 1024 if sizes else None


def _processor() -> str:
    """The processor's name, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    values: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        values.setdefault(name.strip(), value.strip())
    name = values.get("model name", platform.machine())
    numbers = [values.get(part) for part in ("cpu family", "model")]
    if all(numbers):
        name += f" (family {numbers[0]}, model {numbers[1]})"
    return name
