"""The error of this room."""

from graphsent.errors import GraphsentError
from graphsent.graphs.levels import cycle_message


class PropagationError(GraphsentError, ValueError):
    """A graph cannot be propagated over, or not in the way that was asked for."""


def cycle_error(num_nodes: int) -> PropagationError:
    """What to raise where there is no topological order."""
    return PropagationError(cycle_message(num_nodes))
