"""A walk over the levels of a graph with arbitrary message, reduce and apply functions."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from graphsent._dgl import dgl
from graphsent.propagation.errors import PropagationError, described
from graphsent.propagation.schedule.schedule import Nodes, Schedule
from graphsent.propagation.tape import Buffer, Rows, Tape
from graphsent.propagation.topological.builtin_functions import is_builtin, messages_of, reduced_by

Function = Callable[..., Any]
_NOT_SET: Any = object()  # data that no function has set


class Traversal:
    """One propagation; node rows are by ordinal, edge rows by row of the mailbox."""

    def __init__(
        self,
        graph: dgl.DGLGraph,
        schedule: Schedule,
        node_data: Mapping[str, Tensor],
        edge_data: Mapping[str, Tensor],
    ) -> None:
        self.graph = graph
        self.node_data = node_data
        self.edge_data = edge_data
        self.schedule = schedule
        self.with_gradients = torch.is_grad_enabled()
        self.tape = Tape()
        self.nodes: dict[str, Buffer] = {}
        self.edges: dict[str, Buffer] = {}
        self.written: dict[str, None] = {}

    def run(
        self, message_func: Function, reduce_func: Function, apply_node_func: Function | None
    ) -> dict[str, Tensor]:
        """Runs all levels; returns the node data that the functions wrote, by node."""
        with self.tape:
            for level in self.schedule.levels:
                results: Mapping[str, Tensor] = self._reduced(level, message_func, reduce_func)
                if apply_node_func is not None:
                    data = self._node_rows(slice(level.start, level.end))
                    data.update(results)
                    results = apply_node_func(self._node_batch(level, data))
                    results = _checked(results, "apply", level.end - level.start)
                for name, values in results.items():
                    self._write(name, level, values)
            return {name: self.nodes[name].read(self.schedule.ordinal) for name in self.written}

    # Levels

    def _reduced(
        self, level: Nodes, message_func: Function, reduce_func: Function
    ) -> dict[str, Tensor]:
        """The results of the reduce function at the nodes of a level."""
        builtin = is_builtin(reduce_func)
        if level.first_edge == level.last_edge and not builtin:
            return {}
        messages = self._messages(level, message_func)
        sizes = [bucket.last_edge - bucket.first_edge for bucket in level.buckets]
        parts = {name: values.split(sizes) for name, values in messages.items()}
        results: list[Mapping[str, Tensor]] = []
        for number, bucket in enumerate(level.buckets):
            count = bucket.end - bucket.start
            mailbox = {
                name: values[number].reshape(count, bucket.degree, *values[number].shape[1:])
                for name, values in parts.items()
            }
            if builtin:
                results.append(reduced_by(reduce_func, mailbox, len(level.buckets) > 1))
            elif bucket.degree:
                # As in DGL, the function may change its mailbox in place.
                mailbox = {name: values.clone() for name, values in mailbox.items()}
                data = self._node_rows(slice(bucket.start, bucket.end))
                reduced = reduce_func(self._node_batch(bucket, data, mailbox))
                results.append(_checked(reduced, "reduce", count))
        return self._joined(results, level)

    def _messages(self, level: Nodes, function: Function) -> Mapping[str, Tensor]:
        rows = slice(level.first_edge, level.last_edge)
        data = (
            self._node_rows(self.schedule.source[rows]),
            RowData(self.edge_data, self._edge_buffer, rows),
            self._node_rows(self.schedule.target[rows]),
        )
        edges = LevelEdges(self.graph, self.schedule, rows, data)
        if is_builtin(function):
            return messages_of(function, edges)
        return _checked(function(edges), "message", len(edges))

    def _joined(self, results: Sequence[Mapping[str, Tensor]], level: Nodes) -> dict[str, Tensor]:
        """The results of all buckets of a level; nodes without messages come first."""
        if len(results) == 1 and len(level.buckets) == 1:
            return dict(results[0])
        joined = {}
        if any(result.keys() != results[0].keys() for result in results):
            raise PropagationError(
                "expected the reduce function to return the same names for all nodes, got "
                f"{sorted({name for result in results for name in result})} for some of them"
            )
        for name in results[0]:
            parts = [result[name] for result in results]
            missing = level.buckets[0].end - level.start
            if len(parts) < len(level.buckets):
                parts.insert(0, self._initial(name, missing, parts[0]))
            joined[name] = torch.cat(parts)
        return joined

    # Data

    def _node_rows(self, rows: slice | Tensor) -> RowData:
        return RowData({**self.node_data, **self.written}, self._node_buffer, rows)

    def _node_batch(
        self, rows: Nodes, data: RowData, mailbox: Mapping[str, Tensor] | None = None
    ) -> Any:
        ids = self.schedule.nodes[rows.start : rows.end].to(self.graph.idtype)
        return dgl.udf.NodeBatch(self.graph, ids, self.graph.ntypes[0], data, mailbox)

    def _node_buffer(self, name: str) -> Buffer:
        if name not in self.nodes:
            self.nodes[name] = self._buffer(self.node_data[name], self.schedule.nodes)
        return self.nodes[name]

    def _edge_buffer(self, name: str) -> Buffer:
        if name not in self.edges:
            self.edges[name] = self._buffer(self.edge_data[name], self.schedule.edges)
        return self.edges[name]

    def _buffer(self, values: Tensor, order: Tensor) -> Buffer:
        # A function may first read data without gradients, and later with them.
        with torch.set_grad_enabled(self.with_gradients):
            return Buffer(self.tape, values.to(order.device).index_select(0, order))

    def _write(self, name: str, level: Nodes, values: Tensor) -> None:
        if name not in self.nodes and name not in self.node_data:
            initial = self._initial(name, self.schedule.num_nodes, values)
            self.nodes[name] = Buffer(self.tape, initial)
        buffer = self._node_buffer(name)
        expected, got = buffer.values, values
        if (expected.shape[1:], expected.dtype) != (got.shape[1:], got.dtype):
            raise PropagationError(
                f"expected rows of {name!r} of shape {tuple(expected.shape[1:])} and "
                f"{expected.dtype}, got {tuple(got.shape[1:])} and {got.dtype}"
            )
        buffer.write(slice(level.start, level.end), values)
        self.written[name] = None

    def _initial(self, name: str, num_rows: int, like: Tensor) -> Tensor:
        """Initial values: zeros, unless the graph has an initializer."""
        shape = (num_rows, *like.shape[1:])
        frame = self.graph._node_frames[0]
        initializer = frame.get_initializer(name) or dgl.init.zero_initializer
        return initializer(shape, like.dtype, like.device, slice(0, num_rows))


def _checked(results: Any, function: str, num_rows: int) -> Mapping[str, Tensor]:
    """The results of a user-defined function; a PropagationError if they are invalid."""
    if not isinstance(results, Mapping):
        raise PropagationError(
            f"expected the {function} function to return a dict of tensors by name, "
            f"got {described(results)}"
        )
    for name, values in results.items():
        if not isinstance(values, Tensor) or values.dim() == 0 or len(values) != num_rows:
            kind, rows = ("the message ", "edges") if function == "message" else ("", "nodes")
            raise PropagationError(
                f"expected a row of {kind}{name!r} for each of {num_rows} {rows}, "
                f"got {described(values)}"
            )
    return results


class RowData(UserDict):
    """Node or edge data at some rows, gathered on access; ``load`` returns a buffer by name."""

    def __init__(self, names: Iterable[str], load: Callable[[str], Buffer], rows: Rows) -> None:
        self.data = dict.fromkeys(names, _NOT_SET)
        self._load, self._rows = load, rows
        self._read: dict[tuple[str, bool], Tensor] = {}

    def __getitem__(self, name: str) -> Tensor:
        value = self.data[name]
        if value is not _NOT_SET:
            return value
        key = (name, torch.is_grad_enabled())
        if key not in self._read:
            self._read[key] = self._load(name).read(self._rows)
        return self._read[key]


_EdgeBatch: Any = dgl.udf.EdgeBatch


class LevelEdges(_EdgeBatch):
    """Edges of a level, as DGL's message functions take them.

    ``rows`` are rows of the mailbox, ``data`` those of the sources, the edges and the targets.
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
