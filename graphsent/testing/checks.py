"""All checks of a cell, together or one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from graphsent._dgl import dgl
from graphsent.cells import SlottedCell, TreeCell
from graphsent.testing import module_checks as modules
from graphsent.testing import propagation_checks as propagation
from graphsent.testing.case import SIZES, Arguments, BuildCell, Case
from graphsent.testing.example_graphs import example_graphs

_WAYS = ("compiled", "torch")
_ENGINES = ("levels", "dgl")

# Each function takes a case and, if it has variants, the name of one.
_CHECKS: tuple[tuple[Callable[..., None], tuple[str, ...]], ...] = (
    (propagation.agrees_with_dgl, _WAYS),
    (propagation.agrees_with_dgl_on_shared_rows, _WAYS),
    (propagation.agrees_with_dgl_from_initial_states, _WAYS),
    (propagation.second_gradients_agree_with_dgl, _WAYS),
    (propagation.gradients_equal_finite_differences, ()),
    (propagation.second_gradients_equal_finite_differences, ()),
    (propagation.batch_equals_single_graphs, ()),
    (propagation.numbering_does_not_matter, ()),
    (propagation.nodes_without_edges, ()),
    (propagation.graph_is_left_as_it_was, _ENGINES),
    (modules.lower_precision, _ENGINES),
    (modules.under_autocast, ("levels",)),
    (modules.no_gradients, _ENGINES),
    (modules.functional_call, _ENGINES),
    (modules.copies_and_saved_weights, _ENGINES),
    (modules.checkpointing, _ENGINES),
    (modules.every_parameter_is_used, _ENGINES),
    (modules.reset_parameters, ()),
    (modules.runs_on_cuda, ()),
)


@dataclass(frozen=True)
class Check:
    """One check of a cell, run by calling it; its name says what must hold.

    Attributes:
        name: Such as ``"agrees_with_dgl-compiled"``.
        run: Runs the check, with random numbers from torch's global generator.
    """

    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        """Runs the check with a fixed seed, and restores the global generator.

        Raises:
            AssertionError: The check fails; the message names the cell and the largest difference.
        """
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(0)
            self.run()

    def __str__(self) -> str:
        return self.name


def cell_checks(
    build: BuildCell,
    *,
    graphs: Mapping[str, dgl.DGLGraph] | None = None,
    arguments: Arguments | None = None,
    initial_state: bool | None = None,
    sizes: tuple[int, int] = SIZES,
) -> list[Check]:
    """The checks of a cell, to be run one by one.

    Parameters are drawn uniformly from -0.9 to 0.9. Results must be determined by inputs and
    parameters, so build a cell that has dropout with probability 0. The checks verify that

    * states and gradients equal those of DGL's own propagation, in float64 to 1e-10 (second-order
      gradients to 1e-9), in compiled code and in torch: over each graph, over a batch of all, with
      features shared by nodes, and from initial states; gradients of both orders agree with
      finite differences;
    * a batch gives the same states as its graphs one by one, whatever the numbering of nodes and
      the order of edges; single nodes and empty graphs work; the caller's graph is unchanged;
    * float32, bfloat16, autocast, inference mode, ``functional_call``, checkpointing, copying and
      saving weights work; every parameter receives a gradient; ``reset_parameters``, if defined,
      draws all parameters anew; on a GPU, if there is one, states are those of the CPU.

    Args:
        build: The class of the cell, or a function of ``in_feats`` and ``hidden_feats`` that
            returns one.
        graphs: Graphs that the cell takes, by name; by default :func:`example_graphs`, with as many
            children as a :class:`~graphsent.cells.SlottedCell` has slots.
        arguments: Returns, for a graph, the arguments that the cell takes besides graph and
            features, by name: float64 tensors with one row per node.
        initial_state: Whether the cell takes initial states; by default, a
            :class:`~graphsent.cells.TreeCell` does unless its ``no_initial_state`` says otherwise.
        sizes: ``in_feats`` and ``hidden_feats`` of the cells that are built, by default 3 and 4.
            Where states grow from level to level, rounding errors of large cells, and over dense
            graphs, may exceed what the checks allow.

    Raises:
        ValueError: No graph has nodes.
    """
    with torch.random.fork_rng(devices=()):
        cell = build(*sizes)
    if graphs is None:
        graphs = example_graphs(cell.num_slots if isinstance(cell, SlottedCell) else None)
    if not any(graph.num_nodes() for graph in graphs.values()):
        raise ValueError("expected at least one graph with nodes to check the cell on, got none")
    if initial_state is None:
        initial_state = isinstance(cell, TreeCell) and not cell.no_initial_state
    case = Case(build, graphs, arguments or _nothing, sizes)
    left_out = {
        propagation.agrees_with_dgl_from_initial_states: not initial_state,
        modules.reset_parameters: not hasattr(cell, "reset_parameters"),
        modules.runs_on_cuda: not torch.cuda.is_available(),
    }
    return [
        check
        for function, variants in _CHECKS
        if not left_out.get(function, False)
        for check in _variants(function, case, variants)
    ]


def check_cell(
    build: BuildCell,
    *,
    graphs: Mapping[str, dgl.DGLGraph] | None = None,
    arguments: Arguments | None = None,
    initial_state: bool | None = None,
    sizes: tuple[int, int] = SIZES,
) -> None:
    """Runs all of :func:`cell_checks`, and takes the same arguments.

    Raises:
        AssertionError: A check fails; checks after the first failure are not run.
    """
    checks = cell_checks(
        build, graphs=graphs, arguments=arguments, initial_state=initial_state, sizes=sizes
    )
    for check in checks:
        try:
            check()
        except AssertionError as error:
            raise AssertionError(f"{check}: {error}") from error


def _variants(
    function: Callable[..., None], case: Case, variants: tuple[str, ...]
) -> Iterator[Check]:
    name = function.__name__
    if not variants:
        yield Check(name, partial(function, case))
    for variant in variants:
        yield Check(f"{name}-{variant}", partial(function, case, variant))


def _nothing(graph: dgl.DGLGraph) -> dict[str, Tensor]:
    return {}
