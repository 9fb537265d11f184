"""What all cells share: the way from tensors to DGL functions and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from graphsent._dgl import dgl
from graphsent.cells.errors import CellError
from graphsent.cells.validation import check_feat, check_graph, check_initial_state
from graphsent.propagation import resolve_engine
from graphsent.propagation.reference import prop_nodes_topo_of_dgl

State = tuple[Tensor, ...]
"""The parts of a state, the output ``h`` first; all of shape (..., hidden_feats)."""

_LEAF = "leaf"
_INITIAL = "initial_"


class TreeCell(nn.Module):
    r"""Base of the cells: a recursion over the predecessors of each node of an acyclic graph.

    .. math::
        s_t = \mathrm{combine}(\{s_k : k \to t\}, \mathrm{project}(x)_t), \qquad
        s_t = \mathrm{start}(\mathrm{project}(x)_t) \text{ where there is no } k \to t

    A subclass gives :meth:`project`, :meth:`start` and :meth:`combine`, which know tensors only.
    ``project`` sees all nodes at once, so that it costs one matrix product; ``combine`` sees the
    nodes of one level. This class makes DGL functions of them, which are complete by themselves::

        graph.ndata.update(cell.node_inputs(graph, feat))
        dgl.prop_nodes_topo(
            graph, cell.message_func, cell.reduce_func, apply_node_func=cell.apply_node_func
        )
        h = graph.ndata["h"]

    As many rounds of ``graph.update_all`` with the three functions as the graph has levels give
    the same.

    Attributes:
        state_names: node data that hold the parts of the state; ``h`` is the first.
        input_names: node data that :meth:`start` and :meth:`combine` are given, in their order.
        edge_names: edge data that the message function reads where the graph has them.
        no_initial_state: why there cannot be initial states; empty if there can.
    """

    state_names: tuple[str, ...] = ("h", "c")
    input_names: tuple[str, ...] = ("x",)
    edge_names: tuple[str, ...] = ()
    no_initial_state: str = ""

    def __init__(self, in_feats: int, hidden_feats: int) -> None:
        super().__init__()
        for name, size in (("in_feats", in_feats), ("hidden_feats", hidden_feats)):
            if size < 1:
                raise CellError(f"expected {name} to be at least 1, got {size}")
        self.in_feats = in_feats
        self.hidden_feats = hidden_feats

    @property
    def out_feats(self) -> int:
        """Size of a row of what the cell returns."""
        return self.hidden_feats

    def reset_parameters(self) -> None:
        """Draws all parameters anew."""
        raise NotImplementedError

    def project(self, feat: Tensor) -> Tensor:
        """What the inputs contribute to the gates: (num_nodes, in_feats) -> (num_nodes, ...)."""
        raise NotImplementedError

    def start(self, *inputs: Tensor) -> State:
        """States of nodes without predecessors.

        Args:
            *inputs: rows of the node data ``input_names``, each (num_nodes, ...).

        Returns:
            The parts of the states, each (num_nodes, hidden_feats).
        """
        raise NotImplementedError

    def combine(self, children: State, *inputs: Tensor) -> State:
        """States of nodes with predecessors.

        Args:
            children: parts of the predecessors' states, each (num_nodes, num_children,
                hidden_feats).
            *inputs: rows of the node data ``input_names``, each (num_nodes, ...).

        Returns:
            The parts of the states, each (num_nodes, hidden_feats).
        """
        raise NotImplementedError

    def check_structure(self, graph: dgl.DGLGraph) -> None:
        """Raises a CellError if the cell cannot run over a graph of this shape."""

    def node_inputs(
        self,
        graph: dgl.DGLGraph,
        feat: Tensor,
        initial_state: Tensor | Sequence[Tensor] | None = None,
    ) -> dict[str, Tensor]:
        """The node data that the three DGL functions read.

        Args:
            graph: graph of ``num_nodes`` nodes.
            feat: inputs of all nodes, (num_nodes, in_feats).
            initial_state: as in :meth:`forward`.

        Returns:
            Node data by name, each with ``num_nodes`` rows.

        Raises:
            CellError: if graph, features or initial state do not fit the cell.
        """
        self.check_call(graph, feat)
        return self.prepare(graph, feat, initial_state)

    def check_call(self, graph: dgl.DGLGraph, feat: Tensor) -> None:
        """Raises a CellError if graph or features do not fit the cell."""
        check_graph(graph)
        check_feat(feat, (graph.num_nodes(), self.in_feats), next(self.parameters(), None))
        self.check_structure(graph)

    def prepare(
        self,
        graph: dgl.DGLGraph,
        feat: Tensor,
        initial_state: Tensor | Sequence[Tensor] | None = None,
    ) -> dict[str, Tensor]:
        """The node data of :meth:`node_inputs`, for graph and features that have been checked."""
        x = self.project(feat)
        zeros = x.new_zeros(graph.num_nodes(), self.hidden_feats)
        inputs = {"x": x, _LEAF: graph.in_degrees() == 0}
        inputs.update(dict.fromkeys(self.state_names, zeros))
        if initial_state is not None:
            if self.no_initial_state:
                name = type(self).__name__
                raise CellError(f"{name} takes no initial_state: {self.no_initial_state}")
            state = (initial_state,) if isinstance(initial_state, Tensor) else tuple(initial_state)
            check_initial_state(state, self.state_names, zeros)
            initial_names = [_INITIAL + name for name in self.state_names]
            inputs.update(zip(initial_names, state, strict=True))
        return inputs

    def message_func(self, edges: Any) -> dict[str, Tensor]:
        """DGL message function: sends the source's state."""
        return {name: edges.src[name] for name in self.state_names}

    def reduce_func(self, nodes: Any) -> dict[str, Tensor]:
        """DGL reduce function: :meth:`combine` on the received states."""
        return self._named(self.combine(self._children(nodes.mailbox), *self._inputs_of(nodes)))

    def apply_node_func(self, nodes: Any) -> dict[str, Tensor]:
        """DGL apply function: the states of the nodes that have received nothing."""
        reduced = tuple(nodes.data[name] for name in self.state_names)
        leaf = nodes.data[_LEAF]
        if not leaf.any():
            return self._named(reduced)
        started = self._first_state(nodes)
        if leaf.all():
            return self._named(started)
        pairs = zip(started, reduced, strict=True)
        return self._named(tuple(torch.where(leaf.unsqueeze(1), a, b) for a, b in pairs))

    def forward(
        self,
        graph: dgl.DGLGraph,
        feat: Tensor,
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
            engine: ``"auto"`` or one of :data:`graphsent.propagation.ENGINES`.

        Returns:
            ``h`` of shape (num_nodes, hidden_feats) in the graph's node order; with
            ``return_cell`` a pair ``(h, c)``.

        Raises:
            CellError: if graph, features or initial state do not fit the cell.
            PropagationError: if the graph has a cycle, or there is no such engine.
        """
        self._check_return_cell(return_cell)
        state = self.propagate(graph, self.node_inputs(graph, feat, initial_state), engine)
        return state if return_cell else state[0]

    def propagate(self, graph: dgl.DGLGraph, inputs: Mapping[str, Tensor], engine: str) -> State:
        """The states of all nodes from the node data of :meth:`node_inputs`."""
        resolve_engine(engine)
        with graph.local_scope():
            # DGL gathers all node data at every level, needed or not.
            _keep_only(graph.ndata, ())
            _keep_only(graph.edata, self.edge_names)
            graph.ndata.update(inputs)
            prop_nodes_topo_of_dgl(
                graph, self.message_func, self.reduce_func, apply_node_func=self.apply_node_func
            )
            return tuple(graph.ndata[name] for name in self.state_names)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.in_feats}, {self.hidden_feats}"

    def _check_return_cell(self, return_cell: bool) -> None:
        if return_cell and "c" not in self.state_names:
            raise CellError(f"{type(self).__name__} has no memory cell to return")

    def _children(self, messages: Mapping[str, Tensor]) -> State:
        """The predecessors' states for :meth:`combine`, from messages (nodes, edges, ...)."""
        return tuple(messages[name] for name in self.state_names)

    def _inputs_of(self, nodes: Any) -> tuple[Tensor, ...]:
        return tuple(nodes.data[name] for name in self.input_names)

    def _first_state(self, nodes: Any) -> State:
        inputs = self._inputs_of(nodes)
        if _INITIAL + self.state_names[0] not in nodes.data:
            return self.start(*inputs)
        messages = {name: nodes.data[_INITIAL + name].unsqueeze(1) for name in self.state_names}
        return self.combine(self._children(messages), *inputs)

    def _named(self, state: State) -> dict[str, Tensor]:
        return dict(zip(self.state_names, state, strict=True))


def _keep_only(data: MutableMapping[str, Tensor], names: Iterable[str]) -> None:
    for name in set(data.keys()) - set(names):
        del data[name]
