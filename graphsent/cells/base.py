"""The base class of cells: their equations, DGL functions, and runs over a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from graphsent._dgl import dgl
from graphsent._numbers import check_sizes
from graphsent.cells.errors import CellError
from graphsent.cells.module import CellModule
from graphsent.cells.validation import (
    LEAF,
    SLOT,
    TENSOR_ERRORS,
    check_feat,
    check_graph,
    check_names,
    check_signature,
    check_state,
    extra_of,
    failure,
    state_tuple,
)
from graphsent.propagation import prop_nodes_topo, resolve_engine
from graphsent.propagation.errors import described
from graphsent.propagation.feats import IndexedFeat
from graphsent.propagation.run import Run
from graphsent.propagation.schedule.schedule import Schedule, schedule_of
from graphsent.propagation.schedule.slots import Slots
from graphsent.propagation.topological.prop_nodes_topo import prop_nodes_topo_of_dgl
from graphsent.propagation.untraced import untraced

State = tuple[Tensor, ...]
"""The parts of a state, the output ``h`` first, each of shape (..., hidden_feats)."""

_INITIAL = "initial_"
_FUNCTIONS = {
    "message_func": "",
    "reduce_func": "",
    "apply_node_func": "",
    "arrange": "slots",
    "prepare": "extra_inputs",
}
"""Methods that only the DGL functions need, and their counterparts in runs level by level."""


class Explanation(NamedTuple):
    """How a cell runs over a graph.

    Attributes:
        way: ``"compiled"``: generated C, one call for all levels; ``"traced"``: the traced
            operations in torch, level by level; ``"levels"``: ``combine``, level by level;
            ``"functions"``: the cell's own DGL functions, level by level.
        reason: What it runs, or why no faster way is available.
    """

    way: str
    reason: str

    def __str__(self) -> str:
        return f"{self.way}: {self.reason}"


class TreeCell(CellModule):
    r"""Base class of cells: a recursion over the predecessors of each node of an acyclic graph.

    .. math::
        s_t = \mathrm{combine}(\{s_k : k \to t\}, \mathrm{project}(x)_t), \qquad
        s_t = \mathrm{start}(\mathrm{project}(x)_t) \text{ if there is no } k \to t

    A subclass defines :meth:`project`, :meth:`start` and :meth:`combine` on tensors, row by row.
    ``project`` is called for many nodes at once, so that it costs one matrix product; ``combine``
    is called for the nodes of one level.

    The DGL functions can be used without calling the cell::

        graph.ndata.update(cell.node_inputs(graph, feat))
        dgl.prop_nodes_topo(
            graph, cell.message_func, cell.reduce_func, apply_node_func=cell.apply_node_func
        )
        h = graph.ndata["h"]

    So can ``graph.update_all`` with the three functions, repeated once per level of the graph. If
    a subclass overrides one of them, every engine calls it.

    Attributes:
        state_names: Node data that hold the parts of the state, ``h`` first.
        input_names: Node data passed to :meth:`start` and :meth:`combine`, in this order.
        edge_names: Edge data that the message function reads; a run leaves out all others but the
            slots.
        slot_name: Edge data that hold the slot of a predecessor; empty in cells without slots.
        inner_input: Whether nodes with predecessors have inputs.
        no_initial_state: Why the cell takes no initial states; empty if it does.
    """

    state_names: tuple[str, ...] = ("h", "c")
    input_names: tuple[str, ...] = ("x",)
    edge_names: tuple[str, ...] = ()
    slot_name: str = ""
    inner_input: bool = True
    no_initial_state: str = ""

    def __init__(self, in_feats: int, hidden_feats: int) -> None:
        super().__init__()
        check_sizes(CellError, in_feats=in_feats, hidden_feats=hidden_feats)
        self.in_feats = in_feats
        self.hidden_feats = hidden_feats

    @property
    def out_feats(self) -> int:
        """Number of features that the cell returns per node."""
        return self.hidden_feats

    # The equations: what a subclass defines

    def project(self, feat: Tensor) -> Tensor:
        """The inputs' contribution to the gates: (num_nodes, in_feats) -> (num_nodes, ...)."""
        returned = "returns one row per row of feat, (num_nodes, in_feats)"
        raise self._undefined("project", returned, "feat")

    # With *Any and **Any, an override may name the node data of its input_names as it likes.

    def start(self, *inputs: Any, **_: Any) -> State:
        """States of nodes without predecessors, a tuple of (num_nodes, hidden_feats) each.

        ``inputs`` are the rows of the node data ``input_names``, each (num_nodes, ...).
        """
        returned = f"returns {self._a_state()} of nodes without predecessors"
        raise self._undefined("start", returned, *self.input_names)

    def combine(self, children: State, *inputs: Any, **_: Any) -> State:
        """States of nodes with predecessors, a tuple of (num_nodes, hidden_feats) each.

        ``children`` are the parts of the predecessors' states, each (num_nodes, num_children,
        hidden_feats), and ``inputs`` the rows of the node data ``input_names``.
        """
        returned = f"returns {self._a_state()} of nodes with predecessors"
        raise self._undefined("combine", returned, "children", *self.input_names)

    def extra_inputs(self, graph: dgl.DGLGraph, device: torch.device) -> dict[str, Tensor]:
        """The node data of ``input_names`` after x, (num_nodes, ...) each.

        They are moved to ``device``, that of x, if they are elsewhere, and floating-point data are
        cast to the dtype of the features.
        """
        return {}

    def arrange(self, messages: State, slots: Tensor | None = None) -> State:
        """The predecessors' states as ``combine`` takes them.

        Args:
            messages: Parts of the states, (nodes, edges, hidden_feats), in mailbox order.
            slots: Slots of the messages, (nodes, edges), in cells with slots.
        """
        return messages

    def slots(self, graph: dgl.DGLGraph, schedule: Schedule) -> Slots | None:
        """The predecessor in each slot, on the CPU; None in cells without slots."""
        return None

    def check_structure(self, graph: dgl.DGLGraph) -> None:
        """Raises a CellError if the cell cannot run over a graph of this structure."""

    def _undefined(self, method: str, purpose: str, *arguments: str) -> CellError:
        signature = f"{method}({', '.join(('self', *arguments))})"
        return CellError(
            f"the cell {type(self).__name__} has no method {signature}, which {purpose}: "
            "see docs/own_cell.md"
        )

    def _a_state(self) -> str:
        return f"the state {state_tuple(self)}, a tuple of tensors (num_nodes, hidden_feats),"

    # The equations, with checks of what they return

    def checked_project(self, feat: Tensor) -> Tensor:
        """Calls :meth:`project`; raises a CellError unless it returns one row per row of feat."""
        x = self._called("project", ("feat",), feat)
        if isinstance(x, Tensor) and x.shape[:1] == feat.shape[:1] and x.device == feat.device:
            return x
        raise CellError(
            f"expected {type(self).__name__}.project to return a tensor with a row for each of the "
            f"{len(feat)} rows of feat, on {feat.device}, got {described(x)}"
        )

    def checked_start(self, *inputs: Tensor) -> State:
        """Calls :meth:`start`; raises a CellError unless it returns a state."""
        state = self._called("start", self.input_names, *inputs)
        return check_state(self, "start", state, inputs[0])

    def checked_combine(self, children: State, *inputs: Tensor) -> State:
        """Calls :meth:`combine`; raises a CellError if it fails or does not return a state."""
        state = self._called("combine", ("children", *self.input_names), children, *inputs)
        return check_state(self, "combine", state, children[0])

    def _called(self, method: str, names: Sequence[str], *arguments: Any) -> Any:
        try:
            return getattr(self, method)(*arguments)
        except TypeError:
            check_signature(self, method, *names)
            raise
        except TENSOR_ERRORS as error:
            if type(error) not in TENSOR_ERRORS:
                raise
            raise CellError(failure(self, method, names, arguments, error)) from error

    def check_initial_state(self, state: Tensor | Sequence[Tensor], like: Tensor) -> State:
        """The parts of an initial state, each of the shape, dtype and device of ``like``.

        Raises:
            CellError: If the cell takes none, or they do not fit.
        """
        names = self.state_names
        if self.no_initial_state:
            name = type(self).__name__
            raise CellError(f"{name} takes no initial_state: {self.no_initial_state}")
        parts = (state,) if isinstance(state, Tensor) else state
        if not isinstance(parts, tuple | list) or len(parts) != len(names):
            expected = f"expected initial_state to be ({', '.join(names)})"
            raise CellError(f"{expected}, got {described(state)}")
        for name, part in zip(names, parts, strict=True):
            expected = f"expected {name} of initial_state"
            if not isinstance(part, Tensor):
                raise CellError(f"{expected} to be a tensor, got {described(part)}")
            if part.shape != like.shape or part.dtype != like.dtype:
                shape = f"of shape (num_nodes, hidden_feats) = {tuple(like.shape)}"
                got = f"got {tuple(part.shape)} and {part.dtype}"
                raise CellError(f"{expected} {shape} and {like.dtype}, {got}")
            if part.device != like.device:
                raise CellError(f"{expected} on {like.device}, got {part.device}")
        return tuple(parts)

    # DGL functions

    @untraced
    def node_inputs(
        self,
        graph: dgl.DGLGraph,
        feat: Tensor | IndexedFeat,
        initial_state: Tensor | Sequence[Tensor] | None = None,
        **extra: Any,
    ) -> dict[str, Tensor]:
        """The node data that the three DGL functions read.

        Args:
            graph: Graph of ``num_nodes`` nodes.
            feat: Inputs of all nodes, (num_nodes, in_feats).
            initial_state: As in :meth:`forward`.
            **extra: Further arguments of the cell, such as ``query``.

        Returns:
            Node data by name, each with ``num_nodes`` rows.

        Raises:
            CellError: If graph, features or initial state do not fit the cell.
            PropagationError: If the graph has a cycle.
        """
        self.check_call(graph, feat)
        return self.prepare(graph, feat, initial_state, **extra)

    @untraced
    def check_call(
        self, graph: dgl.DGLGraph, feat: Tensor | IndexedFeat, return_cell: bool = False
    ) -> None:
        """Raises a CellError if arguments of a call do not fit the cell.

        Raises a PropagationError if the graph has a cycle.
        """
        if return_cell and len(self.state_names) == 1:
            raise CellError(f"{type(self).__name__} has no memory cell to return")
        check_names(self)
        check_graph(graph)
        check_feat(feat, schedule_of(graph), self.in_feats, next(self.parameters(), None))
        self.check_structure(graph)

    def prepare(
        self,
        graph: dgl.DGLGraph,
        feat: Tensor | IndexedFeat,
        initial_state: Tensor | Sequence[Tensor] | None = None,
        **extra: Any,
    ) -> dict[str, Tensor]:
        """The node data of :meth:`node_inputs`, for a graph and features already checked."""
        feat = feat if isinstance(feat, Tensor) else feat.dense()
        leaf = graph.in_degrees() == 0
        if not self.inner_input:  # NaN in ignored rows would spread to the gradients of weights
            feat = feat.masked_fill(~leaf.unsqueeze(1).to(feat.device), 0)
        x = self.checked_project(feat)
        zeros = x.new_zeros(graph.num_nodes(), self.hidden_feats)
        data = extra_of(self, graph, feat, extra)
        inputs = {"x": x, **data, LEAF: leaf, **dict.fromkeys(self.state_names, zeros)}
        if initial_state is not None:
            parts = self.check_initial_state(initial_state, zeros)
            inputs |= zip([_INITIAL + name for name in self.state_names], parts, strict=True)
        return inputs

    def message_func(self, edges: Any) -> dict[str, Tensor]:
        """DGL message function: sends the source's state and, in cells with slots, its slot."""
        messages = {name: edges.src[name] for name in self.state_names}
        if self.slot_name in edges.data:
            messages[SLOT] = edges.data[self.slot_name]
        return messages

    def reduce_func(self, nodes: Any) -> dict[str, Tensor]:
        """DGL reduce function: ``combine`` on the received states."""
        if not set(self.state_names) <= set(nodes.mailbox):
            raise CellError(
                f"expected {type(self).__name__}.message_func to return messages "
                f"{[*self.state_names]}, got {[*nodes.mailbox]}"
            )
        messages = tuple(nodes.mailbox[name] for name in self.state_names)
        children = self.arrange(messages, nodes.mailbox.get(SLOT))
        inputs = self._inputs_of(nodes)
        return self._named(_in_type_of(inputs[0], self.checked_combine(children, *inputs)))

    def apply_node_func(self, nodes: Any) -> dict[str, Tensor]:
        """DGL apply function: computes the states of nodes that received no message."""
        reduced = tuple(nodes.data[name] for name in self.state_names)
        leaf = nodes.data[LEAF]
        if not leaf.any():
            return self._named(reduced)
        inputs = self._inputs_of(nodes)
        if _INITIAL + self.state_names[0] in nodes.data:
            before = tuple(nodes.data[_INITIAL + name].unsqueeze(1) for name in self.state_names)
            started = self.checked_combine(self.arrange(before), *inputs)
        else:
            started = self.checked_start(*inputs)
        pairs = zip(_in_type_of(inputs[0], started), reduced, strict=True)
        return self._named(tuple(torch.where(leaf.unsqueeze(1), a, b) for a, b in pairs))

    def _inputs_of(self, nodes: Any) -> tuple[Tensor, ...]:
        return tuple(nodes.data[name] for name in self.input_names)

    def _named(self, state: State) -> dict[str, Tensor]:
        return dict(zip(self.state_names, state, strict=True))

    # Runs

    def forward(
        self,
        graph: dgl.DGLGraph,
        feat: Tensor | IndexedFeat,
        initial_state: Tensor | Sequence[Tensor] | None = None,
        *,
        return_cell: bool = False,
        engine: str = "auto",
    ) -> Tensor | State:
        """Runs the recursion over a graph, without modifying the graph.

        Args:
            graph: One tree or a batch, with edges from predecessor to successor.
            feat: Inputs of all nodes, (num_nodes, in_feats). Rows of nodes that have no input in
                this cell are ignored.
            initial_state: State of an additional predecessor of each node without incoming edges,
                its only child, in slot 0: ``h``, or ``(h, c)`` in cells with a memory, each
                (num_nodes, hidden_feats). Rows of other nodes are ignored. By default such nodes
                have no predecessor.
            return_cell: Whether to return all parts of the state, not only ``h``.
            engine: One of :data:`graphsent.propagation.ENGINES`.

        Returns:
            ``h`` of shape (num_nodes, hidden_feats) in the node order of the graph; with
            ``return_cell`` a tuple of all parts of the state, by default ``(h, c)``.

        Raises:
            CellError: If graph, features or initial state do not fit the cell, or if there are no
                other parts of the state for ``return_cell``.
            PropagationError: If the graph has a cycle, or the engine is unknown.
        """
        self.check_call(graph, feat, return_cell)
        state = self.run(graph, feat, initial_state, return_cell=return_cell, engine=engine)
        return state if return_cell else state[0]

    @untraced
    def run(
        self,
        graph: dgl.DGLGraph,
        feat: Tensor | IndexedFeat,
        initial_state: Tensor | Sequence[Tensor] | None = None,
        *,
        return_cell: bool = True,
        engine: str = "auto",
        **extra: Any,
    ) -> State:
        """The states of all nodes as a tuple, only ``(h,)`` without ``return_cell``.

        Takes the arguments of :meth:`forward`, already checked by :meth:`check_call`, and further
        arguments of the cell, such as ``query``.
        """
        names = self.state_names if return_cell else self.state_names[:1]
        by_dgl = resolve_engine(engine) == "dgl"
        if not by_dgl and torch._C._is_tracing():
            raise CellError('cells run in torch.jit.trace only with engine="dgl"')
        if not by_dgl and not self._replaces_functions():
            return self._run(graph, feat, initial_state, **extra).states(len(names))
        inputs = self.prepare(graph, feat, initial_state, **extra)
        try:
            results = (self._run_dgl if by_dgl else self._run_functions)(graph, inputs)
        except KeyError as error:
            self._check_edge_names(graph, error)
            raise
        return tuple(results[name] for name in names)

    def _run(
        self,
        graph: dgl.DGLGraph,
        feat: Tensor | IndexedFeat,
        initial_state: Tensor | Sequence[Tensor] | None = None,
        **extra: Any,
    ) -> Run:
        """A run level by level, with the arguments of :meth:`run`."""
        schedule = schedule_of(graph)
        data = extra_of(self, graph, feat, extra)
        return Run(self, schedule, self.slots(graph, schedule), feat, data, initial_state)

    @untraced
    def explain(self, graph: dgl.DGLGraph, **extra: Any) -> Explanation:
        """How the cell runs over a graph, and why not in a faster way.

        Args:
            graph: As in :meth:`forward`; inputs are assumed to have the parameters' dtype and
                device, without parameters float32 on the CPU.
            **extra: Further arguments of the cell, such as ``query``.

        Raises:
            CellError: If the graph does not fit the cell.
            PropagationError: If it has a cycle.
        """
        check_names(self)
        check_graph(graph)
        self.check_structure(graph)
        if self._replaces_functions():
            return Explanation("functions", "it has DGL functions, or preparations, of its own")
        like = next(self.parameters(), torch.empty(0))
        found = self._run(graph, like, **extra).found
        if isinstance(found, str):
            return Explanation("levels", found)
        if isinstance(found.library, str):
            return Explanation("traced", found.library)
        return Explanation("compiled", "there is code that was generated from start and combine")

    def _run_dgl(self, graph: dgl.DGLGraph, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        with graph.local_scope():
            # DGL gathers all node data at every level, needed or not.
            for data, kept in ((graph.ndata, set()), (graph.edata, self._kept_edge_data())):
                for name in data.keys() - kept:
                    del data[name]
            graph.ndata.update(inputs)
            prop_nodes_topo_of_dgl(
                graph, self.message_func, self.reduce_func, apply_node_func=self.apply_node_func
            )
            return {name: graph.ndata[name] for name in self.state_names}

    def _run_functions(self, graph: dgl.DGLGraph, inputs: Mapping[str, Tensor]) -> Any:
        data = {name: graph.edata[name] for name in self._kept_edge_data() if name in graph.edata}
        functions = (self.message_func, self.reduce_func)
        return prop_nodes_topo(
            graph, *functions, apply_node_func=self.apply_node_func, ndata=inputs, edata=data
        )

    def _kept_edge_data(self) -> set[str]:
        return {self.slot_name, *self.edge_names}

    def _check_edge_names(self, graph: dgl.DGLGraph, error: KeyError) -> None:
        """Raises a CellError if what a DGL function misses are edge data, left out or missing."""
        if any(error.args == (name,) for name in {*self.edge_names} - {*graph.edata}):
            raise CellError(
                f"{type(self).__name__} reads edge data {error}, which the graph does not have; it "
                f"has {[*graph.edata]}"
            ) from error
        if any(error.args == (name,) for name in {*graph.edata} - {*self.edge_names}):
            raise CellError(
                f"the DGL functions of {type(self).__name__} read edge data {error}, which are not "
                f"in its edge_names, {self.edge_names}"
            ) from error

    def _replaces_functions(self) -> bool:
        """Whether a method for the DGL functions is overridden, and its counterpart is not."""
        return any(self._overrides(*names) for names in _FUNCTIONS.items())

    def _overrides(self, name: str, counterpart: str) -> bool:
        for owner in (self, *type(self).__mro__):
            if owner is TreeCell or counterpart in vars(owner):
                break
            if name in vars(owner):
                return True
        return False


def _in_type_of(x: Tensor, state: State) -> State:
    """A state in the dtype of x, in which it is stored; under autocast, it may have another one."""
    return tuple(part.to(x.dtype) for part in state)
