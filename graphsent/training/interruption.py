"""Handling of Ctrl-C, SIGTERM and the loss of another process during training."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer

from graphsent._signals import block_interrupts, terminate
from graphsent.errors import FailedError
from graphsent.training.errors import TrainingInterrupted

__all__ = ["Interruption"]

# How Gloo (on CPUs) and NCCL say that another process is gone.
_LOST = ("by peer", "Broken pipe", "remote process exited")


class Interruption(Callback):
    """Turns signals into a :class:`TrainingInterrupted`.

    Ctrl-C takes effect at the end of a batch, or of the last epoch, since an exception in the
    middle is lost if it occurs in a callback of the interpreter or of a C library that cannot
    propagate it. A second Ctrl-C takes effect immediately. The same is true of SIGTERM: before
    training begins, it would leave processes that are starting without their first one, and with
    several processes, Lightning's handler waits forever for one that is exchanging gradients.
    Processes of one machine receive Ctrl-C once they are connected: one that died before would
    leave the others waiting for it, until Lightning kills them. On several machines, they may wait
    long for each other.

    The death of another process of the run, of which torch only says that a connection was lost,
    becomes a :class:`FailedError`.

    Args:
        describe: Returns the message of the exception, given what ended the training.
        connects: Whether the process first connects to others on the same machine.
    """

    def __init__(self, describe: Callable[[str], str], *, connects: bool = False) -> None:
        super().__init__()
        self._describe = describe
        self._connects = connects
        self._asked = 0  # the number of the signal
        self._on_sigterm: Any = None

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handles signals within the context, and says what ended the training.

        Lightning itself responds to Ctrl-C by exiting with status 1 and Ctrl-C ignored, and to
        SIGTERM by exiting with status 0.
        """
        number = 0
        try:
            with self._handlers():
                yield
            number = self._asked  # while the last epoch was saved
        except KeyboardInterrupt:
            number = self._asked or signal.SIGINT
        except SystemExit as error:
            by_keyboard = isinstance(error.__context__, KeyboardInterrupt)
            number = (self._asked or signal.SIGINT) if by_keyboard else signal.SIGTERM
        except RuntimeError as error:
            if not self._asked:
                if not any(text in str(error) for text in _LOST):
                    raise
                reason = "another process of this run has ended, or cannot be reached"
                raise FailedError(self._describe(reason)) from error
            number = self._asked  # another process was interrupted first and has exited
        if number:
            raise TrainingInterrupted(self._describe("interrupted"), number)

    @contextmanager
    def _handlers(self) -> Iterator[None]:
        """Receives signals within the context, in the main thread, which alone can.

        Handlers that are not Python's own, the system's or the package's are kept.
        """
        if not _in_main_thread():
            yield
            return
        on_sigint, on_sigterm = map(signal.getsignal, (signal.SIGINT, signal.SIGTERM))
        is_custom = on_sigterm not in (signal.SIG_DFL, terminate)
        self._on_sigterm = on_sigterm if is_custom else None
        if on_sigint is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._ask)
        if not is_custom:
            signal.signal(signal.SIGTERM, self._ask)
        if self._connects:
            block_interrupts(True)
        try:
            yield
        finally:
            if self._connects:
                block_interrupts(False)
            signal.signal(signal.SIGINT, on_sigint)
            if not is_custom:
                signal.signal(signal.SIGTERM, on_sigterm)

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Receives Ctrl-C from now on, and one from before: all processes are connected."""
        if self._connects and _in_main_thread():
            block_interrupts(False)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Replaces Lightning's handler of SIGTERM, which Lightning itself removes at the end."""
        if trainer.world_size > 1 and _in_main_thread():
            signal.signal(signal.SIGTERM, self._ask)

    def on_train_batch_end(self, *_: Any) -> None:
        """See :class:`Callback`."""
        self._answer()

    def on_validation_batch_end(self, *_: Any) -> None:
        """See :class:`Callback`."""
        self._answer()

    def _ask(self, number: int, frame: Any) -> None:
        if number == signal.SIGTERM and callable(self._on_sigterm):  # a custom handler
            self._on_sigterm(number, frame)
        if self._asked:
            raise KeyboardInterrupt
        self._asked = number

    def _answer(self) -> None:
        if self._asked:
            raise KeyboardInterrupt


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
