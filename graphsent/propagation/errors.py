"""The error of this room."""

from graphsent.errors import GraphsentError


class PropagationError(GraphsentError, ValueError):
    """A graph cannot be propagated over, or not in the way that was asked for."""
