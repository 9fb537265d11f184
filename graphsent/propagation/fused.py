"""What the fused engines share.

A fused engine runs a cell over a whole schedule as one operation of autograd. The rows of a level
are contiguous in every buffer: one matrix product makes the sums of all gates of a level, in place.
The backward pass walks the levels once for the gradients of the states; those of the weights are
one product over all nodes at the end. States of several levels before are gathered, and so are
their gradients where every node has one successor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.propagation.memory import empty
from graphsent.propagation.schedule.schedule import Schedule


class Block(NamedTuple):
    """Where the columns of one gate come from; all gates are as wide as a state.

    Attributes:
        weight: block of rows of the weight, or of the bias alone, behind those of the weight.
        inputs: block of columns of the inputs; None where there are none.
        scale: factor of the sum.
    """

    weight: int
    inputs: int | None
    scale: float = 1.0


class Product(NamedTuple):
    """A weight that is applied to rows and contributes to some gates.

    Attributes:
        rows: number of what it is applied to.
        gates: where each of its gates is in its rows.
        first: number of the first of these gates among all.
    """

    rows: int
    gates: tuple[Block, ...]
    first: int = 0

    def of(self, sums: Tensor, size: int) -> Tensor:
        """Its columns of sums whose gates are of a size."""
        begin = self.first * size
        return sums[:, begin : begin + len(self.gates) * size]


class _Permute(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, rows: Tensor, order: Tensor, inverse: Tensor) -> Tensor:
        ctx.save_for_backward(order, inverse)
        result = empty(len(order), *rows.shape[1:], like=rows)
        return torch.index_select(rows, 0, order, out=result)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        order, inverse = ctx.saved_tensors
        return _Permute.apply(gradient, inverse, order), None, None


def by_position(rows: Tensor, schedule: Schedule) -> Tensor:
    """Rows of nodes, in the order of the schedule."""
    return _Permute.apply(rows, schedule.nodes, schedule.position)


def by_node(rows: Tensor, schedule: Schedule) -> Tensor:
    """Rows in the order of the schedule, in the order of the graph's nodes."""
    return _Permute.apply(rows, schedule.position, schedule.nodes)


def in_order(
    states: Sequence[Tensor], schedule: Schedule, num_results: int | None
) -> tuple[Tensor, ...]:
    """So many parts of states by position, by node; all as they are if it is None."""
    if num_results is None:
        return tuple(states)
    return tuple(by_node(part, schedule) for part in states[:num_results])


def gather(rows: Tensor, index: Tensor, out: Tensor) -> Tensor:
    """Copies rows to contiguous memory."""
    return torch.index_select(rows, 0, index, out=out)


Weights = Sequence[tuple[Product, Tensor]]


def forward_weights(
    weights: Sequence[Tensor], products: Sequence[Product], size: int
) -> list[tuple[Product, Tensor]]:
    """The weights for ``rows @ weight``: transposed and scaled, their gates in order."""
    results = []
    for weight, product in zip(weights, products, strict=True):
        result = empty(weight.shape[1], weight.shape[0], like=weight)
        parts = weight.t().split(size, 1)
        for block, columns in zip(product.gates, result.split(size, 1), strict=True):
            torch.mul(parts[block.weight], block.scale, out=columns)
        results.append((product, result))
    return results


def backward_weights(
    weights: Sequence[Tensor], products: Sequence[Product], size: int
) -> list[tuple[Product, Tensor]]:
    """The weights for ``gradient @ weight``: their gates in order."""
    results = []
    for weight, product in zip(weights, products, strict=True):
        parts, result = weight.split(size), empty(*weight.shape, like=weight)
        torch.cat([parts[block.weight] for block in product.gates], out=result)
        results.append((product, result))
    return results


def add_products(sums: Tensor, rows: Sequence[Tensor | None], weights: Weights, size: int) -> None:
    """Adds to sums the products of rows and the weights of :func:`forward_weights`."""
    for product, weight in weights:
        product.of(sums, size).addmm_(rows[product.rows].flatten(1), weight)


def add_product_gradients(
    dsums: Tensor,
    drows: Sequence[Tensor | None],
    weights: Weights,
    size: int,
    direct: Sequence[int],
) -> None:
    """Gradients of the rows of products; those in ``direct`` hold something already."""
    filled = set(direct)
    for product, weight in weights:
        gradient = drows[product.rows].flatten(1)
        gradient.addmm_(product.of(dsums, size), weight, beta=int(product.rows in filled))
        filled.add(product.rows)


def weight_gradients(
    dsums: Tensor,
    rows: Sequence[Tensor | None],
    weights: Sequence[Tensor],
    products: Sequence[Product],
    size: int,
) -> list[Tensor]:
    """Gradients of the weights from those of all sums, and all rows: one product each."""
    results = []
    for weight, product in zip(weights, products, strict=True):
        columns, seen = product.of(dsums, size).t(), rows[product.rows].view(len(dsums), -1)
        parts = torch.mm(columns, seen, out=empty(*weight.shape, like=weight)).split(size)
        place = {block.weight: part for block, part in zip(product.gates, parts, strict=True)}
        results.append(torch.cat([place[number] for number in range(len(place))]))
    return results


def fill_sums(
    sums: Tensor,
    inputs: Tensor,
    order: Sequence[Block],
    size: int,
    index: Tensor | None = None,
    bias: Tensor | None = None,
) -> None:
    """Writes what the inputs and a bias contribute to sums.

    Args:
        sums: (rows, gates * size).
        inputs: (rows, blocks * size), or one row for all.
        order: where the gates come from.
        size: of a block.
        index: the row of the inputs for each row of the sums; their own by default.
        bias: (gates * size,), its blocks those of the weight.
    """
    parts = inputs.split(size, -1)
    biases = None if bias is None else bias.split(size)
    for block, columns in zip(order, sums.split(size, -1), strict=True):
        rows = inputs.new_zeros(size) if block.inputs is None else parts[block.inputs]
        if index is not None and rows.dim() > 1:
            rows = rows.index_select(0, index)
        if biases is None:
            columns.copy_(rows)
        else:
            torch.add(rows.expand_as(columns), biases[block.weight], out=columns)
        if block.scale != 1:
            columns.mul_(block.scale)


def inputs_gradient(
    gradients: Sequence[tuple[Tensor, Sequence[Block]]], inputs: Tensor, size: int
) -> Tensor:
    """Gradient of the inputs from those of several kinds of sums."""
    result = empty(*inputs.shape, like=inputs)
    parts = result.split(size, -1)
    filled = set()
    for gradient, order in gradients:
        gradient = gradient.sum(0) if inputs.dim() == 1 else gradient
        for block, columns in zip(order, gradient.split(size, -1), strict=True):
            if block.inputs is None:
                continue
            if block.inputs in filled:
                parts[block.inputs].add_(columns)
            else:
                parts[block.inputs].copy_(columns)
            filled.add(block.inputs)
    for number in set(range(len(parts))) - filled:
        parts[number].zero_()
    return result


def bias_gradient(dsums: Tensor, order: Sequence[Block], size: int) -> Tensor:
    """Gradient of the bias of :func:`fill_sums` from those of all sums."""
    totals = dsums.sum(0).split(size)
    place = {block.weight: total for block, total in zip(order, totals, strict=True)}
    return torch.cat([place[number] for number in range(len(place))])


def level_sizes(schedule: Schedule) -> list[int]:
    """Numbers of nodes of all levels."""
    return np.diff(schedule.bounds.ends, prepend=0).tolist()


def gates_by_level(sums: Tensor, size: int, sizes: list[int]) -> list[tuple[Tensor, ...]]:
    """Views of each gate of each level, (nodes, size)."""
    return list(zip(*(gate.split(sizes) for gate in sums.split(size, 1)), strict=True))


def new_states(start: Sequence[Tensor], schedule: Schedule) -> list[Tensor]:
    """Buffers of all states by position, and a row of zeros; the first level is filled."""
    states = []
    for part in start:
        state = empty(schedule.num_nodes + 1, part.shape[1], like=part)
        state[: len(part)] = part
        state[-1] = 0
        states.append(state)
    return states


class StateGradients:
    """The gradients of the states of each level, from those of what was made of them.

    Args:
        gradients: of the results, (num_nodes, size) by position, or None.
        messages: for each part of the state a buffer (num_messages + 1, size) for the gradients of
            the gathered states, filled from the last level to the first; None if not gathered.
        source: (num_messages,) position of the node whose state it was; num_nodes for the row of
            zeros.
        sent_to: (num_nodes,) the message of each node, num_messages where there is none; no rows
            if some node has several.
        sizes: numbers of nodes of all levels.
        like: a row of a state.
    """

    def __init__(
        self,
        gradients: Sequence[Tensor | None],
        messages: Sequence[Tensor | None],
        source: Tensor,
        sent_to: Tensor,
        sizes: list[int],
        like: Tensor,
    ) -> None:
        self.messages = messages
        self.source = source
        self.like = like
        num_nodes = sum(sizes)
        self.sent_to = sent_to.split(sizes) if len(sent_to) == num_nodes else None
        for message in messages:
            if message is not None:
                message[-1] = 0
        if self.sent_to is None:
            self.sums = [self._padded(gradient, num_nodes) for gradient in gradients]
            gradients = [total[:-1] for total in self.sums]
        self.rows = [None if part is None else part.split(sizes) for part in gradients]
        self.sizes = sizes

    def of(self, level: int) -> list[Tensor]:
        """The gradients of the states of a level, whose successors are done; to be overwritten."""
        if self.sent_to is None:
            return [rows[level] for rows in self.rows]
        return [
            self._gathered(message, rows, level)
            for message, rows in zip(self.messages, self.rows, strict=True)
        ]

    def sent(self, first: int, last: int) -> None:
        """Takes note that some rows of the messages are filled."""
        if self.sent_to is not None:
            return
        for total, message in zip(self.sums, self.messages, strict=True):
            if message is not None:
                total.index_add_(0, self.source[first:last], message[first:last])

    def _gathered(
        self, message: Tensor | None, rows: Sequence[Tensor] | None, level: int
    ) -> Tensor:
        if message is None:
            if rows is not None:
                return rows[level].clone()
            return self.like.new_zeros(self.sizes[level], *self.like.shape)
        result = message.index_select(0, self.sent_to[level])
        return result if rows is None else result.add_(rows[level])

    def _padded(self, gradient: Tensor | None, num_nodes: int) -> Tensor:
        total = self.like.new_zeros(num_nodes + 1, *self.like.shape)
        if gradient is not None:
            total[:-1] = gradient
        return total
