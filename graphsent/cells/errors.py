"""The error of cells."""

from graphsent.errors import GraphsentError


class CellError(GraphsentError, ValueError):
    """A cell's options, or the graph or tensors it is called with, do not fit together."""
