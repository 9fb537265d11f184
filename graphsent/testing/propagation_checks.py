"""Checks of the states and gradients of a cell, on every engine and graph."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.autograd.gradcheck import GradcheckError

from graphsent._dgl import dgl
from graphsent.cells import IndexedFeat
from graphsent.kernels.library import SWITCH
from graphsent.testing.case import Case, all_parts, gradients, states, trainable
from graphsent.testing.example_graphs import renumbered

_BY_LEVELS = (
    "by the engine 'levels' and by DGL (is project, start or combine random, does it keep "
    "something from one call to the next, or use other nodes?)"
)


def compiled_code(way: str) -> Any:
    """A context in which cells run in compiled code or, with ``"torch"``, in torch."""
    return mock.patch.dict(os.environ, {SWITCH: "0" if way == "torch" else "1"})


def agrees_with_dgl(case: Case, way: str) -> None:
    """States and gradients are those of DGL's propagation, over every graph."""
    cell = case.cell()
    for name, graph in {**case.graphs, "all graphs in a batch": case.batch}.items():
        _compare(case, cell, graph, case.feat(graph), way, name)


def agrees_with_dgl_on_shared_rows(case: Case, way: str) -> None:
    """The same comparison, with features whose rows are shared by nodes."""
    cell, graph = case.cell(), case.batch
    _compare(case, cell, graph, case.words(graph), way, "IndexedFeat")


def agrees_with_dgl_from_initial_states(case: Case, way: str) -> None:
    """The same comparison from initial states, including their gradients."""
    cell, graph = case.cell(), case.batch
    state = case.initial_state(cell, graph)
    _compare(case, cell, graph, case.feat(graph), way, "initial states", initial_state=state)


def second_gradients_agree_with_dgl(case: Case, way: str) -> None:
    """Second-order gradients are those of DGL's propagation."""
    cell, graph = case.cell(), case.small
    feat = case.feat(graph).requires_grad_()
    arguments = case.arguments(graph)
    found = []
    for engine in ("levels", "dgl"):
        with compiled_code(way), _twice_differentiable_attention():
            parts = states(cell, graph, feat, engine=engine, **arguments)
            (gradient,) = gradients(parts, [feat], create_graph=True)
            found.append(gradients([gradient], [feat, *trainable(cell).values()]))
    names = [f"second gradient of {name}" for name in ("feat", *trainable(cell))]
    by_levels, by_dgl = found
    case.expect_close(by_levels, by_dgl, _BY_LEVELS, names, 1e-9)


@contextmanager
def _twice_differentiable_attention() -> Iterator[None]:
    """Keeps ``scaled_dot_product_attention`` from code without second-order gradients."""
    flash = torch.backends.cuda  # whose switch is that of CPUs, too
    enabled = flash.flash_sdp_enabled()
    flash.enable_flash_sdp(False)
    try:
        yield
    finally:
        flash.enable_flash_sdp(enabled)


def gradients_equal_finite_differences(case: Case) -> None:
    """Gradients with respect to inputs and parameters agree with finite differences."""
    _check_differences(case, torch.autograd.gradcheck)


def second_gradients_equal_finite_differences(case: Case) -> None:
    """Second-order gradients agree with finite differences of the first."""
    with _twice_differentiable_attention():
        _check_differences(case, torch.autograd.gradgradcheck)


def batch_equals_single_graphs(case: Case) -> None:
    """A batch gives the same states as its graphs one by one, each run by a new copy."""
    cell, graph = case.cell(), case.batch
    unused = copy.deepcopy(cell)
    feat, arguments = case.feat(graph), case.arguments(graph)
    together = states(cell, graph, feat, **arguments)
    first = 0
    for name, member in case.graphs.items():
        rows = slice(first, first + member.num_nodes())
        own = {key: value[rows] for key, value in arguments.items()}
        alone = states(copy.deepcopy(unused), member, feat[rows], **own)
        what = f"{name}, in a batch and alone (does it use rows of other nodes?)"
        case.expect_close([part[rows] for part in together], alone, what)
        first = rows.stop


def numbering_does_not_matter(case: Case) -> None:
    """States do not depend on the numbering of nodes and the order of edges."""
    cell, graph = case.cell(), case.batch
    feat, arguments = case.feat(graph), case.arguments(graph)
    new_ids = torch.randperm(graph.num_nodes())
    moved = renumbered(graph, new_ids, torch.arange(graph.num_edges()).flip(0))
    old_ids = new_ids.argsort()
    own = {name: value[old_ids] for name, value in arguments.items()}
    found = states(cell, moved, feat[old_ids], **own)
    what = (
        "with nodes and edges in another order (combine gets the children of a TreeCell in no "
        "particular order; a SlottedCell has them in their slots)"
    )
    expected = states(cell, graph, feat, **arguments)
    case.expect_close([part[new_ids] for part in found], expected, what)


def nodes_without_edges(case: Case) -> None:
    """A graph of two nodes without edges has two states, and an empty graph has none."""
    cell, like = case.cell(), case.batch
    for count in (2, 0):
        graph = dgl.graph(([], []), num_nodes=count)
        graph.edata.update({name: values[:0] for name, values in like.edata.items()})
        nodes = torch.arange(count) % like.num_nodes()
        graph.ndata.update({name: values[nodes] for name, values in like.ndata.items()})
        feat = case.feat(graph)
        for engine in ("levels", "dgl"):
            h = states(cell, graph, feat, engine=engine, **case.arguments(graph))[0]
            expected = (count, getattr(cell, "out_feats", case.sizes[1]))
            case.expect(
                tuple(h.shape) == expected and h.dtype == feat.dtype,
                f"{count} nodes without edges: expected h of shape {expected} and {feat.dtype}, "
                f"got {tuple(h.shape)} and {h.dtype}",
            )


def graph_is_left_as_it_was(case: Case, engine: str) -> None:
    """Node and edge data of the caller's graph are unchanged."""
    cell, graph = case.cell(), case.small
    for name in ("h", "x"):
        graph.ndata[name] = torch.ones(graph.num_nodes(), 2)
    graph.edata["slot"] = torch.ones(graph.num_edges())
    before = [dict(data) for data in (graph.ndata, graph.edata)]
    states(cell, graph, case.feat(graph), engine=engine, **case.arguments(graph))
    for data, old in zip((graph.ndata, graph.edata), before, strict=True):
        new = dict(data)
        changed = sorted(name for name in new | old if new.get(name) is not old.get(name))
        case.expect(not changed, f"it changes the data of the graph: {', '.join(changed)}")


def _compare(
    case: Case,
    cell: nn.Module,
    graph: dgl.DGLGraph,
    feat: Tensor | IndexedFeat,
    way: str,
    what: str,
    **extra: Any,
) -> None:
    """Compares states and gradients of a cell by the engine ``"levels"`` and by DGL."""
    rows = feat if isinstance(feat, Tensor) else feat.rows
    arguments = {**case.arguments(graph), **extra}
    inputs = {"feat": rows}
    for name, value in arguments.items():
        parts = (value,) if isinstance(value, Tensor) else value
        names = [name] if len(parts) == 1 else [f"{name}[{i}]" for i in range(len(parts))]
        inputs |= dict(zip(names, parts, strict=True))
    leaves = [*(each.requires_grad_() for each in inputs.values()), *trainable(cell).values()]
    found = []
    for engine in ("levels", "dgl"):
        with compiled_code(way):
            parts = states(cell, graph, feat, engine=engine, **arguments)
            try:
                found.append([*parts, *gradients(parts, leaves)])
            except RuntimeError as error:  # torch names neither the cell nor the method
                raise AssertionError(
                    f"{case.name}: {what}, gradients by the engine {engine!r} (does project, start "
                    f"or combine change a parameter or buffer in place?): {error}"
                ) from error
    names = [
        *case.state_names[: len(parts)],
        *(f"gradient of {name}" for name in (*inputs, *trainable(cell))),
    ]
    by_levels, by_dgl = found
    case.expect_close(by_levels, by_dgl, f"{what}, {_BY_LEVELS}", names)


def _check_differences(case: Case, check: Callable[..., bool]) -> None:
    """Runs ``gradcheck`` or ``gradgradcheck`` on a cell over the small graphs."""
    cell, graph = case.cell(), case.small
    parameters, arguments = trainable(cell), case.arguments(graph)

    def run(feat: Tensor, *rest: Tensor) -> Any:
        weights = dict(zip(parameters, rest[: len(parameters)], strict=True))
        others = dict(zip(arguments, rest[len(parameters) :], strict=True))
        options = {**others, **all_parts(cell)}
        return torch.func.functional_call(cell, weights, (graph, feat), options)

    inputs = (value.double().requires_grad_() for value in arguments.values())
    given = (case.feat(graph).requires_grad_(), *parameters.values(), *inputs)
    try:
        check(run, given, rtol=1e-4, fast_mode=True, check_undefined_grad=False)
    except GradcheckError as error:
        raise AssertionError(f"{case.name}: {error}") from error
