"""The walk of ``run_edges`` in compiled code: one call for all levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.propagation.compiled_walk import (
    RESULTS,
    START,
    STATES,
    Plan,
    Walk,
    contiguous,
    has_walk,
    named,
    needs_gradients,
)
from graphsent.propagation.gradients import first_order
from graphsent.propagation.memory import empty
from graphsent.propagation.schedule import Schedule

if TYPE_CHECKING:
    from graphsent.propagation.fused_edges import EdgeRule


def run_compiled_edges(
    rule: EdgeRule,
    schedule: Schedule,
    start: Sequence[Tensor],
    inputs: Tensor,
    edge_weight: Tensor,
    weights: Sequence[Tensor],
    vectors: Sequence[Tensor],
    leaves: Tensor | None,
) -> tuple[Tensor, ...] | None:
    """What ``run_edges`` gives; None where there is no compiled code for it."""
    tensors = (inputs, edge_weight, *weights, *vectors, *start)
    if not has_walk(rule, *tensors):
        return None
    plan = _EdgePlan(rule, schedule, leaves)
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

    def __init__(self, rule: EdgeRule, schedule: Schedule, leaves: Tensor | None) -> None:
        at_nodes = {
            product.first + block.weight: block.inputs
            for product in rule.products
            for block in product.gates
        }
        gates = [at_nodes[number] for number in range(len(at_nodes))]
        gates = [*(block.inputs for block in rule.edge_order), *gates]
        super().__init__(rule, schedule, schedule.source, leaves, gates)
        inner = torch.arange(schedule.num_sources, schedule.num_nodes + 1)
        self.first_edge = torch.searchsorted(schedule.target, inner)
        self.attentive = len(rule.edge_order) > 1

    def edge_walk(self, inputs: Tensor, tensors: Sequence[Tensor], start: Sequence[Tensor]) -> Walk:
        """The arguments that both passes have; ``tensors`` are the weights and vectors."""
        numbers = {"attentive": self.attentive, "num_gates": len(self.rule.order)}
        if self.rule.num_parts > 1:
            numbers["has_output"] = self.rule.gates.gate_output
        walk = self.walk(inputs, **numbers)
        last = 1 + len(self.rule.products)
        names = ("weight", "more_weight_0", "more_weight_1")
        walk.point(first_edge=self.first_edge, inputs=inputs)
        walk.point(**named(names, tensors[:last]), **named(START, start))
        walk.point(vector=tensors[last] if self.attentive else None)
        return walk

    def buffers(self, like: Tensor) -> dict[str, Tensor]:
        """What the walk fills, by the names of its arguments; states first."""
        rule, num_edges, num_nodes = self.rule, self.schedule.num_edges, self.schedule.num_nodes
        rows = {
            "h": (num_nodes, 1),
            "c": (num_nodes, 1),
            "gates": (self.num_inner, len(rule.order)),
            "edge_gates": (num_edges, len(rule.edge_order)),
            "gathered_h": (num_edges, 1),
            "pooled_0": (self.num_inner, 1),
            "pooled_1": (self.num_inner, 1),
        }
        if rule.num_parts == 1:
            del rows["c"]
        else:
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
        middle = len(others) - plan.rule.num_parts
        walk = plan.edge_walk(inputs, others[:middle], others[middle:])
        buffers = plan.buffers(inputs)
        walk.point(**buffers)
        walk.run("edges", inputs, backward=False)
        ctx.plan, ctx.names = plan, tuple(buffers)
        ctx.set_materialize_grads(False)
        if keep:
            ctx.save_for_backward(inputs, *others, *buffers.values())
        return tuple(buffers[name] for name in STATES[: plan.rule.num_parts])

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        plan, rule = ctx.plan, ctx.plan.rule
        inputs, *saved = ctx.saved_tensors
        first = len(saved) - len(ctx.names)
        buffers = dict(zip(ctx.names, saved[first:], strict=True))
        middle = first - rule.num_parts
        maps, start = saved[:middle], saved[middle:first]
        dinputs = plan.inputs_gradient(inputs)
        into = {
            "dsums": buffers["gates"],
            "dedge_sums": buffers["edge_gates"],
            "dscores": buffers.get("attention"),
        }
        for name in STATES[: rule.num_parts]:
            into[f"d{name}"], into[f"message_{name}"] = buffers[name], buffers["gathered_h"]
        into = {k: empty(*v.shape, like=v) for k, v in into.items() if v is not None}
        dstart = [torch.zeros_like(part) for part in start]
        walk = plan.edge_walk(inputs, maps, start)
        given = contiguous(gradients)
        walk.point(**buffers, **into, dinputs=dinputs)
        walk.point(**named(("dstart_h", "dstart_c"), dstart), **named(RESULTS, given))
        walk.run("edges", inputs, backward=True)
        if inputs.dim() == 1:
            rows = torch.cat((into["dedge_sums"].sum(0), into["dsums"].sum(0)))
            blocks = torch.tensor(list(plan.input_of))
            dinputs.view(-1, rule.size).index_add_(0, blocks, rows.view(-1, rule.size))
        return None, None, dinputs, *_map_gradients(rule, buffers, into), *dstart


def _map_gradients(rule: EdgeRule, buffers: dict[str, Tensor], into: dict[str, Tensor]) -> list:
    """Gradients of the weights and of the vector, one product each."""
    results = [into["dedge_sums"].t() @ buffers["gathered_h"]]
    for product in rule.products:
        columns = product.of(into["dsums"], rule.size)
        results.append(columns.t() @ buffers[f"pooled_{product.rows}"])
    if "dscores" in into:
        results.append(buffers["edge_gates"][:, : rule.size].t() @ into["dscores"])
    return results
