"""Errors of training."""

from __future__ import annotations

from graphsent.errors import FailedError, GraphsentError

__all__ = ["TrainingError", "TrainingFailed", "TrainingInterrupted"]


class TrainingError(GraphsentError, ValueError):
    """A run cannot be started, resumed or completed."""


class TrainingFailed(TrainingError, FailedError):
    """A run failed after it had started."""


class TrainingInterrupted(KeyboardInterrupt):
    """A run was stopped by a signal; its last complete epoch is kept.

    Attributes:
        signal_number: ``SIGINT`` (Ctrl-C) or ``SIGTERM``.
    """

    def __init__(self, message: str, signal_number: int) -> None:
        # Both are passed on, so that the error survives pickling between processes.
        super().__init__(message, signal_number)
        self.signal_number = signal_number

    def __str__(self) -> str:
        return str(self.args[0])
