"""Errors and warnings that a user can cause, each with a message that says how to fix them.

The command line prints a :class:`GraphsentError` as one line and exits with a status from
:mod:`graphsent.cli.statuses`. Any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations

__all__ = ["DataError", "FailedError", "GraphsentError", "GraphsentWarning", "ModelError"]


class GraphsentError(Exception):
    """Base class of all errors caused by user input rather than by a bug."""


class GraphsentWarning(UserWarning):
    """Something the user may not have intended; results are still as documented."""


class FailedError(GraphsentError):
    """Work that started with valid input failed."""


class DataError(GraphsentError, ValueError):
    """A corpus, word vector file or vocabulary is invalid."""


class ModelError(GraphsentError, ValueError):
    """A model cannot be built, saved or loaded as requested."""
