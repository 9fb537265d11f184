"""The error that layers raise."""

from graphsent.errors import GraphsentError


class LayerError(GraphsentError, ValueError):
    """A layer's options, or the tensors it is called with, do not fit together."""
