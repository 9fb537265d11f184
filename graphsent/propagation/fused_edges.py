"""The fused engine of cells that take any number of predecessors: gates of edges, then of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.propagation.fused import (
    Block,
    StateGradients,
    backward_weight,
    fill_sums,
    forward_weight,
    gather,
    inner_rows,
    inputs_gradient,
    new_states,
    weight_gradient,
)
from graphsent.propagation.gradients import first_order
from graphsent.propagation.memory import empty
from graphsent.propagation.schedule import Level, Schedule


class Segments(NamedTuple):
    """The edges of a level by their target.

    Attributes:
        target: (edges,) row of each edge's target in the level.
        rows: (edges,) 0, 1, 2, ...
        offsets: (nodes,) first edge of each node.
    """

    target: Tensor
    rows: Tensor
    offsets: Tensor

    def sum(self, values: Tensor, out: Tensor) -> None:
        """Sums of rows of edges by node."""
        out.copy_(torch.embedding_bag(values, self.rows, self.offsets)[0])

    def expand(self, values: Tensor, out: Tensor) -> None:
        """Rows of nodes by edge."""
        gather(values, self.target, out)


class EdgeRule(Protocol):
    """How the state of a node follows from sums at the edges to it, and from its own sums.

    The sums of an edge are those of its target's inputs and of a weight times h of its source.
    ``pool`` makes vectors of the target out of them. The sums of a node are those of its inputs
    and of weights times such vectors; ``update`` makes its state of them. Both are pointwise, but
    for sums over the edges of a node, and work on the rows of one level, in place. All gates,
    vectors and states are of one size.

    Attributes:
        size: of a state.
        num_parts: parts of a state, h first.
        num_pooled: vectors that ``pool`` makes.
        num_kept: blocks of columns that ``update`` keeps for its backward pass.
        edge_order: where each gate of an edge comes from, in inputs and weight.
        order: the same of the gates of a node, in inputs and the first product.
        products: for each weight of the nodes, the vector that it sees, and where its gates are in
            its rows; they are the first gates, or all.
        direct: vectors that ``update`` itself reads.
    """

    size: int
    num_parts: int
    num_pooled: int
    num_kept: int
    direct: tuple[int, ...]
    edge_order: tuple[Block, ...]
    order: tuple[Block, ...]
    products: tuple[tuple[int, tuple[Block, ...]], ...]

    def pool(
        self,
        sums: Tensor,
        sources: Sequence[Tensor],
        segments: Segments,
        pooled: Sequence[Tensor],
    ) -> None:
        """Fills the pooled vectors, (nodes, size), from sums and states, (edges, ...)."""

    def pool_backward(
        self,
        saved: tuple[Tensor, Sequence[Tensor]],
        segments: Segments,
        dpooled: Sequence[Tensor],
        dsums: Tensor,
        dsources: Sequence[Tensor],
    ) -> None:
        """Fills the gradients of sums and sources, without what comes through the sums."""

    def update(
        self, sums: Tensor, pooled: Sequence[Tensor], states: Sequence[Tensor], kept: Tensor
    ) -> None:
        """Fills states and kept rows."""

    def update_backward(
        self,
        saved: tuple[Tensor, Sequence[Tensor], Tensor],
        gradients: Sequence[Tensor],
        dsums: Tensor,
        dpooled: Sequence[Tensor],
    ) -> None:
        """Fills the gradients of sums and of pooled vectors, without what comes through sums."""


def run_edges(
    rule: EdgeRule,
    schedule: Schedule,
    start: Sequence[Tensor],
    inputs: Tensor,
    edge_weight: Tensor,
    weights: Sequence[Tensor],
) -> tuple[Tensor, ...]:
    """The states of all nodes, by position.

    Args:
        rule: how a state follows from others.
        schedule: of the graph; on the device of the tensors.
        start: parts of the states of the first level, (num_sources, size).
        inputs: what the inputs contribute to the sums, (num_nodes - num_sources, blocks * size)
            by position, or one row for all nodes.
        edge_weight: (blocks * size, size).
        weights: for each product (blocks * size, size).

    Returns:
        The parts of the states, (num_nodes, size).
    """
    if len(schedule.levels) <= 1:
        return tuple(start)
    return _Edges.apply(rule, schedule, inputs, edge_weight, *start, *weights)


class _Edges(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx,
        rule: EdgeRule,
        schedule: Schedule,
        inputs: Tensor,
        edge_weight: Tensor,
        *tensors: Tensor,
    ) -> tuple[Tensor, ...]:
        start, weights = tensors[: rule.num_parts], tensors[rule.num_parts :]
        states = new_states(start, schedule)
        buffers = _Buffers.new(rule, schedule, inputs)
        fill_sums(buffers.sums, inputs, rule.order, rule.size)
        segments = _Segmentation(schedule)
        fill_sums(buffers.edge_sums, inputs, rule.edge_order, rule.size, segments.target)
        edge_product = forward_weight(edge_weight, rule.edge_order, rule.size)
        products = [
            (number, forward_weight(weight, order, rule.size))
            for weight, (number, order) in zip(weights, rule.products, strict=True)
        ]
        for level in schedule.levels[1:]:
            sums, kept, pooled = buffers.of_nodes(level, schedule)
            edge_sums, sources = buffers.of_edges(level)
            source = schedule.source[level.first_edge : level.last_edge]
            for state, rows in zip(states, sources, strict=True):
                gather(state, source, out=rows)
            edge_sums.addmm_(sources[0], edge_product)
            rule.pool(edge_sums, sources, segments.of(level), pooled)
            for number, weight in products:
                sums[:, : weight.shape[1]].addmm_(pooled[number], weight)
            new = [state[level.start : level.end] for state in states]
            rule.update(sums, pooled, new, kept)
        ctx.rule, ctx.schedule, ctx.segments = rule, schedule, segments
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(inputs, edge_weight, *weights, *buffers.tensors())
        return tuple(state[:-1] for state in states)

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        rule, schedule = ctx.rule, ctx.schedule
        num_products = len(rule.products)
        inputs, edge_weight, *others = ctx.saved_tensors
        weights, buffers = others[:num_products], _Buffers.of(rule, others[num_products:])
        dsums = empty(*buffers.sums.shape, like=inputs)
        dedge_sums = empty(*buffers.edge_sums.shape, like=inputs)
        messages = [empty(schedule.num_edges + 1, rule.size, like=inputs) for _ in gradients]
        ends = (schedule.source, schedule.sent_to, schedule.num_nodes)
        states = StateGradients(gradients, messages, *ends, inputs.new_empty(rule.size))
        edge_product = backward_weight(edge_weight, rule.edge_order, rule.size)
        products = [
            (number, backward_weight(weight, order, rule.size))
            for weight, (number, order) in zip(weights, rule.products, strict=True)
        ]
        for level in reversed(schedule.levels[1:]):
            sums, kept, pooled = buffers.of_nodes(level, schedule)
            rows, edges = inner_rows(level, schedule), slice(level.first_edge, level.last_edge)
            dpooled = [torch.empty_like(part) for part in pooled]
            saved = (sums, pooled, kept)
            rule.update_backward(saved, states.of(level), dsums[rows], dpooled)
            filled = set(rule.direct)
            for number, weight in products:
                columns = dsums[rows, : len(weight)]
                dpooled[number].addmm_(columns, weight, beta=int(number in filled))
                filled.add(number)
            dsources = [message[edges] for message in messages]
            rule.pool_backward(
                buffers.of_edges(level),
                ctx.segments.of(level),
                dpooled,
                dedge_sums[edges],
                dsources,
            )
            dsources[0].addmm_(dedge_sums[edges], edge_product)
            states.sent(edges)
        dstart = states.of(schedule.levels[0])
        size = rule.size
        dweights = [
            weight_gradient(
                dsums[:, : len(order) * size], buffers.pooled[number], order, weight, size
            )
            for weight, (number, order) in zip(weights, rule.products, strict=True)
        ]
        dedge_weight = weight_gradient(
            dedge_sums, buffers.sources[0], rule.edge_order, edge_weight, size
        )
        by_node = ctx.segments.sum(dedge_sums) if inputs.dim() > 1 else dedge_sums
        pairs = ((dsums, rule.order), (by_node, rule.edge_order))
        dinputs = inputs_gradient(pairs, inputs, size)
        return None, None, dinputs, dedge_weight, *dstart, *dweights


class _Buffers(NamedTuple):
    """What the levels fill: rows of nodes but those of the first level, and rows of edges."""

    sums: Tensor
    kept: Tensor
    edge_sums: Tensor
    pooled: Sequence[Tensor]
    sources: Sequence[Tensor]

    @classmethod
    def new(cls, rule: EdgeRule, schedule: Schedule, like: Tensor) -> _Buffers:
        num_inner, size = schedule.num_nodes - schedule.num_sources, rule.size
        return cls(
            empty(num_inner, len(rule.order) * size, like=like),
            empty(num_inner, rule.num_kept * size, like=like),
            empty(schedule.num_edges, len(rule.edge_order) * size, like=like),
            [empty(num_inner, size, like=like) for _ in range(rule.num_pooled)],
            [empty(schedule.num_edges, size, like=like) for _ in range(rule.num_parts)],
        )

    @classmethod
    def of(cls, rule: EdgeRule, tensors: Sequence[Tensor]) -> _Buffers:
        """What :meth:`tensors` was made of."""
        middle = 3 + rule.num_pooled
        return cls(*tensors[:3], tensors[3:middle], tensors[middle:])

    def tensors(self) -> tuple[Tensor, ...]:
        return (self.sums, self.kept, self.edge_sums, *self.pooled, *self.sources)

    def of_nodes(self, level: Level, schedule: Schedule) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Sums, kept rows and pooled vectors of a level."""
        rows = inner_rows(level, schedule)
        return self.sums[rows], self.kept[rows], [part[rows] for part in self.pooled]

    def of_edges(self, level: Level) -> tuple[Tensor, list[Tensor]]:
        """Sums and sources of the edges of a level."""
        rows = slice(level.first_edge, level.last_edge)
        return self.edge_sums[rows], [part[rows] for part in self.sources]


class _Segmentation:
    """The edges by their target, for all levels."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        first = schedule.num_sources
        self.target = schedule.target - first
        self.rows = torch.arange(schedule.num_edges, device=schedule.device)
        inner = torch.arange(first, schedule.num_nodes, device=schedule.device)
        self.offsets = torch.searchsorted(schedule.target, inner)

    def of(self, level: Level) -> Segments:
        """The edges of one level."""
        edges, nodes = slice(level.first_edge, level.last_edge), inner_rows(level, self.schedule)
        return Segments(
            self.target[edges] - nodes.start,
            self.rows[: level.last_edge - level.first_edge],
            self.offsets[nodes] - level.first_edge,
        )

    def sum(self, values: Tensor) -> Tensor:
        """Sums by node of rows of all edges."""
        return torch.embedding_bag(values, self.rows, self.offsets)[0]
