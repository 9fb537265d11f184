"""What all cells share: the ways round a graph, by DGL functions or level by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from graphsent._dgl import dgl
from graphsent.cells.errors import CellError
from graphsent.cells.explanation import Explanation, explanation_of
from graphsent.cells.overriding import overridden
from graphsent.cells.recursion import Recursion, State
from graphsent.cells.validation import (
    LEAF,
    SLOT,
    check_extra,
    check_feat,
    check_graph,
    check_initial_state,
    check_names,
    first_parameter,
)
from graphsent.propagation import prop_nodes_topo, resolve_engine
from graphsent.propagation.errors import described
from graphsent.propagation.feats import IndexedFeat
from graphsent.propagation.run import Run
from graphsent.propagation.schedule.schedule import schedule_of
from graphsent.propagation.topological.reference import prop_nodes_topo_of_dgl
from graphsent.propagation.untraced import untraced

__all__ = ["State", "TreeCell"]

_INITIAL = "initial_"
_FUNCTIONS = ("message_func", "reduce_func", "apply_node_func")


class TreeCell(Recursion):
    """Base of the cells: a :class:`Recursion`, as DGL functions and as a module to call.

    The functions are complete by themselves::

        graph.ndata.update(cell.node_inputs(graph, feat))
        dgl.prop_nodes_topo(
            graph, cell.message_func, cell.reduce_func, apply_node_func=cell.apply_node_func
        )
        h = graph.ndata["h"]

    As many rounds of ``graph.update_all`` with the three functions as the graph has levels give
    the same. A subclass that replaces one of them has it called by every engine.
    """

    def node_inputs(
        self,
        graph: dgl.DGLGraph,
        feat: Tensor | IndexedFeat,
        initial_state: Tensor | Sequence[Tensor] | None = None,
        **extra: Any,
    ) -> dict[str, Tensor]:
        """The node data that the three DGL functions read.

        Args:
            graph: graph of ``num_nodes`` nodes.
            feat: inputs of all nodes, (num_nodes, in_feats).
            initial_state: as in :meth:`forward`.
            **extra: what a cell takes beside these.

        Returns:
            Node data by name, each with ``num_nodes`` rows.

        Raises:
            CellError: if graph, features or initial state do not fit the cell.
            PropagationError: if the graph has a cycle.
        """
        self.check_call(graph, feat)
        return self.prepare(graph, feat, initial_state, **extra)

    def check_call(self, graph: dgl.DGLGraph, feat: Tensor | IndexedFeat) -> None:
        """Raises a CellError if graph or features do not fit the cell.

        And a PropagationError if the graph has a cycle.
        """
        check_names(self)
        check_graph(graph)
        check_feat(feat, schedule_of(graph), self.in_feats, first_parameter(self))
        self.check_structure(graph)

    def prepare(
        self,
        graph: dgl.DGLGraph,
        feat: Tensor | IndexedFeat,
        initial_state: Tensor | Sequence[Tensor] | None = None,
        **extra: Any,
    ) -> dict[str, Tensor]:
        """The node data of :meth:`node_inputs`, for graph and features that have been checked."""
        feat = feat if isinstance(feat, Tensor) else feat.dense()
        leaf = graph.in_degrees() == 0
        if not self.inner_input:  # NaN in rows that are ignored would be in gradients of weights
            feat = feat.masked_fill(~leaf.unsqueeze(1).to(feat.device), 0)
        x = self.checked_project(feat)
        zeros = x.new_zeros(graph.num_nodes(), self.hidden_feats)
        data = self.extra_inputs(graph, x.device, **extra)
        check_extra(self, data, len(x))
        inputs = {"x": x, **data}
        inputs[LEAF] = leaf
        inputs.update(dict.fromkeys(self.state_names, zeros))
        if initial_state is not None:
            state = self.check_initial_state(initial_state, zeros)
            initial_names = [_INITIAL + name for name in self.state_names]
            inputs.update(zip(initial_names, state, strict=True))
        return inputs

    def check_initial_state(self, state: Tensor | Sequence[Tensor], like: Tensor) -> State:
        """The parts of an initial state, shaped as states ``like``.

        Raises:
            CellError: if the cell takes none, or they do not fit.
        """
        if self.no_initial_state:
            name = type(self).__name__
            raise CellError(f"{name} takes no initial_state: {self.no_initial_state}")
        parts = (state,) if isinstance(state, Tensor) else state
        if not isinstance(parts, tuple | list):
            names = ", ".join(self.state_names)
            raise CellError(f"expected initial_state to be ({names}), got {described(state)}")
        parts = tuple(parts)
        check_initial_state(parts, self.state_names, like)
        return parts

    def message_func(self, edges: Any) -> dict[str, Tensor]:
        """DGL message function: sends the source's state, and its slot where there is one."""
        messages = {name: edges.src[name] for name in self.state_names}
        for name in self.edge_names:
            if name in edges.data:
                messages[SLOT] = edges.data[name]
        return messages

    def reduce_func(self, nodes: Any) -> dict[str, Tensor]:
        """DGL reduce function: ``combine`` on the received states."""
        messages = tuple(nodes.mailbox[name] for name in self.state_names)
        children = self.arrange(messages, nodes.mailbox.get(SLOT))
        return self._named(self.checked_combine(children, *self._inputs_of(nodes)))

    def apply_node_func(self, nodes: Any) -> dict[str, Tensor]:
        """DGL apply function: the states of the nodes that have received nothing."""
        reduced = tuple(nodes.data[name] for name in self.state_names)
        leaf = nodes.data[LEAF]
        if not leaf.any():
            return self._named(reduced)
        started = self._first_state(nodes)
        if leaf.all():
            return self._named(started)
        pairs = zip(started, reduced, strict=True)
        return self._named(tuple(torch.where(leaf.unsqueeze(1), a, b) for a, b in pairs))

    @untraced
    def forward(
        self,
        graph: dgl.DGLGraph,
        feat: Tensor | IndexedFeat,
        initial_state: Tensor | Sequence[Tensor] | None = None,
        *,
        return_cell: bool = False,
        engine: str = "auto",
    ) -> Tensor | State:
        """Runs the recursion over a graph, which is left as it was.

        Args:
            graph: one tree, or a batch, with edges from predecessor to successor.
            feat: inputs of all nodes, (num_nodes, in_feats). Rows of nodes that take no input in
                this cell are ignored.
            initial_state: state of the missing predecessor at nodes without incoming edges, where
                it stands for an only (first) child: ``h``, or ``(h, c)`` for cells with a memory,
                each (num_nodes, hidden_feats). Rows of other nodes are ignored. Without it such
                nodes have no predecessor.
            return_cell: return the memory cells too.
            engine: one of :data:`graphsent.propagation.ENGINES`, which says what they are.

        Returns:
            ``h`` of shape (num_nodes, hidden_feats) in the graph's node order; with
            ``return_cell`` a pair ``(h, c)``.

        Raises:
            CellError: if graph, features or initial state do not fit the cell.
            PropagationError: if the graph has a cycle, or there is no such engine.
        """
        self._check_return_cell(return_cell)
        self.check_call(graph, feat)
        state = self.run(graph, feat, initial_state, engine=engine, memory=return_cell)
        return state if return_cell else state[0]

    @untraced
    def run(
        self,
        graph: dgl.DGLGraph,
        feat: Tensor | IndexedFeat,
        initial_state: Tensor | Sequence[Tensor] | None = None,
        *,
        engine: str = "auto",
        memory: bool = True,
        **extra: Any,
    ) -> State:
        """The states of all nodes, for graph and features that have been checked.

        Args:
            graph: as in :meth:`forward`, as are the others not named here.
            feat: see there.
            initial_state: see there.
            engine: see there.
            memory: with False only h is needed.
            **extra: what a cell takes beside these.
        """
        if resolve_engine(engine) == "dgl":
            return self._run_dgl(graph, self.prepare(graph, feat, initial_state, **extra))
        if self._replaces_functions():
            return self._run_functions(graph, self.prepare(graph, feat, initial_state, **extra))
        data = self.extra_inputs(graph, feat.device, **extra)
        num_results = len(self.state_names) if memory else 1
        return self._run(graph, feat, data, initial_state).states(num_results)

    def _run(
        self,
        graph: dgl.DGLGraph,
        feat: Tensor | IndexedFeat,
        extra: Mapping[str, Tensor],
        initial_state: Tensor | Sequence[Tensor] | None = None,
    ) -> Run:
        """A run level by level; arguments have been checked, but for node data beside x."""
        schedule = schedule_of(graph)
        check_extra(self, extra, schedule.num_nodes)
        slots = self.slots(graph, schedule)
        return Run(self, schedule, slots, feat, extra, initial_state)

    def explain(self, graph: dgl.DGLGraph, **extra: Any) -> Explanation:
        """Which way the cell runs over a graph, and why not a faster one.

        Args:
            graph: as in :meth:`forward`; inputs are taken to be like the parameters.
            **extra: what a cell takes beside these.

        Raises:
            CellError: if the graph does not fit the cell.
            PropagationError: if it has a cycle.
        """
        check_names(self)
        check_graph(graph)
        self.check_structure(graph)
        if self._replaces_functions():
            return Explanation("functions", "it has DGL functions, or preparations, of its own")
        like, parameter = torch.empty(0), first_parameter(self)
        like = like if parameter is None else parameter
        run = self._run(graph, like, self.extra_inputs(graph, like.device, **extra))
        return explanation_of(run.found)

    def _run_dgl(self, graph: dgl.DGLGraph, inputs: Mapping[str, Tensor]) -> State:
        with graph.local_scope():
            # DGL gathers all node data at every level, needed or not.
            for data, kept in ((graph.ndata, ()), (graph.edata, self.edge_names)):
                for name in set(data.keys()) - set(kept):
                    del data[name]
            graph.ndata.update(inputs)
            prop_nodes_topo_of_dgl(
                graph, self.message_func, self.reduce_func, apply_node_func=self.apply_node_func
            )
            return tuple(graph.ndata[name] for name in self.state_names)

    def _replaces_functions(self) -> bool:
        """Whether there is more to a run by DGL than the engine by levels would do."""
        if overridden(self, "slots", "arrange") or any(map(self._replaces, _FUNCTIONS)):
            return True
        return self._replaces("prepare") and overridden(self, "extra_inputs", "prepare")

    def _replaces(self, name: str) -> bool:
        """Whether a subclass, or the cell itself, has another method than cells have."""
        return name in vars(self) or getattr(type(self), name) is not getattr(TreeCell, name)

    def _run_functions(self, graph: dgl.DGLGraph, inputs: Mapping[str, Tensor]) -> State:
        data = {name: graph.edata[name] for name in self.edge_names if name in graph.edata}
        functions = (self.message_func, self.reduce_func)
        results: Any = prop_nodes_topo(
            graph, *functions, apply_node_func=self.apply_node_func, ndata=inputs, edata=data
        )
        return tuple(results[name] for name in self.state_names)

    def _check_return_cell(self, return_cell: bool) -> None:
        if return_cell and "c" not in self.state_names:
            raise CellError(f"{type(self).__name__} has no memory cell to return")

    def _inputs_of(self, nodes: Any) -> tuple[Tensor, ...]:
        return tuple(nodes.data[name] for name in self.input_names)

    def _first_state(self, nodes: Any) -> State:
        inputs = self._inputs_of(nodes)
        if _INITIAL + self.state_names[0] not in nodes.data:
            return self.checked_start(*inputs)
        before = tuple(nodes.data[_INITIAL + name].unsqueeze(1) for name in self.state_names)
        return self.checked_combine(self.arrange(before), *inputs)

    def _named(self, state: State) -> dict[str, Tensor]:
        return dict(zip(self.state_names, state, strict=True))
