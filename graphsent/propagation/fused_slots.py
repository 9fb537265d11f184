"""The fused engine of cells that have their predecessors in slots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.kernels.library import contiguous
from graphsent.propagation.compiled_slots import run_compiled_slots
from graphsent.propagation.fused import (
    Block,
    Product,
    StateGradients,
    add_product_gradients,
    add_products,
    backward_weights,
    bias_gradient,
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
from graphsent.propagation.schedule.slots import Slots
from graphsent.propagation.starts import Start, states_of


class SlotLevel(NamedTuple):
    """The rows of one level.

    Attributes:
        sums: (nodes, gates * size).
        gates: views of it, (nodes, size).
        slots: parts of the states in the slots, (nodes, count, size); None where not gathered.
        kept: (nodes, num_kept * size).
    """

    sums: Tensor
    gates: tuple[Tensor, ...]
    slots: tuple[Tensor | None, ...]
    kept: Tensor


class SlotRule(Protocol):
    """How the state of a node follows from sums and from the states in its slots.

    The sums of a node are those of its inputs and, for each of ``products``, of a weight times the
    states of one part in all slots. All gates and states are of one size; a state has ``num_parts``
    parts. The rule itself is pointwise: it works on the rows of one level, in place.

    Some gates may depend on the new state, as an output gate with a peephole does. They come after
    ``forward``, and ``finish`` makes those parts of the state that need them.

    Attributes:
        size: of a state.
        num_parts: parts of a state, h first.
        num_kept: blocks of columns that are kept for the backward pass.
        order: where each gate comes from; the inputs' block of columns, and the first product's
            block of rows. Gates behind the last of these rows are sums of inputs and bias alone.
        products: of the parts of the states in the slots.
        late: the product of a part of the new state, if there is one.
        direct: parts of the state that the rule itself reads.
    """

    size: int
    num_parts: int
    num_kept: int
    order: tuple[Block, ...]
    products: tuple[Product, ...]
    late: Product | None
    direct: tuple[int, ...]

    def forward(self, level: SlotLevel, states: Sequence[Tensor]) -> None:
        """Fills the parts of the states, (nodes, size), and kept rows; may overwrite the sums."""

    def backward(self, level: SlotLevel, gradients: Sequence[Tensor], into: SlotLevel) -> None:
        """Fills the gradients of the sums, and of the slots of the parts in ``direct``.

        Args:
            level: as ``forward`` left it.
            gradients: of the parts of the states, (nodes, size); may be overwritten.
            into: the gradients of sums and slots, to be filled.
        """

    def finish(self, level: SlotLevel, states: Sequence[Tensor]) -> None:
        """What comes after the late product, if there is one."""

    def finish_backward(
        self, level: SlotLevel, gradients: Sequence[Tensor], into: SlotLevel
    ) -> None:
        """Fills the gradients of the sums of late gates, and adds to those of the states."""


def run_slots(
    rule: SlotRule,
    schedule: Schedule,
    slots: Slots,
    start: Start,
    inputs: Tensor,
    weights: Sequence[Tensor],
    bias: Tensor | None = None,
    leaves: Tensor | None = None,
    input_rows: Tensor | None = None,
    num_results: int | None = None,
    recur: Recur | None = None,
) -> tuple[Tensor, ...]:
    """The states of all nodes, by node or by position.

    Args:
        rule: how a state follows from others.
        schedule: of the graph; on the device of the tensors.
        slots: which node is in which slot.
        start: parts of the states of the first level, (num_sources, size), or with ``leaves`` any
            rows, or what they are made of.
        inputs: what the inputs contribute to the sums, (num_nodes - num_sources, blocks * size)
            by position, or one row for all nodes, or with ``input_rows`` any rows.
        weights: for each product (blocks * size, count * size), for the late one (blocks * size,
            size).
        bias: added to the sums of all nodes, its blocks those of the first weight's rows.
        leaves: (num_sources,) which row of ``start`` is the state of each node of the first level;
            nodes may share them.
        input_rows: (num_nodes - num_sources,) which row of ``inputs`` is that of each other node.
        num_results: so many parts of the states, h first, by node; all by position by default.
        recur: the same recursion in operations of torch, for gradients of gradients; it is given
            the bias, or None, and the weights.

    Returns:
        The parts of the states, (num_nodes, size).

    Raises:
        PropagationError: in the backward pass, if gradients of gradients are asked for without
            ``recur``.
    """
    if schedule.num_levels <= 1:
        return in_order(states_of(start, leaves), schedule, num_results)
    maps = (weights, bias, leaves)
    states = run_compiled_slots(
        rule, schedule, slots, start, inputs, *maps, input_rows, num_results, recur
    )
    if states is not None:
        return states
    if input_rows is not None:
        inputs = inputs.index_select(0, input_rows)
    start = states_of(start, leaves)
    states = _Slots.apply(rule, schedule, slots, recur, inputs, bias, *weights, *start)
    return in_order(states, schedule, num_results)


def _run_again(ctx: Any, *tensors: Tensor | None) -> tuple[Tensor, ...]:
    return recur_again(ctx.recur, ctx.rule.num_parts, *tensors)


class _Slots(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx,
        rule: SlotRule,
        schedule: Schedule,
        slots: Slots,
        recur: Recur | None,
        inputs: Tensor,
        bias: Tensor | None,
        *tensors: Tensor,
    ) -> tuple[Tensor, ...]:
        weights, start = tensors[: -rule.num_parts], tensors[-rule.num_parts :]
        sizes, size = level_sizes(schedule), rule.size
        buffers = _Buffers.new(rule, len(slots.source), slots.count, inputs)
        fill_sums(buffers.sums, inputs, rule.order, size, bias=bias)
        states = new_states(start, schedule)
        products, late = _split(rule, forward_weights(weights, _products(rule), size))
        new = zip(*(state[:-1].split(sizes) for state in states), strict=True)
        index = slots.source.split([size * slots.count for size in sizes[1:]])
        for level, source, rows in zip(
            buffers.by_level(sizes[1:], slots.count), index, list(new)[1:], strict=True
        ):
            for state, taken in zip(states, level.slots, strict=True):
                if taken is not None:
                    gather(state, source, taken.flatten(0, 1))
            add_products(level.sums, level.slots, products, size)
            rule.forward(level, rows)
            if late:
                add_products(level.sums, rows, late, size)
                rule.finish(level, rows)
        ctx.rule, ctx.schedule, ctx.slots, ctx.recur = rule, schedule, slots, recur
        ctx.set_materialize_grads(False)
        results = tuple(state[:-1] for state in states)
        seen = [results[product.rows] for product, _ in late]
        saved = (buffers.sums, buffers.kept, *buffers.gathered, *seen)
        ctx.save_for_backward(inputs, bias, *tensors, *saved)
        return results

    @staticmethod
    @by_hand(_run_again, num_options=4)
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        rule, slots = ctx.rule, ctx.slots
        size, sizes = rule.size, level_sizes(ctx.schedule)
        count = len(_products(rule))
        inputs, bias, *saved = contiguous(ctx.saved_tensors)
        weights, saved = saved[:count], saved[count + rule.num_parts :]
        sums, kept, *gathered = saved[: 2 + rule.num_parts]
        buffers = _Buffers(sums, kept, gathered)
        messages = [
            None if part is None else empty(len(part) + 1, size, like=sums) for part in gathered
        ]
        sent = [None if message is None else message[:-1] for message in messages]
        into = _Buffers(empty(*sums.shape, like=sums), kept, sent)
        ends = (slots.source, slots.sent_to, sizes)
        states = StateGradients(gradients, messages, *ends, sums.new_empty(size))
        products, late = _split(rule, backward_weights(weights, _products(rule), size))
        levels = zip(
            buffers.by_level(sizes[1:], slots.count),
            into.by_level(sizes[1:], slots.count),
            strict=True,
        )
        last = len(slots.source)
        for number, (level, dlevel) in reversed(list(enumerate(levels, start=1))):
            dstates = states.of(number)
            if late:
                rule.finish_backward(level, dstates, dlevel)
                add_product_gradients(dlevel.sums, dstates, late, size, range(rule.num_parts))
            rule.backward(level, dstates, dlevel)
            add_product_gradients(dlevel.sums, dlevel.slots, products, size, rule.direct)
            first = last - sizes[number] * slots.count
            states.sent(first, last)
            last = first
        rows = [*gathered, *(state[sizes[0] :] for state in saved[2 + rule.num_parts :])]
        dweights = weight_gradients(into.sums, rows, weights, _products(rule), size)
        dinputs = inputs_gradient(((into.sums, rule.order),), inputs, size)
        dbias = None if bias is None else bias_gradient(into.sums, rule.order, size)
        return *[None] * 4, dinputs, dbias, *dweights, *states.of(0)


def _products(rule: SlotRule) -> tuple[Product, ...]:
    """All products; the rows of the late one come after the slots of all parts."""
    if rule.late is None:
        return rule.products
    return (*rule.products, rule.late._replace(rows=rule.num_parts))


def _split(
    rule: SlotRule, weights: list[tuple[Product, Tensor]]
) -> tuple[list[tuple[Product, Tensor]], list[tuple[Product, Tensor]]]:
    """The weights for the slots, and the late one, if there is one."""
    count = len(rule.products)
    return weights[:count], [(rule.late, weight) for _, weight in weights[count:]]


class _Buffers(NamedTuple):
    """What the levels fill: rows of all nodes but those of the first level.

    ``gathered`` has rows of slots; None for a part that nothing reads.
    """

    sums: Tensor
    kept: Tensor
    gathered: Sequence[Tensor | None]

    @classmethod
    def new(cls, rule: SlotRule, num_slots: int, count: int, like: Tensor) -> _Buffers:
        num_nodes = num_slots // count
        used = {*rule.direct, *(product.rows for product in rule.products)}
        return cls(
            empty(num_nodes, len(rule.order) * rule.size, like=like),
            empty(num_nodes, rule.num_kept * rule.size, like=like),
            [
                empty(num_slots, rule.size, like=like) if part in used else None
                for part in range(rule.num_parts)
            ],
        )

    def by_level(self, sizes: list[int], count: int) -> list[SlotLevel]:
        """Views of the rows of each level but the first."""
        size = next(part.shape[1] for part in self.gathered if part is not None)
        none = [None] * len(sizes)
        slots = [
            none if part is None else part.unflatten(0, (-1, count)).split(sizes)
            for part in self.gathered
        ]
        rows = (self.sums.split(sizes), gates_by_level(self.sums, size, sizes))
        kept = self.kept.split(sizes)
        return list(map(SlotLevel, *rows, zip(*slots, strict=True), kept))
