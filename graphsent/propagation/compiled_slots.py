"""The walk of ``run_slots`` in compiled code: one call for all levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.propagation.compiled import contiguous, needs_gradients
from graphsent.propagation.compiled_walk import (
    RESULTS,
    START,
    STATES,
    WEIGHTS,
    Plan,
    Walk,
    gradients_named,
    has_walk,
    named,
)
from graphsent.propagation.gradients import first_order
from graphsent.propagation.memory import empty, zeros
from graphsent.propagation.schedule import Schedule
from graphsent.propagation.starts import Start, tensors_of

if TYPE_CHECKING:
    from graphsent.propagation.fused_slots import SlotRule
    from graphsent.propagation.slots import Slots

KINDS = ("nary", "peephole", "mixture", "squash", "composition")
"""What rules have as ``compiled``, in the order of ``kernels/walk.h``."""

_KEPT = {
    "nary": ("gates", "kept"),
    "peephole": ("gates", "kept"),
    "mixture": ("gates",),
    "squash": (),
    "composition": ("gates", "kept"),
}
_DWEIGHTS = ("dweight", "dmore_weight")


def run_compiled_slots(
    rule: SlotRule,
    schedule: Schedule,
    slots: Slots,
    start: Start,
    inputs: Tensor,
    weights: Sequence[Tensor],
    bias: Tensor | None,
    leaves: Tensor | None,
    input_rows: Tensor | None,
    num_results: int | None,
) -> tuple[Tensor, ...] | None:
    """What ``run_slots`` gives; None where there is no compiled code for it."""
    tensors = (inputs, bias, *weights, *tensors_of(start))
    if not has_walk(rule, *tensors):
        return None
    plan = _SlotPlan(rule, schedule, slots, start, leaves, input_rows, num_results)
    plan.check(start, inputs, *zip((bias, *weights, slots.source), plan.shapes(), strict=True))
    return _CompiledSlots.apply(plan, needs_gradients(*tensors), *tensors)


class _SlotPlan(Plan):
    """A plan with slots; gates in the order of the first weight's rows."""

    def __init__(
        self,
        rule: SlotRule,
        schedule: Schedule,
        slots: Slots,
        start: Start,
        leaves: Tensor | None,
        input_rows: Tensor | None,
        num_results: int | None,
    ) -> None:
        gates = [0] * len(rule.order)
        for block in rule.order:
            gates[block.weight] = block.inputs
        super().__init__(
            rule, schedule, slots.source, start, leaves, gates, input_rows, num_results
        )
        self.count = slots.count
        self.num_gates = len(gates)
        self.num_early = len(rule.products[1].gates) if rule.late else 0

    def shapes(self) -> list[tuple[int, ...]]:
        """Of the bias, the weights, and the positions in slots."""
        size, row = self.rule.size, self.count * self.rule.size
        shapes = [(self.num_gates * size,), (self.num_gates * size, row)]
        if self.num_early:
            shapes += [(self.num_early * size, row), (size, size)]
        return [*shapes, (self.num_inner * self.count,)]

    def slot_walk(self, inputs: Tensor, num_starts: int) -> Walk:
        """The arguments that both passes have, but for tensors."""
        numbers = {"rule": KINDS.index(self.rule.compiled), "count": self.count}
        numbers |= {"num_gates": self.num_gates, "num_starts": num_starts}
        if self.num_early:
            numbers["forgets"] = self.num_early - 1
        elif self.rule.compiled == "nary":
            numbers["has_output"] = self.rule.gates.gate_output
        return self.walk(inputs, **numbers)

    def kept(self, like: Tensor) -> dict[str, Tensor]:
        """What the walk keeps for the backward pass, by the names of its arguments."""
        widths = {"gates": self.num_gates, "kept": 1}
        size = self.rule.size
        return {
            name: empty(self.num_inner, widths[name] * size, like=like)
            for name in _KEPT[self.rule.compiled]
        }

    def places(self, num_starts: int) -> Tensor:
        """Room for what ``places.h`` finds out."""
        return torch.empty(self.count * (2 + 5 * self.num_inner + num_starts), dtype=torch.int64)

    def seen(self) -> Tensor:
        """Room for what ``places.h`` finds out for the backward pass."""
        return torch.empty(2 * self.count * self.num_inner + 1, dtype=torch.int64)


class _CompiledSlots(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, plan: _SlotPlan, keep: bool, *tensors: Tensor | None
    ) -> tuple[Tensor, ...]:
        inputs, bias, *others = contiguous(tensors)
        maps, given = others[: -plan.num_given], others[-plan.num_given :]
        leaves, start, of_leaves = plan.first_states(given, keep)
        states, results = plan.new_states(inputs)
        known = {"inputs": inputs, "bias": bias, **named(WEIGHTS, maps), **named(START, start)}
        known |= {**named(STATES, states), **(plan.kept(inputs) if keep else {})}
        places = plan.places(len(start[0]))
        walk = plan.slot_walk(inputs, len(start[0]))
        walk.make_first(leaves)
        walk.point(**known, **named(RESULTS, results), places=places)
        walk.run("slots", inputs, backward=False)
        ctx.plan, ctx.places, ctx.names = plan, places, tuple(known)
        ctx.set_materialize_grads(False)
        if keep:
            ctx.save_for_backward(*known.values(), *of_leaves)
        return tuple(results or states)

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        plan, num_parts, saved = ctx.plan, ctx.plan.rule.num_parts, ctx.saved_tensors
        known, of_leaves = dict(zip(ctx.names, saved, strict=False)), saved[len(ctx.names) :]
        inputs, bias, start_h = known["inputs"], known["bias"], known["start_h"]
        num_nodes, size = known["h"].shape
        dstates = [empty(num_nodes, size, like=inputs) for _ in range(num_parts)]
        dstart = [None] * num_parts
        if any(ctx.needs_input_grad[-plan.num_given :]):
            dstart = [zeros(*start_h.shape, like=inputs) for _ in range(num_parts)]
        num_pairs = int(ctx.places[plan.count - 1])
        dsums = empty(plan.num_inner + num_pairs, plan.num_gates * size, like=inputs)
        dinputs, dbias = plan.inputs_gradient(inputs), None
        if bias is not None or inputs.dim() == 1:
            dbias = inputs.new_zeros(dsums.shape[1])
        dmaps = [empty(*known[name].shape, like=inputs) for name in WEIGHTS[:2] if name in known]
        leaves, dgiven = plan.first_gradients(of_leaves, dstart)
        given, seen = contiguous(gradients), plan.seen()
        walk = plan.slot_walk(inputs, len(start_h))
        walk.make_first(leaves)
        walk.point(**known, **gradients_named(RESULTS, given), places=ctx.places, seen=seen)
        walk.point(**gradients_named(STATES, dstates), **gradients_named(START, dstart))
        walk.point(dsums=dsums, dinputs=dinputs, dbias=dbias, **named(_DWEIGHTS, dmaps))
        walk.run("slots", inputs, backward=True)
        if plan.num_early:
            c = known["c"][plan.schedule.num_sources :]
            dmaps.append(dsums[: plan.num_inner, -size:].t() @ c)
        return None, None, dinputs, None if bias is None else dbias, *dmaps, *dgiven
