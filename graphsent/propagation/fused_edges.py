"""The fused engine of cells with any number of predecessors: gates of edges, then of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.kernels.library import contiguous
from graphsent.propagation.compiled_edges import run_compiled_edges
from graphsent.propagation.fused import (
    Block,
    Product,
    StateGradients,
    add_product_gradients,
    add_products,
    backward_weights,
    fill_sums,
    forward_weights,
    gates_by_level,
    gather,
    in_order,
    inputs_gradient,
    level_sizes,
    new_states,
    weight_gradients,
)
from graphsent.propagation.gradients import Recur, by_hand, recur_again
from graphsent.propagation.memory import empty
from graphsent.propagation.schedule.schedule import Schedule
from graphsent.propagation.segments import Segmentation, Segments, edge_sizes
from graphsent.propagation.starts import Start, states_of


class EdgeLevel(NamedTuple):
    """The rows of the edges to one level.

    Attributes:
        sums: (edges, gates * size).
        gates: views of it, (edges, size).
        sources: parts of the states of their sources, (edges, size).
        vectors: the rule's own, (size,), the same at all levels.
    """

    sums: Tensor
    gates: tuple[Tensor, ...]
    sources: tuple[Tensor, ...]
    vectors: tuple[Tensor, ...]


class NodeLevel(NamedTuple):
    """The rows of the nodes of one level.

    Attributes:
        sums: (nodes, gates * size).
        gates: views of it, (nodes, size).
        pooled: what was made of the edges to each node, (nodes, size).
        kept: (nodes, num_kept * size).
    """

    sums: Tensor
    gates: tuple[Tensor, ...]
    pooled: tuple[Tensor, ...]
    kept: Tensor


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
        products: of the vectors.
        direct: vectors that ``update`` itself reads.
    """

    size: int
    num_parts: int
    num_pooled: int
    num_kept: int
    edge_order: tuple[Block, ...]
    order: tuple[Block, ...]
    products: tuple[Product, ...]
    direct: tuple[int, ...]

    def pool(self, edges: EdgeLevel, segments: Segments, pooled: Sequence[Tensor]) -> None:
        """Fills the pooled vectors; may overwrite the sums."""

    def pool_backward(
        self, edges: EdgeLevel, segments: Segments, dpooled: Sequence[Tensor], into: EdgeLevel
    ) -> None:
        """Fills the gradients of sums and sources, without what comes through the sums.

        To the gradients of the vectors it adds.
        """

    def update(self, nodes: NodeLevel, states: Sequence[Tensor]) -> None:
        """Fills the parts of the states, (nodes, size), and kept rows; may overwrite the sums."""

    def update_backward(
        self, nodes: NodeLevel, gradients: Sequence[Tensor], into: NodeLevel
    ) -> None:
        """Fills the gradients of sums, and of the vectors in ``direct``.

        Args:
            nodes: as ``update`` left them.
            gradients: of the parts of the states, (nodes, size); may be overwritten.
            into: the gradients of sums and pooled vectors, to be filled.
        """


def run_edges(
    rule: EdgeRule,
    schedule: Schedule,
    start: Start,
    inputs: Tensor,
    edge_weight: Tensor,
    weights: Sequence[Tensor],
    vectors: Sequence[Tensor] = (),
    leaves: Tensor | None = None,
    input_rows: Tensor | None = None,
    num_results: int | None = None,
    recur: Recur | None = None,
) -> tuple[Tensor, ...]:
    """The states of all nodes, by node or by position.

    Args:
        rule: how a state follows from others.
        schedule: of the graph; on the device of the tensors.
        start: parts of the states of the first level, (num_sources, size), or with ``leaves`` any
            rows, or what they are made of.
        inputs: what the inputs contribute to the sums, (num_nodes - num_sources, blocks * size)
            by position, or one row for all nodes, or with ``input_rows`` any rows.
        edge_weight: (blocks * size, size).
        weights: for each product (blocks * size, size).
        vectors: parameters that the rule itself reads, (size,).
        leaves: (num_sources,) which row of ``start`` is the state of each node of the first level;
            nodes may share them.
        input_rows: (num_nodes - num_sources,) which row of ``inputs`` is that of each other node.
        num_results: so many parts of the states, h first, by node; all by position by default.
        recur: the same recursion in operations of torch, for gradients of gradients; it is given
            the weight of the edges, the others, and the vectors.

    Returns:
        The parts of the states, (num_nodes, size).

    Raises:
        PropagationError: in the backward pass, if gradients of gradients are asked for without
            ``recur``.
    """
    if schedule.num_levels <= 1:
        return in_order(states_of(start, leaves), schedule, num_results)
    maps = (edge_weight, weights, vectors, leaves)
    states = run_compiled_edges(
        rule, schedule, start, inputs, *maps, input_rows, num_results, recur
    )
    if states is not None:
        return states
    if input_rows is not None:
        inputs = inputs.index_select(0, input_rows)
    tensors = (inputs, edge_weight, *weights, *vectors, *states_of(start, leaves))
    states = _Edges.apply(rule, schedule, recur, *tensors)
    return in_order(states, schedule, num_results)


def _run_again(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
    return recur_again(ctx.recur, ctx.rule.num_parts, *tensors)


class _Edges(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx,
        rule: EdgeRule,
        schedule: Schedule,
        recur: Recur | None,
        inputs: Tensor,
        edge_weight: Tensor,
        *tensors: Tensor,
    ) -> tuple[Tensor, ...]:
        maps, start = tensors[: -rule.num_parts], tensors[-rule.num_parts :]
        weights, vectors = maps[: len(rule.products)], maps[len(rule.products) :]
        buffers = _Buffers.new(rule, schedule, inputs)
        segments = Segmentation(schedule)
        fill_sums(buffers.sums, inputs, rule.order, rule.size)
        fill_sums(buffers.edge_sums, inputs, rule.edge_order, rule.size, segments.target)
        states = new_states(start, schedule)
        of_edges = (Product(0, rule.edge_order),)
        edge_products = forward_weights([edge_weight], of_edges, rule.size)
        products = forward_weights(weights, rule.products, rule.size)
        sizes = level_sizes(schedule)
        rows = list(zip(*(state[:-1].split(sizes) for state in states), strict=True))[1:]
        index = schedule.source.split(edge_sizes(schedule))
        levels = (
            buffers.edges_by_level(rule.size, schedule, vectors),
            buffers.nodes_by_level(rule.size, schedule),
        )
        for edges, nodes, source, new, segment in zip(
            *levels, index, rows, segments.by_level(), strict=True
        ):
            for state, taken in zip(states, edges.sources, strict=True):
                gather(state, source, taken)
            add_products(edges.sums, edges.sources, edge_products, rule.size)
            rule.pool(edges, segment, nodes.pooled)
            add_products(nodes.sums, nodes.pooled, products, rule.size)
            rule.update(nodes, new)
        ctx.rule, ctx.schedule, ctx.recur, ctx.segments = rule, schedule, recur, segments
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(inputs, edge_weight, *tensors, *buffers.tensors())
        return tuple(state[:-1] for state in states)

    @staticmethod
    @by_hand(_run_again, num_options=3)
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        rule, schedule, segments = ctx.rule, ctx.schedule, ctx.segments
        size = rule.size
        inputs, edge_weight, *saved = contiguous(ctx.saved_tensors)
        first = len(saved) - 3 - rule.num_pooled - rule.num_parts
        buffers, maps = _Buffers.of(rule, saved[first:]), saved[: first - rule.num_parts]
        weights, vectors = maps[: len(rule.products)], maps[len(rule.products) :]
        dvectors = [torch.zeros_like(vector) for vector in vectors]
        messages = [empty(schedule.num_edges + 1, size, like=inputs) for _ in gradients]
        into = _Buffers.new(rule, schedule, inputs)
        into = into._replace(sources=[message[:-1] for message in messages])
        ends = (schedule.source, schedule.sent_to, level_sizes(schedule))
        states = StateGradients(gradients, messages, *ends, inputs.new_empty(size))
        of_edges = (Product(0, rule.edge_order),)
        edge_products = backward_weights([edge_weight], of_edges, size)
        products = backward_weights(weights, rule.products, size)
        levels = zip(
            buffers.edges_by_level(size, schedule, vectors),
            into.edges_by_level(size, schedule, dvectors),
            buffers.nodes_by_level(size, schedule),
            into.nodes_by_level(size, schedule),
            segments.by_level(),
            schedule.levels[1:],
            strict=True,
        )
        for number, (edges, dedges, nodes, dnodes, segment, level) in reversed(
            list(enumerate(levels, start=1))
        ):
            rule.update_backward(nodes, states.of(number), dnodes)
            add_product_gradients(dnodes.sums, dnodes.pooled, products, size, rule.direct)
            rule.pool_backward(edges, segment, dnodes.pooled, dedges)
            add_product_gradients(dedges.sums, dedges.sources, edge_products, size, (0,))
            states.sent(level.first_edge, level.last_edge)
        dweights = [
            *weight_gradients(into.edge_sums, buffers.sources, [edge_weight], of_edges, size),
            *weight_gradients(into.sums, buffers.pooled, weights, rule.products, size),
        ]
        by_node = segments.sum(into.edge_sums) if inputs.dim() > 1 else into.edge_sums
        pairs = ((into.sums, rule.order), (by_node, rule.edge_order))
        dinputs = inputs_gradient(pairs, inputs, size)
        return *[None] * 3, dinputs, *dweights, *dvectors, *states.of(0)


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

    def nodes_by_level(self, size: int, schedule: Schedule) -> list[NodeLevel]:
        """Views of the rows of the nodes of each level but the first."""
        sizes = level_sizes(schedule)[1:]
        rows = (self.sums.split(sizes), gates_by_level(self.sums, size, sizes))
        pooled = zip(*(part.split(sizes) for part in self.pooled), strict=True)
        return list(map(NodeLevel, *rows, pooled, self.kept.split(sizes)))

    def edges_by_level(
        self, size: int, schedule: Schedule, vectors: Sequence[Tensor]
    ) -> list[EdgeLevel]:
        """Views of the rows of the edges to each level but the first."""
        sizes = edge_sizes(schedule)
        rows = (self.edge_sums.split(sizes), gates_by_level(self.edge_sums, size, sizes))
        sources = zip(*(part.split(sizes) for part in self.sources), strict=True)
        return list(map(EdgeLevel, *rows, sources, [tuple(vectors)] * len(sizes)))
