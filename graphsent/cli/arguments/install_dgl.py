"""Install DGL, including on Python versions that DGL has no wheel for.

DGL has wheels for Python 3.10, 3.11 and 3.12. Its native library does not depend on the Python
version, and the one module that does is optional: without it, DGL calls the library through ctypes.
On Python 3.13 and later, this command has pip download the wheel for 3.12 and verify its SHA-256,
retags it for any Python 3, and installs it with pip, which then lists and uninstalls it as usual.

Example:
  graphsent install-dgl
"""

from __future__ import annotations

from typing import Any

__all__ = ["add_arguments"]


def add_arguments(parser: Any) -> None:
    """Declares no arguments: there is one release per platform."""
