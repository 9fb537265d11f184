"""Install DGL, also for a Python that DGL has no wheel for.

DGL has wheels for Python 3.10, 3.11 and 3.12. Its library does not depend on the version of Python,
and one module that does is optional: without it DGL calls the library by ctypes. On Python 3.13 and
later this command takes the wheel for 3.12, which pip downloads and checks by its SHA-256, marks it
as one for any Python 3, and has pip install that, so that pip lists and removes it as any other.

Example:
  graphsent install-dgl
"""

from __future__ import annotations

from typing import Any

__all__ = ["add_arguments"]


def add_arguments(parser: Any) -> None:
    """Declares no arguments: there is one release for each platform."""
