"""Names of a package that are imported on first use."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["attach"]


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, derived from its stub file.

    The stub, ``__init__.pyi`` beside ``__init__.py``, is also what type checkers read: imports of
    all names, and the list of public ones.

    Args:
        package: Full name of the package that is being imported.
    """
    module = sys.modules[package]
    stub = ast.parse(Path(str(module.__file__)).with_suffix(".pyi").read_text(encoding="utf-8"))
    modules: dict[str, str] = {}
    public: list[str] = []
    for node in stub.body:
        if isinstance(node, ast.ImportFrom):
            modules.update((alias.name, str(node.module)) for alias in node.names)
        elif isinstance(node, ast.Assign):
            public = ast.literal_eval(node.value)

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if modules[name] == package:
            value = importlib.import_module(f"{package}.{name}")
        else:
            value = getattr(importlib.import_module(modules[name]), name)
        setattr(module, name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(module), *public})

    return get, names, public
