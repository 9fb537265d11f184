"""The walk of ``run_edges`` in compiled code: one call for all levels."""

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
    from graphsent.propagation.fused_edges import EdgeRule


def run_compiled_edges(
    rule: EdgeRule,
    schedule: Schedule,
    start: Start,
    inputs: Tensor,
    edge_weight: Tensor,
    weights: Sequence[Tensor],
    vectors: Sequence[Tensor],
    leaves: Tensor | None,
    num_results: int | None,
) -> tuple[Tensor, ...] | None:
    """What ``run_edges`` gives; None where there is no compiled code for it."""
    tensors = (inputs, edge_weight, *weights, *vectors, *tensors_of(start))
    if not has_walk(rule, *tensors):
        return None
    plan = _EdgePlan(rule, schedule, start, leaves, num_results)
    size = rule.size
    shapes = [(edge_weight, (len(rule.edge_order) * size, size))]
    shapes += [
        (weight, (len(product.gates) * size, size))
        for weight, product in zip(weights, rule.products, strict=True)
    ]
    shapes += [(vector, (size,)) for vector in vectors]
    plan.check(start, inputs, *shapes)
    return _CompiledEdges.apply(plan, needs_gradients(*tensors), *tensors)


class _EdgePlan(Plan):
    """A plan with the edges to each node; gates in the order of the weights' rows."""

    def __init__(
        self,
        rule: EdgeRule,
        schedule: Schedule,
        start: Start,
        leaves: Tensor | None,
        num_results: int | None,
    ) -> None:
        at_nodes = {
            product.first + block.weight: block.inputs
            for product in rule.products
            for block in product.gates
        }
        gates = [at_nodes[number] for number in range(len(at_nodes))]
        gates = [*(block.inputs for block in rule.edge_order), *gates]
        super().__init__(rule, schedule, schedule.source, start, leaves, gates, None, num_results)
        inner = torch.arange(schedule.num_sources, schedule.num_nodes + 1)
        self.first_edge = torch.searchsorted(schedule.target, inner)
        self.attentive = len(rule.edge_order) > 1

    def edge_walk(self, inputs: Tensor) -> Walk:
        """The arguments that both passes have, but for most tensors."""
        numbers = {"attentive": self.attentive, "num_gates": len(self.rule.order)}
        if self.rule.num_parts > 1:
            numbers["has_output"] = self.rule.gates.gate_output
        walk = self.walk(inputs, **numbers)
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
            "gathered_h": (num_edges, 1),
            "pooled_0": (self.num_inner, 1),
            "pooled_1": (self.num_inner, 1),
        }
        if rule.num_parts > 1:
            rows["kept"] = (self.num_inner, 1)
        found = {name: empty(n, k * rule.size, like=like) for name, (n, k) in rows.items()}
        if self.attentive:
            found["attention"] = empty(num_edges, like=like)
        return found


class _CompiledEdges(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, plan: _EdgePlan, keep: bool, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        inputs, *others = contiguous(tensors)
        middle = len(others) - plan.num_given
        leaves, start, of_leaves = plan.first_states(others[middle:], keep)
        states, results = plan.new_states(inputs)
        known = {"inputs": inputs, **plan.maps(others[:middle]), **named(START, start)}
        known |= {**named(STATES, states), **plan.buffers(inputs)}
        walk = plan.edge_walk(inputs)
        walk.make_first(leaves)
        walk.point(**known, **named(RESULTS, results))
        walk.run("edges", inputs, backward=False)
        ctx.plan, ctx.names = plan, tuple(known)
        ctx.set_materialize_grads(False)
        if keep:
            ctx.save_for_backward(*known.values(), *of_leaves)
        return tuple(results or states)

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        plan, rule, saved = ctx.plan, ctx.plan.rule, ctx.saved_tensors
        known, of_leaves = dict(zip(ctx.names, saved, strict=False)), saved[len(ctx.names) :]
        inputs = known["inputs"]
        dinputs = plan.inputs_gradient(inputs)
        into = {
            "dsums": known["gates"],
            "dedge_sums": known["edge_gates"],
            "dscores": known.get("attention"),
        }
        for name in STATES[: rule.num_parts]:
            into[f"d{name}"], into[f"message_{name}"] = known[name], known["gathered_h"]
        into = {k: empty(*v.shape, like=v) for k, v in into.items() if v is not None}
        dstart = [zeros(*known["start_h"].shape, like=inputs) for _ in range(rule.num_parts)]
        leaves, dgiven = plan.first_gradients(of_leaves, dstart)
        given = contiguous(gradients)
        walk = plan.edge_walk(inputs)
        walk.make_first(leaves)
        walk.point(**known, **into, dinputs=dinputs)
        walk.point(**gradients_named(START, dstart), **gradients_named(RESULTS, given))
        walk.run("edges", inputs, backward=True)
        if inputs.dim() == 1:
            rows = torch.cat((into["dedge_sums"].sum(0), into["dsums"].sum(0)))
            blocks = torch.tensor(list(plan.input_of))
            dinputs.view(-1, rule.size).index_add_(0, blocks, rows.view(-1, rule.size))
        return None, None, dinputs, *_map_gradients(rule, known, into), *dgiven


def _map_gradients(rule: EdgeRule, buffers: dict[str, Tensor], into: dict[str, Tensor]) -> list:
    """Gradients of the weights and of the vector, one product each."""
    results = [into["dedge_sums"].t() @ buffers["gathered_h"]]
    for product in rule.products:
        columns = product.of(into["dsums"], rule.size)
        results.append(columns.t() @ buffers[f"pooled_{product.rows}"])
    if "dscores" in into:
        results.append(buffers["edge_gates"][:, : rule.size].t() @ into["dscores"])
    return results
