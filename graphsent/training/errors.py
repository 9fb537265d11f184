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
        super().__init__(message)
        self.signal_number = signal_number
