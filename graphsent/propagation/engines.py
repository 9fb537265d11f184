"""Names of the ways to propagate over a graph."""

from __future__ import annotations

from graphsent.propagation.errors import PropagationError

ENGINES = ("auto", "dgl")
"""``"dgl"`` is ``dgl.prop_nodes_topo`` itself; ``"auto"`` takes the best engine there is."""


def resolve_engine(engine: str) -> str:
    """The engine that ``engine`` stands for, never ``"auto"``.

    Raises:
        PropagationError: if there is no engine of this name; lists the valid names.
    """
    if engine not in ENGINES:
        valid = ", ".join(repr(name) for name in ENGINES)
        raise PropagationError(f"unknown engine {engine!r}: expected one of {valid}")
    return "dgl"
