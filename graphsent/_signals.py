"""Ctrl-C and SIGTERM."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Terminated", "block_interrupts", "put_off", "terminable", "terminate"]


class Terminated(KeyboardInterrupt):
    """The process has received SIGTERM."""

    signal_number = signal.SIGTERM


def terminate(number: int, _: FrameType | None) -> None:
    """The handler of SIGTERM in :func:`terminable`; a second signal ends the process at once."""
    signal.signal(number, signal.SIG_DFL)
    raise Terminated


@contextmanager
def terminable() -> Iterator[None]:
    """Lets SIGTERM interrupt as Ctrl-C does within the context, so that files are cleaned up.

    It does nothing if SIGTERM is handled or ignored already, and outside the main thread.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def block_interrupts(block: bool) -> None:
    """Blocks Ctrl-C in this thread, or receives it again, also one from the meantime.

    Processes that start while it is blocked keep it blocked: one that is still importing modules
    would print a traceback. On Windows, nothing is blocked.

    This process itself may still receive Ctrl-C, in another thread such as one of BLAS.
    """
    if os.name != "nt":
        how = signal.SIG_BLOCK if block else signal.SIG_UNBLOCK
        signal.pthread_sigmask(how, {signal.SIGINT})


@contextmanager
def put_off() -> Iterator[None]:
    """Puts off Ctrl-C and SIGTERM to the end of the context, whichever thread receives them.

    Outside the main thread, which alone runs their handlers, it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []

    def receive(number: int, _: FrameType | None) -> None:
        received.append(number)

    before = {each: signal.signal(each, receive) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        for number in received[:1]:
            signal.raise_signal(number)
