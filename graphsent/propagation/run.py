"""The states of all nodes of a graph: the entry point of cells.

Inputs are projected only where they are needed, and once per row if nodes share them. Then the
recursion runs in the fastest way that supports it: in generated code, in torch by the traced
expressions, or by its ``combine``, once per level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphsent.propagation.autocast import autocast_enabled, without_autocast
from graphsent.propagation.backends.c.walk import run_compiled
from graphsent.propagation.backends.cuda.library import CudaLibrary
from graphsent.propagation.backends.cuda.walk import run_on_gpu
from graphsent.propagation.backends.levels import run_levels, run_traced
from graphsent.propagation.backends.plan import Deferred, Found, Plan, planned
from graphsent.propagation.feats import IndexedFeat, first_of_run, take, with_zeros
from graphsent.propagation.found import find_recurrence
from graphsent.propagation.linear import linear
from graphsent.propagation.schedule.schedule import Schedule, to_device
from graphsent.propagation.schedule.slots import Slots

_ALONE = "no node has a predecessor: start is called once"
Feat = Tensor | IndexedFeat
State = tuple[Tensor, ...]


class _Projected(NamedTuple):
    """Projected inputs.

    Attributes:
        leaves: Inputs of ``start``, one row per leaf by ordinal, or a deferred product that yields
            them.
        shared: (num_leaves,) the row of each node in ``leaves``, if nodes share rows.
        inner: Inputs of ``combine``, one row per other node, or one row (size,) for all of them.
        inner_rows: (num_inner,) the row of each node in ``inner``, if nodes share rows.
        alike: Whether ``inner`` is one row for all nodes.
    """

    leaves: Tensor | Deferred
    shared: np.ndarray | None
    inner: Tensor
    inner_rows: np.ndarray | None
    alike: bool

    def every_inner(self, num_inner: int) -> Tensor:
        """``inner`` with a row for each node."""
        if self.alike:
            return self.inner.expand(num_inner, *self.inner.shape)
        return self.inner if self.inner_rows is None else take(self.inner, self.inner_rows)


class Run:
    """One run of a cell over a graph; see :meth:`states`.

    Args:
        cell: The cell, a :class:`graphsent.cells.TreeCell`.
        schedule: Of the graph, on the CPU.
        slots: The predecessor in each slot, on the CPU, of cells with ordered predecessors.
        feat: Inputs of all nodes, (num_nodes, in_feats), on the device to compute on.
        extra: Node data of ``input_names`` after x, in this order, (num_nodes, ...) each.
        initial: Parts of the initial states before leaves, (num_nodes, hidden_feats) each.
    """

    def __init__(
        self,
        cell: Any,
        schedule: Schedule,
        slots: Slots | None,
        feat: Feat,
        extra: Mapping[str, Tensor],
        initial: Tensor | Sequence[Tensor] | None = None,
    ) -> None:
        self.cell, self.initial = cell, initial
        self.rows = feat if isinstance(feat, Tensor) else feat.rows
        self.index = None if isinstance(feat, Tensor) else feat.index
        self.on_host, self.schedule = schedule, schedule.to(feat.device)
        self.slots = None if slots is None else slots.to(self.schedule.device)
        alone = schedule.num_levels < 2
        found: Found | str = _ALONE
        # Under autocast, states without edges have the dtype of those with edges.
        if not alone or autocast_enabled(self.rows.device.type):
            num_slots = None if slots is None else slots.count
            found = find_recurrence(cell, self.rows, extra, num_slots, initial)
        self.found = _ALONE if alone else found
        self.traced: Found | None = None if isinstance(found, str) else found
        compiled = self.traced is not None and not isinstance(self.traced.library, str)
        self.compiled: Found | None = self.traced if compiled else None
        self.linear = None if self.compiled is None else self.compiled.linear()
        self.on_gpu = self.traced is not None and isinstance(self.traced.library, CudaLibrary)
        if self.compiled is not None and autocast_enabled(self.rows.device.type):
            dtype = self.compiled.dtype
            self.rows = self.rows.to(dtype)
            extra = {name: values.to(dtype) for name, values in extra.items()}
            self.initial = _in_type(initial, dtype)
        rows = [self._split(self.schedule.by_ordinal(values)) for values in extra.values()]
        self.leaf_extra = [leaves for leaves, _ in rows]
        self.inner_extra = [inner for _, inner in rows]

    def states(self, num_results: int) -> State:
        """The first parts of the states of all nodes, (num_nodes, hidden_feats) each."""
        if self.compiled is None:
            return self._states(num_results)
        # Level by level in torch, products in bfloat16 double the time of a training run, and take
        # memory for code of every size of a level.
        with without_autocast(self.rows.device.type):
            return self._states(num_results)

    def _states(self, num_results: int) -> State:
        x, alone = self._project(), self.schedule.num_levels < 2
        shared, traced = self._on_device(x.shared), self.traced
        sizes = [*x.inner.shape[0 if x.alike else 1 :]]  # others, perhaps, than when it was traced
        as_traced = traced is not None and sizes == traced.recurrence.combine.widths[:1]
        fits = as_traced and x.inner.dtype == self.rows.dtype
        if not alone and self.compiled is not None and fits:
            starts = (x.leaves, *self.leaf_extra) if self.initial is None else self._start(x)
            plan, tensors = self._planned(self.compiled, x, starts, shared, num_results)
            return (run_on_gpu if self.on_gpu else run_compiled)(plan, tensors)
        states = self._start(x)
        if shared is not None:
            states = tuple(part.index_select(0, shared) for part in states)
        if not alone:
            same = len({part.dtype for part in (x.inner, *self.inner_extra, *states)}) == 1
            if traced is not None and as_traced and same:
                traced = traced._replace(recurrence=traced.recurrence.from_states)
                with without_autocast(self.schedule.device.type):
                    plan, tensors = self._planned(traced, x, states, None, num_results)
                    return run_traced(plan, *tensors)
            inputs = (x.every_inner(self.schedule.num_inner), *self.inner_extra)
            combine = self.cell.checked_combine
            states = run_levels(combine, self.schedule, states, inputs, self.slots)
        return tuple(map(self.schedule.by_node, states[:num_results]))

    # Inputs

    def _project(self) -> _Projected:
        rows, num_leaves = self.rows, self.schedule.num_leaves
        # As indexed rows, they would take 8 to 14 % longer in a forward pass over one tree.
        if self.index is None:
            if not self.cell.inner_input:
                rows = rows.index_select(0, self.schedule.nodes[:num_leaves])
                return _Projected(self._of_leaves(rows), None, self._of_no_input(), None, True)
            of_leaves, of_inner = self._split(self.schedule.by_ordinal(rows))
            x, x_inner = self._of_leaves(of_leaves), self._projected(of_inner)
            return _Projected(x, None, x_inner, None, False)
        index = self.index.numpy()[self.on_host.nodes.numpy()]
        leaves, inner = index[:num_leaves], index[num_leaves:]
        shared: np.ndarray | None
        inner_rows: np.ndarray | None = None
        alike = not self.cell.inner_input or inner.max(initial=-1) < 0
        if alike:
            x, shared = _project_rows(self._of_leaves, rows, leaves)
            x_inner = self._of_no_input()
        elif leaves.max() < (first := int(inner.min())):  # no row is of both kinds
            rows, others = rows.split((first, len(rows) - first))
            x, shared = _project_rows(self._of_leaves, rows, leaves)
            x_inner, inner_rows = _project_rows(self._projected, others, inner - first)
        else:
            x_inner, shared = _project_rows(self._projected, rows, index)
            if shared is None:
                x, x_inner = self._split(x_inner)
            else:
                x, shared, inner_rows = x_inner, shared[:num_leaves], shared[num_leaves:]
        # Leaves with equal inputs have equal states, unless they have others, too. On a GPU, one
        # block of threads would add up the gradients of a frequent word.
        if shared is not None and (
            self.traced is None or self.leaf_extra or self.initial is not None or self.on_gpu
        ):
            x, shared = take(_made(x), shared), None
        return _Projected(x, shared, x_inner, inner_rows, alike)

    def _projected(self, rows: Tensor) -> Tensor:
        """``project``, by the compiled linear map if it is nothing else."""
        known = self.linear
        return self.cell.checked_project(rows) if known is None else linear(rows, *known)

    def _of_leaves(self, rows: Tensor) -> Tensor | Deferred:
        """The inputs of ``start``; with an initial state, those of ``combine``."""
        if self.compiled is None or self.linear is None or self.on_gpu:
            return self._projected(rows)
        start = self.compiled.recurrence.start
        if start.hoisted or 0 not in start.gradients.inputs:
            return self._projected(rows)
        return Deferred(rows, *self.linear)

    def _of_no_input(self) -> Tensor:
        """The projection of zeros, (size,)."""
        if self.linear is not None:
            return self.linear[1]
        return self._projected(self.rows.new_zeros(1, self.rows.shape[1])).squeeze(0)

    # States

    def _start(self, x: _Projected) -> State:
        """States for ``x.leaves``: of the leaves, or of the rows they share."""
        inputs = [_made(x.leaves), *self.leaf_extra]
        if self.traced is None:  # the cell may change them in place
            inputs = [part.clone() for part in inputs]
        if self.initial is None:
            return self.cell.checked_start(*inputs)
        shape = self.schedule.num_nodes, self.cell.hidden_feats
        like = inputs[0].new_empty(1).expand(shape)
        initial = self.cell.check_initial_state(self.initial, like)
        leaves = self.schedule.nodes[: self.schedule.num_leaves]
        before = tuple(part.index_select(0, leaves).unsqueeze(1) for part in initial)
        return self.cell.checked_combine(self.cell.arrange(before), *inputs)

    def _planned(
        self,
        traced: Found,
        x: _Projected,
        starts: Sequence[Tensor | Deferred],
        leaf_rows: Tensor | None,
        num_results: int,
    ) -> tuple[Plan, list[Tensor]]:
        """The plan of a run of a traced recurrence, and its tensors."""
        inner, rows = x.inner, self._on_device(x.inner_rows)
        if self.inner_extra:
            inner, rows = x.every_inner(self.schedule.num_inner), None
        inputs = (inner, *self.inner_extra)
        return planned(
            traced, self.schedule, self.slots, starts, leaf_rows, inputs, rows, num_results
        )

    def _on_device(self, index: np.ndarray | None) -> Tensor | None:
        return None if index is None else to_device(torch.from_numpy(index), self.rows.device)

    def _split(self, rows: Tensor) -> Sequence[Tensor]:
        """Splits rows by ordinal into those of leaves and those of inner nodes."""
        return rows.split((self.schedule.num_leaves, self.schedule.num_inner))


def _project_rows(
    project: Callable[[Tensor], Any], rows: Tensor, index: np.ndarray
) -> tuple[Any, np.ndarray | None]:
    """Projects all rows, or the inputs of the nodes if they are fewer.

    Returns:
        The projected rows, and the row of each node in them; None if each has its own.
    """
    rows, index = with_zeros(rows, index)
    if len(rows) > len(index) or first_of_run(index) is not None:
        return project(take(rows, index)), None
    return project(rows), index


def _made(outputs: Tensor | Deferred) -> Tensor:
    """Computes deferred outputs."""
    return outputs if isinstance(outputs, Tensor) else linear(*outputs)


def _in_type(values: Any, dtype: torch.dtype) -> Any:
    """Casts states to a dtype; invalid values are left to the checks of the cell."""
    if isinstance(values, Tensor) and values.is_floating_point():
        return values.to(dtype)
    if isinstance(values, (list, tuple)):
        return [_in_type(part, dtype) for part in values]
    return values
