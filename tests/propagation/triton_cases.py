"""Walks that may run in Triton, and a device that has tensors without values."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest import mock

import torch
from compiled_cases import Compared, Draw

from graphsent._dgl import dgl
from graphsent.propagation import triton_edges, triton_launch, triton_slots
from graphsent.propagation.fused_edges import run_edges
from graphsent.propagation.fused_lstm import ChildSumLSTM, NaryLSTM
from graphsent.propagation.fused_slots import run_slots
from graphsent.propagation.schedule import schedule_of
from graphsent.propagation.slots import Slots, make_slots

# By size and number of slots.
RULES = {
    "N-ary": NaryLSTM,
    "N-ary, inputs of each f": partial(NaryLSTM, shared_forget=False),
    "N-ary ungated": partial(NaryLSTM, gate_output=False),
    "child-sum": lambda size, count: ChildSumLSTM(size),
    "child-sum ungated": lambda size, count: ChildSumLSTM(size, gate_output=False),
}


class Problem(Compared):
    """A rule, a schedule and tensors that need gradients."""

    def __init__(
        self,
        rule: str,
        graph: dgl.DGLGraph,
        size: int = 6,
        count: int = 2,
        *,
        one_row: bool = False,
        shared_leaves: bool = False,
        bias: bool = True,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        draw = Draw(dtype)
        self.rule = RULES[rule](size, count)
        self.schedule = schedule_of(graph)
        self.slots = None
        first = self.schedule.num_sources
        num_inner, num_rows, self.leaves = self.schedule.num_nodes - first, first, None
        if shared_leaves:
            num_rows = max(first // 2, 1)
            self.leaves = torch.randint(num_rows, (first,), generator=draw.generator)
        orders = [*self.rule.order, *getattr(self.rule, "edge_order", ())]
        width = (1 + max(block.inputs for block in orders)) * size
        self.start = [draw(num_rows, size) for _ in range(2)]
        self.inputs = draw(width) if one_row else draw(num_inner, width)
        self.weights = [draw(len(self.rule.order) * size, size)]
        if isinstance(self.rule, NaryLSTM):
            self.slots = make_slots(self.schedule, count, graph.edata["child_index"])
            self.weights = [draw(len(self.rule.order) * size, count * size)]
            self.weights += [draw(len(self.rule.order) * size)] * bias
        else:
            self.weights.insert(0, draw(size, size))
        with torch.no_grad():
            for weight in self.weights:
                weight /= size**0.5

    @property
    def tensors(self):
        return [*self.start, self.inputs, *self.weights]

    def run(self):
        if self.slots is None:
            edge_weight, *weights = self.weights
            maps = (self.inputs, edge_weight, weights, ())
            return run_edges(self.rule, self.schedule, self.start, *maps, self.leaves)
        weight, *bias = self.weights
        given = (self.start, self.inputs, [weight], *(bias or [None]), self.leaves)
        return run_slots(self.rule, self.schedule, self.slots, *given)


def moved(problem: Problem, device: str) -> Problem:
    """The same on another device; on "meta", tensors have shapes and no values."""
    problem.schedule = problem.schedule.to(device)
    if problem.slots is not None:
        tensors = (part.to(device) for part in problem.slots[1:])
        problem.slots = Slots(problem.slots.count, *tensors)
    for tensors in (problem.start, problem.weights):
        tensors[:] = [part.detach().to(device).requires_grad_() for part in tensors]
    problem.inputs = problem.inputs.detach().to(device).requires_grad_()
    if problem.leaves is not None:
        problem.leaves = problem.leaves.to(device)
    return problem


class Launches:
    """Takes the place of what launches kernels, for tensors without values, while it lasts.

    Args:
        kernels: the module with the kernels; by default nobody looks at it.

    Attributes:
        all: kernel, number of rows, other arguments and constants of each launch.
    """

    def __init__(self, kernels: Any = None) -> None:
        self.all: list[tuple[Any, int, tuple[Any, ...], dict[str, int]]] = []
        instead = {
            "launch": self._launch,
            "is_right": lambda *_: True,
            "kernels": lambda: kernels or mock.MagicMock(),
        }
        self._patches = [
            mock.patch.multiple(triton_launch, DEVICE="meta", _found=lambda: True),
            mock.patch.multiple(triton_slots, **instead),
            mock.patch.multiple(triton_edges, **instead),
        ]

    def _launch(self, kernel: Any, num_rows: int, *arguments: Any, **constants: int) -> None:
        assert num_rows > 0
        self.all.append((kernel, num_rows, arguments, constants))

    def __enter__(self) -> Launches:
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        for patch in self._patches:
            patch.stop()
