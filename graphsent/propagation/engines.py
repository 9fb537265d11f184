"""Names of the ways to propagate over a graph."""

from __future__ import annotations

from graphsent.propagation.errors import PropagationError

ENGINES = ("auto", "dgl", "levels")
"""Every engine gives the same states and gradients.

``"dgl"`` is ``dgl.prop_nodes_topo`` itself, with a cell's message, reduce and apply functions.

``"levels"`` is graphsent's own: it finds the levels of a graph once, runs the nodes of a level
together and walks the levels once more for the gradients. Its cost at every size and shape of batch
is below that of ``"dgl"``. The graph may be on the CPU where the inputs are on another device.

``"auto"`` is ``"levels"``, always: there is nothing a cell can do that only ``"dgl"`` can run.
"""


def resolve_engine(engine: str) -> str:
    """The engine that ``engine`` stands for, never ``"auto"``.

    Raises:
        PropagationError: if there is no engine of this name; lists the valid names.
    """
    if engine not in ENGINES:
        valid = ", ".join(repr(name) for name in ENGINES)
        raise PropagationError(f"unknown engine {engine!r}: expected one of {valid}")
    return "levels" if engine == "auto" else engine
