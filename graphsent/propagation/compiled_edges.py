"""The walk of ``run_edges`` in compiled code: one call for all levels."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.kernels.library import contiguous, needs_gradients
from graphsent.propagation.compiled_walk import (
    RESULTS,
    WEIGHTS,
    Plan,
    Walk,
    gradients_named,
    has_walk,
    named,
    run_plan_again,
)
from graphsent.propagation.gradients import Recur, by_hand
from graphsent.propagation.memory import empty
from graphsent.propagation.schedule.schedule import Schedule
from graphsent.propagation.starts import Start, tensors_of

if TYPE_CHECKING:
    from graphsent.propagation.fused import Block, Product
    from graphsent.propagation.fused_edges import EdgeRule


KINDS = ("lstm", "gru", "attentive lstm", "attentive gru")
"""What rules have as ``compiled``; see ``kernels/edges.h``."""


def run_compiled_edges(
    rule: EdgeRule,
    schedule: Schedule,
    start: Start,
    inputs: Tensor,
    edge_weight: Tensor,
    weights: Sequence[Tensor],
    vectors: Sequence[Tensor],
    leaves: Tensor | None,
    input_rows: Tensor | None,
    num_results: int | None,
    recur: Recur | None,
) -> tuple[Tensor, ...] | None:
    """What ``run_edges`` gives; None where there is no compiled code for it."""
    tensors = (inputs, edge_weight, *weights, *vectors, *tensors_of(start))
    if not has_walk(rule, KINDS, *tensors):
        return None
    plan = _EdgePlan(rule, schedule, start, leaves, input_rows, num_results, recur)
    size = rule.size
    shapes = [(edge_weight, (len(rule.edge_order) * size, size))]
    shapes += [
        (weight, (len(product.gates) * size, size))
        for weight, product in zip(weights, rule.products, strict=True)
    ]
    shapes += [(vector, (size,)) for vector in vectors]
    plan.check(start, inputs, *shapes)
    return _CompiledEdges.apply(plan, needs_gradients(*tensors), *contiguous(tensors))


class _EdgePlan(Plan):
    """A plan with the edges to each node; gates in the order of the weights' rows."""

    def __init__(
        self,
        rule: EdgeRule,
        schedule: Schedule,
        start: Start,
        leaves: Tensor | None,
        input_rows: Tensor | None,
        num_results: int | None,
        recur: Recur | None,
    ) -> None:
        gates = _input_of(rule.edge_order, rule.products)
        super().__init__(
            rule, schedule, schedule.source, start, leaves, gates, input_rows, num_results, recur
        )
        inner = torch.arange(schedule.num_sources, schedule.num_nodes + 1, device="cpu")
        self.first_edge = torch.searchsorted(schedule.target, inner)
        self.attentive = rule.compiled.startswith("attentive")

    def edge_walk(self, inputs: Tensor, given: Sequence[Tensor], keep: bool) -> Walk:
        """The arguments that both passes have, but for most tensors."""
        numbers = {"attentive": self.attentive, "num_gates": len(self.rule.order)}
        if self.rule.num_parts > 1:
            numbers["has_output"] = self.rule.gates.gate_output
        walk = self.walk(inputs, given, keep, **numbers)
        walk.point(first_edge=self.first_edge)
        return walk

    def maps(self, tensors: Sequence[Tensor]) -> dict[str, Tensor]:
        """The weights and the vector, by the names of their arguments."""
        last = 1 + len(self.rule.products)
        return {**named(WEIGHTS, tensors[:last]), **named(("vector",), tensors[last:])}

    def buffers(self, like: Tensor) -> dict[str, Tensor]:
        """What the walk fills beside states, by the names of its arguments."""
        rule, num_edges = self.rule, self.schedule.num_edges
        rows = {
            "gates": (self.num_inner, len(rule.order)),
            "edge_gates": (num_edges, len(rule.edge_order)),
            "gathered": (num_edges, 1),
            "pooled_0": (self.num_inner, 1),
            "pooled_1": (self.num_inner, 1),
        }
        if rule.num_parts > 1:
            rows["kept"] = (self.num_inner, 1)
        found = {name: empty(n, k * rule.size, like=like) for name, (n, k) in rows.items()}
        if self.attentive:
            found["attention"] = empty(num_edges, like=like)
        return found


@functools.cache
def _input_of(edge_order: tuple[Block, ...], products: tuple[Product, ...]) -> tuple[int, ...]:
    """The block of the inputs of each gate, of edges and then of nodes, by the weights' rows."""
    at_nodes = {
        product.first + block.weight: block.inputs
        for product in products
        for block in product.gates
    }
    at_edges = (block.inputs for block in edge_order)
    return (*at_edges, *(at_nodes[number] for number in range(len(at_nodes))))


class _CompiledEdges(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, plan: _EdgePlan, keep: bool, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        inputs, *others = tensors
        maps, given = others[: -plan.num_given], others[-plan.num_given :]
        walk, start = plan.edge_walk(inputs, given, keep), plan.start(given)
        states, results = plan.outcome(inputs)
        known = {"inputs": inputs, **plan.maps(maps), **start, **states, **plan.buffers(inputs)}
        walk.point(**known, **results)
        block, _ = walk.run_forward("edges", inputs)
        ctx.set_materialize_grads(False)
        if keep:
            ctx.plan, ctx.walk, ctx.names = plan, walk, (*known, "block")
            ctx.save_for_backward(*known.values(), block)
        return tuple((states or results).values())

    @staticmethod
    @by_hand(run_plan_again, num_options=2)
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        plan = ctx.plan
        known = dict(zip(ctx.names, contiguous(ctx.saved_tensors), strict=True))
        inputs = known["inputs"]
        walk = Walk.from_buffer_copy(ctx.walk)
        dinputs = empty(*inputs.shape, like=inputs)
        into = {
            "dsums": known["gates"],
            "dedge_sums": known["edge_gates"],
            "dscores": known.get("attention"),
        }
        into = {k: empty(*v.shape, like=v) for k, v in into.items() if v is not None}
        needed = ctx.needs_input_grad[-plan.num_given :]
        dgiven = plan.start_gradients(walk, known, needed, inputs)
        given = contiguous(gradients)
        walk.point(**known, **into, **gradients_named(RESULTS, given), dinputs=dinputs)
        walk.run_backward("edges", inputs)
        if inputs.dim() == 1:
            rows = torch.cat((into["dedge_sums"].sum(0), into["dsums"].sum(0)))
            blocks = torch.tensor(list(plan.input_of), device="cpu")
            dinputs.view(-1, plan.rule.size).index_add_(0, blocks, rows.view(-1, plan.rule.size))
        return None, None, dinputs, *_map_gradients(plan.rule, known, into), *dgiven


def _map_gradients(rule: EdgeRule, buffers: dict[str, Tensor], into: dict[str, Tensor]) -> list:
    """Gradients of the weights and of the vector, one product each."""
    results = [into["dedge_sums"].t() @ buffers["gathered"]]
    for product in rule.products:
        columns = product.of(into["dsums"], rule.size)
        results.append(columns.t() @ buffers[f"pooled_{product.rows}"])
    if "dscores" in into:
        results.append(buffers["edge_gates"][:, : rule.size].t() @ into["dscores"])
    return results
