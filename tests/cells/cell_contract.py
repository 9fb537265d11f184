"""The table of cells: one row per cell and option, used by all checks.

A new cell needs a row here and a function in ``cell_references.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cell_references as references
import pytest
import torch
from cell_structures import (
    Structure,
    binary_shapes,
    bottom_up,
    comb_shape,
    join,
    sibling,
    top_down,
)
from hypothesis import strategies as st
from strategies import Shape, chain_shape, perfect_shape, shapes, star_shape
from torch import Tensor, nn

from graphsent import cells
from graphsent.testing import Check, cell_checks
from graphsent.testing.case import SIZES, Case

IN_FEATS, HIDDEN_FEATS = SIZES
QUERY_FEATS = 5

# The tree shapes that a cell accepts: how to draw one, and one of each kind.
ANY = (
    shapes(),
    [chain_shape(0), chain_shape(4), star_shape(3), star_shape(30), perfect_shape(3)],
)
UP_TO_TWO = (
    shapes(max_children=2),
    [chain_shape(0), chain_shape(4), comb_shape(2, 1), perfect_shape(3)],
)
BINARY = (binary_shapes(), [chain_shape(0), comb_shape(5, 0), comb_shape(5, 1), perfect_shape(3)])


@dataclass(frozen=True)
class Row:
    """A cell, its reference recursion, and its properties.

    Attributes:
        name: id in the tests.
        build: makes the cell with sizes ``IN_FEATS`` and ``HIDDEN_FEATS``.
        reference: its recursion; see ``cell_references.py``.
        options: the cell's options that the recursion depends on.
        shapes: the tree shapes that it accepts.
        structure: how a shape becomes a graph.
        ordered: whether the slots of the predecessors matter.
        leaves_only: whether the inputs of inner nodes are ignored.
        max_degree: largest in-degree in directed acyclic graphs; 0 if it accepts only trees.
        initial: whether there may be initial states.
        query: whether it takes attention vectors.
    """

    name: str
    build: Callable[[], nn.Module]
    reference: Callable[..., list[tuple[Tensor, ...]]]
    options: dict[str, Any] = field(default_factory=dict)
    shapes: tuple[st.SearchStrategy[Shape], list[Shape]] = ANY
    structure: Callable[[Shape], Structure] = bottom_up
    ordered: bool = True
    leaves_only: bool = False
    max_degree: int = 0
    initial: bool = True
    query: bool = False

    def structures(self) -> st.SearchStrategy[list[Structure]]:
        """One to three trees."""
        return st.lists(self.shapes[0].map(self.structure), min_size=1, max_size=3)

    def every_structure(self) -> list[Structure]:
        """A tree of each kind."""
        return [self.structure(shape) for shape in self.shapes[1]]

    def small_structure(self) -> Structure:
        """The small ones of these in one batch: cheap, but with every kind of node."""
        return join([tree for tree in self.every_structure() if tree.num_nodes < 12])

    def checks(self) -> list[Check]:
        """The contract of all cells."""
        graphs, arguments = self.case().graphs, self.case().arguments
        return cell_checks(
            lambda *_: self.build(), graphs=graphs, arguments=arguments, initial_state=self.initial
        )

    def case(self) -> Case:
        """The cell and its trees, for individual checks."""
        trees = {str(number): tree.graph() for number, tree in enumerate(self.every_structure())}
        return Case(lambda *_: self.build(), trees, self._arguments)

    def _arguments(self, graph: Any) -> dict[str, Tensor]:
        rows = graph.num_nodes()
        return {"query": torch.randn(rows, QUERY_FEATS).double()} if self.query else {}

    def cell(self, dtype: torch.dtype = torch.float64) -> nn.Module:
        """A cell with random parameters, none of them zero."""
        cell = self.build().to(dtype)
        for parameter in cell.parameters():
            nn.init.uniform_(parameter, -0.9, 0.9)
        return cell

    def run(self, cell: nn.Module, structure: Structure, feat: Tensor, **arguments) -> tuple:
        """All states computed by the cell, each (num_nodes, hidden_feats)."""
        return self.run_graph(cell, structure.graph(), feat, **arguments)

    def run_graph(self, cell: nn.Module, graph: Any, feat: Tensor, **arguments) -> tuple:
        """All states computed by the cell, each (num_nodes, hidden_feats)."""
        memory = "c" in getattr(cell, "state_names", ("h", "c"))
        states = cell(graph, feat, return_cell=memory, **arguments)
        return states if memory else (states,)

    def arguments(self, structure: Structure, dtype: torch.dtype = torch.float64) -> dict[str, Any]:
        """Tensors that the cell takes besides graph and features, one row per node."""
        if not self.query:
            return {}
        return {"query": torch.randn(structure.num_nodes, QUERY_FEATS, dtype=dtype)}

    def states(
        self, cell: nn.Module, structure: Structure, feat: Tensor, before=None, **arguments: Tensor
    ) -> tuple[Tensor, ...]:
        """All states computed by the recursion, each (num_nodes, hidden_feats)."""
        weights = dict(cell.named_parameters())
        states = self.reference(
            weights, structure.incoming, feat, before, **arguments, **self.options
        )
        return tuple(torch.stack(parts) for parts in zip(*states, strict=True))


def _row(name: str, cell: type[nn.Module], reference, *, build=None, **rest) -> Row:
    build = build or {}
    return Row(name, lambda: cell(IN_FEATS, HIDDEN_FEATS, **build), reference, **rest)


def _gru_tree_net() -> nn.Module:
    encoder = nn.Sequential(nn.Linear(IN_FEATS, HIDDEN_FEATS), nn.Tanh())
    compositor = nn.GRUCell(HIDDEN_FEATS, HIDDEN_FEATS)
    return cells.TreeNet(
        IN_FEATS, HIDDEN_FEATS, encoder=encoder, compositor=compositor, memory=False
    )


_DYNAMIC = {"attention": "dynamic", "attention_feats": QUERY_FEATS}
_NARY = {"shapes": UP_TO_TWO, "max_degree": 2}
_SET = {"ordered": False, "max_degree": 4}
_HEADS = {"shapes": BINARY, "leaves_only": True}

ROWS = [
    _row("nary_lstm", cells.NaryTreeLSTM, references.nary_tree_lstm, **_NARY),
    _row(
        "nary_lstm_ungated",
        cells.NaryTreeLSTM,
        references.nary_tree_lstm,
        build={"gate_output": False},
        options={"gate_output": False},
        **_NARY,
    ),
    _row(
        "nary_lstm_5",
        cells.NaryTreeLSTM,
        references.nary_tree_lstm,
        build={"num_children": 5},
        options={"num_children": 5},
        shapes=(
            shapes(max_children=5).filter(lambda shape: max(map(len, shape)) <= 5),
            [chain_shape(3), star_shape(5), star_shape(3)],
        ),
        max_degree=5,
    ),
    _row(
        "nary_lstm_affine",
        cells.NaryTreeLSTM,
        references.nary_tree_lstm,
        build={"leaf": "affine"},
        options={"leaf": "affine"},
        leaves_only=True,
        initial=False,
        **_NARY,
    ),
    _row(
        "nary_lstm_affine_ungated",
        cells.NaryTreeLSTM,
        references.nary_tree_lstm,
        build={"leaf": "affine", "gate_output": False},
        options={"leaf": "affine", "gate_output": False},
        leaves_only=True,
        initial=False,
        **_NARY,
    ),
    _row("child_sum_lstm", cells.ChildSumTreeLSTM, references.child_sum_tree_lstm, **_SET),
    _row(
        "child_sum_lstm_ungated",
        cells.ChildSumTreeLSTM,
        references.child_sum_tree_lstm,
        build={"gate_output": False},
        options={"gate_output": False},
        **_SET,
    ),
    _row("recursive", cells.RecursiveCell, references.recursive, **_NARY),
    _row("child_sum_gru", cells.ChildSumTreeGRU, references.child_sum_tree_gru, **_SET),
    _row(
        "child_sum_gru_literal",
        cells.ChildSumTreeGRU,
        references.child_sum_tree_gru,
        build={"reset": "literal"},
        options={"reset": "literal"},
        **_SET,
    ),
    _row("attentive_lstm", cells.AttentiveTreeLSTM, references.attentive_tree_lstm, **_SET),
    _row(
        "attentive_lstm_dynamic",
        cells.AttentiveTreeLSTM,
        references.attentive_tree_lstm,
        build=_DYNAMIC,
        query=True,
        **_SET,
    ),
    _row(
        "attentive_lstm_attended",
        cells.AttentiveTreeLSTM,
        references.attentive_tree_lstm,
        build={"memory": "attended", **_DYNAMIC},
        options={"memory": "attended"},
        query=True,
        **_SET,
    ),
    _row(
        "attentive_lstm_both_ungated",
        cells.AttentiveTreeLSTM,
        references.attentive_tree_lstm,
        build={"memory": "both", "gate_output": False},
        options={"memory": "both", "gate_output": False},
        **_SET,
    ),
    _row("attentive_gru", cells.AttentiveTreeGRU, references.attentive_tree_gru, **_SET),
    _row(
        "attentive_gru_literal",
        cells.AttentiveTreeGRU,
        references.attentive_tree_gru,
        build={"reset": "literal", **_DYNAMIC},
        options={"reset": "literal"},
        query=True,
        **_SET,
    ),
    Row(
        "head_words",
        lambda: cells.HeadLexicalizer(IN_FEATS),
        references.head_words,
        initial=False,
        **_HEADS,
    ),
    _row("lexicalized_lstm", cells.LexicalizedTreeLSTM, references.lexicalized_tree_lstm, **_HEADS),
    _row(
        "con_tree",
        cells.LexicalizedTreeLSTM,
        references.lexicalized_tree_lstm,
        build={"lexicalized": False, "leaf_peephole": True},
        options={"leaf_peephole": True},
        leaves_only=True,
        **_NARY,
    ),
    _row(
        "top_down_lstm",
        cells.TopDownTreeLSTM,
        references.top_down_tree_lstm,
        shapes=UP_TO_TWO,
        structure=top_down,
    ),
    _row(
        "top_down_lstm_unshared",
        cells.TopDownTreeLSTM,
        references.top_down_tree_lstm,
        build={"td_share_input": False},
        shapes=UP_TO_TWO,
        structure=top_down,
    ),
    _row("bi_tree_lstm", cells.BiTreeLSTM, references.bi_tree_lstm, **_HEADS),
    _row(
        "bi_tree_lstm_from_root",
        cells.BiTreeLSTM,
        references.bi_tree_lstm,
        build={"lexicalized": False, "td_share_input": False, "td_root": "bu_root"},
        shapes=UP_TO_TWO,
        leaves_only=True,
    ),
    _row(
        "tree_net",
        cells.TreeNet,
        references.tree_net,
        structure=sibling,
        leaves_only=True,
        initial=False,
    ),
    Row(
        "tree_net_with_gru",
        _gru_tree_net,
        references.tree_net_with_gru,
        structure=sibling,
        leaves_only=True,
        initial=False,
    ),
]

each_cell = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def cells_where(condition: Callable[[Row], bool]) -> pytest.MarkDecorator:
    """Parametrizes over the rows that satisfy a condition."""
    return pytest.mark.parametrize(
        "row", [row for row in ROWS if condition(row)], ids=lambda row: row.name
    )
