"""Propagation: the states of the nodes of a directed acyclic graph, in topological order.

The nodes without incoming edges come first, then level by level all nodes whose predecessors are
done. Cells run by their recurrence, in compiled code where possible; :func:`prop_nodes_topo` runs
arbitrary message, reduce and apply functions. ``docs/engine.md`` describes both.
"""

from __future__ import annotations

from graphsent._names import check_choice
from graphsent.kernels.library import kernels_in_use
from graphsent.propagation.errors import PropagationError
from graphsent.propagation.topological.prop_nodes_topo import prop_nodes_topo

__all__ = [
    "ENGINES",
    "PropagationError",
    "kernels_in_use",
    "prop_nodes_topo",
    "resolve_engine",
]

ENGINES = ("auto", "dgl", "levels")
"""All engines give the same states and gradients.

``"dgl"`` is ``dgl.prop_nodes_topo`` itself, with a cell's message, reduce and apply functions.

``"levels"`` is graphsent's own: it computes the levels of a graph once, runs all nodes of a level
together, and walks the levels in reverse for the gradients. It was faster than ``"dgl"`` at every
measured size and shape of batch. The graph may stay on the CPU if the inputs are on another device.

``"auto"`` is always ``"levels"``: it runs every cell that ``"dgl"`` can run.
"""


def resolve_engine(engine: str) -> str:
    """Resolves ``"auto"``, and checks the name of an engine.

    Raises:
        PropagationError: If there is no engine of this name; the message lists the valid names.
    """
    check_choice("engine", engine, ENGINES, PropagationError)
    return "levels" if engine == "auto" else engine
