"""Describes the machine, for records of what was computed or measured on it."""

from __future__ import annotations

import platform
from pathlib import Path

__all__ = ["processor", "system_fields"]


def processor() -> str:
    """The name of the processor, as reported by the system."""
    fields = system_fields("/proc/cpuinfo")
    name = fields.get("model name") or platform.processor() or platform.machine()
    family, model = fields.get("cpu family"), fields.get("model")
    return f"{name} (family {family}, model {model})" if family and model else name


def system_fields(path: str) -> dict[str, str]:
    """Names and values of a Linux system file; empty on other systems."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    found: dict[str, str] = {}
    for name, _, value in (line.partition(":") for line in lines):
        found.setdefault(name.strip(), value.strip())
    return found
