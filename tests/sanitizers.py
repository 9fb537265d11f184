"""A plugin of pytest: the compiled kernels are built with sanitizers; for ``make test-sanitized``.

Reading or writing beyond a tensor, and whatever C does not define, ends the process with a report.
"""

from __future__ import annotations

from graphsent.kernels import build as compiled_library
from graphsent.propagation import memory

OPTIONS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")


def pytest_configure() -> None:
    """Before anything is collected."""
    compiled_library._COMMAND = (*compiled_library._COMMAND, *OPTIONS)
    compiled_library.LONGEST = 600.0  # they take the compiler ten times as long
    memory.SMALLEST = 1 << 60  # every tensor has memory of its own, with a fence round it
