"""A pytest plugin that builds the compiled kernels with sanitizers; for ``make test-sanitized``.

Out-of-bounds accesses and undefined behaviour end the process with a report.
"""

from __future__ import annotations

from graphsent.kernels import build as compiled_library
from graphsent.propagation import memory

OPTIONS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")


def pytest_configure() -> None:
    """Runs before collection."""
    compiled_library._COMMAND = (*compiled_library._COMMAND, *OPTIONS)
    compiled_library.LONGEST = 600.0  # the compiler takes ten times as long
    memory.SMALLEST = 1 << 60  # every tensor has its own memory, with guard zones
