"""Errors and warnings that a user can cause, each with one message that says how to go on.

The command line prints a :class:`GraphsentError` as one line and exits with a status that
:mod:`graphsent.cli.statuses` lists. Any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations

__all__ = ["DataError", "FailedError", "GraphsentError", "GraphsentWarning", "ModelError"]


class GraphsentError(Exception):
    """Base of all errors that come from a user's input rather than from a bug."""


class GraphsentWarning(UserWarning):
    """Something that a user may not have meant; results are those that the documentation says."""


class FailedError(GraphsentError):
    """Work that had begun with sound input could not be brought to a good end."""


class DataError(GraphsentError, ValueError):
    """A corpus, a word vector file or a vocabulary is not what it should be."""


class ModelError(GraphsentError, ValueError):
    """A model cannot be built, saved or loaded with what was given."""
