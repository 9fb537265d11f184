"""Ctrl-C while processes start."""

from __future__ import annotations

import os
import signal

__all__ = ["block_interrupts"]


def block_interrupts(block: bool) -> None:
    """Blocks Ctrl-C in this thread, or receives it again, also one from the meantime.

    Processes that start while it is blocked keep it blocked: one that is still importing modules
    would print a traceback. On Windows, nothing is blocked.
    """
    if os.name != "nt":
        how = signal.SIG_BLOCK if block else signal.SIG_UNBLOCK
        signal.pthread_sigmask(how, {signal.SIGINT})
