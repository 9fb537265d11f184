"""The arguments of user-defined functions: nodes or edges of a level, with their data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import torch
from torch import Tensor

from graphsent._dgl import dgl
from graphsent.propagation.schedule.schedule import Schedule
from graphsent.propagation.tape import Column, Rows


class RowData(MutableMapping):
    """Node or edge data at some rows, gathered on access.

    Args:
        names: names of the data.
        load: returns the column of a name.
        rows: the rows.
    """

    def __init__(self, names: list[str], load: Callable[[str], Column], rows: Rows) -> None:
        self._names = dict.fromkeys(names)
        self._load = load
        self._rows = rows
        self._values: dict[str, Tensor] = {}
        self._read: dict[tuple[str, bool], Tensor] = {}

    def __getitem__(self, name: str) -> Tensor:
        if name in self._values:
            return self._values[name]
        if name not in self._names:
            raise KeyError(name)
        key = (name, torch.is_grad_enabled())
        if key not in self._read:
            self._read[key] = self._load(name).read(self._rows)
        return self._read[key]

    def __setitem__(self, name: str, value: Tensor) -> None:
        self._names[name] = None
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        del self._names[name]
        self._values.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


_EdgeBatch: Any = dgl.udf.EdgeBatch


class Edges(_EdgeBatch):
    """Edges of a level, as DGL's message functions take them.

    Args:
        graph: the graph.
        schedule: its schedule.
        rows: rows of the mailbox.
        data: data of the sources, the edges and the targets.
    """

    def __init__(
        self,
        graph: dgl.DGLGraph,
        schedule: Schedule,
        rows: slice,
        data: tuple[RowData, RowData, RowData],
    ) -> None:
        ids = schedule.edges[rows].to(graph.idtype)
        super().__init__(graph, ids, graph.canonical_etypes[0], *data)
        self._schedule = schedule
        self._rows = rows

    def edges(self) -> tuple[Tensor, Tensor, Tensor]:
        """Sources, targets and ids of the edges."""
        ends = (self._schedule.source[self._rows], self._schedule.target[self._rows])
        source, target = (self._schedule.nodes[rows].to(self._eid.dtype) for rows in ends)
        return source, target, self._eid
