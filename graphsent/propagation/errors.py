"""The error of this room."""

from graphsent.errors import GraphsentError


class PropagationError(GraphsentError, ValueError):
    """A graph cannot be propagated over, or not in the way that was asked for."""


def cycle_error(num_nodes: int) -> PropagationError:
    """What to raise where there is no topological order."""
    return PropagationError(
        f"expected an acyclic graph, got one with a cycle among its {num_nodes} "
        "nodes: there is no topological order"
    )
