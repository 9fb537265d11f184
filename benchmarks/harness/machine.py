"""Describes the machine of a benchmark."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

import torch

from graphsent.propagation import kernels_in_use

PACKAGES = ("torch", "dgl", "numpy", "dynet38", "pytorch-tree-lstm", "graphsent")


def machine() -> dict[str, Any]:
    """Processor, cores, memory and versions."""
    return {
        "processor": _processor(),
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
    kilobytes = _fields("/proc/meminfo").get(name, "").removesuffix(" kB")
    return int(kilobytes) / 2**20 if kilobytes else None


def _processor() -> str:
    """The name of the processor, as reported by the system."""
    fields = _fields("/proc/cpuinfo")
    name = fields.get("model name") or platform.processor() or platform.machine()
    family, model = fields.get("cpu family"), fields.get("model")
    return f"{name} (family {family}, model {model})" if family and model else name


def _fields(path: str) -> dict[str, str]:
    """Names and values of a Linux system file; empty on other systems."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    found: dict[str, str] = {}
    for name, _, value in (line.partition(":") for line in lines):
        found.setdefault(name.strip(), value.strip())
    return found


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
