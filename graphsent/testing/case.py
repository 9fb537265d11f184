"""A cell to check: how to build it, what it runs on, and how results are compared."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from graphsent._dgl import dgl
from graphsent.cells import IndexedFeat
from graphsent.graphs import batch

SIZES = 3, 4
_SMALL = 12  # number of nodes below which graphs are used for finite differences

BuildCell = Callable[[int, int], nn.Module]
Arguments = Callable[[dgl.DGLGraph], Mapping[str, Tensor]]


@dataclass(frozen=True)
class Case:
    """A cell to check, and the graphs it takes.

    Attributes:
        build: Builds a cell from its sizes, (in_feats, hidden_feats).
        graphs: Graphs by name.
        arguments: Returns, for a graph, the float64 tensors that the cell takes besides features,
            by name, each with one row per node.
        sizes: in_feats and hidden_feats.
    """

    build: BuildCell
    graphs: Mapping[str, dgl.DGLGraph]
    arguments: Arguments
    sizes: tuple[int, int] = SIZES

    @cached_property
    def name(self) -> str:
        """Name of the cell in messages."""
        return type(self.make()).__name__

    @cached_property
    def state_names(self) -> tuple[str, ...]:
        """Names of the parts of the cell's state."""
        return state_names(self.make())

    def make(self) -> nn.Module:
        """A cell as built, in the default dtype."""
        return self.build(*self.sizes)

    def cell(self, dtype: torch.dtype = torch.float64) -> nn.Module:
        """A cell with random parameters, none of them zero."""
        cell = self.make().to(dtype)
        for parameter in cell.parameters():
            nn.init.uniform_(parameter, -0.9, 0.9)
        return cell

    @property
    def batch(self) -> dgl.DGLGraph:
        """A batch of all graphs."""
        return batch(list(self.graphs.values()))

    @property
    def small(self) -> dgl.DGLGraph:
        """A batch of the small graphs, or the smallest one."""
        by_size = sorted(self.graphs.values(), key=lambda graph: graph.num_nodes())
        return batch([graph for graph in by_size if graph.num_nodes() < _SMALL] or by_size[:1])

    def feat(self, graph: dgl.DGLGraph) -> Tensor:
        """Random features of all nodes, (num_nodes, in_feats) float64."""
        return torch.randn(graph.num_nodes(), self.sizes[0], dtype=torch.float64)

    def words(self, graph: dgl.DGLGraph) -> IndexedFeat:
        """Random features with shared rows, and no row for some nodes."""
        index = torch.randint(-1, 4, (graph.num_nodes(),))
        return IndexedFeat(torch.randn(4, self.sizes[0], dtype=torch.float64), index)

    def initial_state(self, cell: nn.Module, graph: dgl.DGLGraph) -> Tensor | tuple[Tensor, ...]:
        """Random initial states of all nodes, each (num_nodes, hidden_feats) float64."""
        shape = (graph.num_nodes(), self.sizes[1])
        parts = [torch.randn(shape, dtype=torch.float64) for _ in state_names(cell)]
        return tuple(parts) if len(parts) > 1 else parts[0]

    def expect(self, holds: bool, problem: str) -> None:
        """Raises an AssertionError that names the cell."""
        if not holds:
            raise AssertionError(f"{self.name}: {problem}")

    def expect_close(
        self,
        found: Iterable[Tensor],
        expected: Iterable[Tensor],
        what: str,
        names: Sequence[str] | None = None,
        tolerance: float = 1e-10,
    ) -> None:
        """Raises an AssertionError if tensors are not finite, or differ by more than a tolerance.

        The tolerance is relative to the largest value of a tensor, and absolute if that is below 1.

        Args:
            found: Tensors.
            expected: Tensors of the same number and shapes.
            what: What is compared, for the message.
            names: Names of the tensors, by default those of the state; surplus ones are ignored.
            tolerance: The largest difference.
        """
        pairs = list(zip(found, expected, strict=True))
        names = self.state_names if names is None else names
        for name, (one, other) in zip(names[: len(pairs)], pairs, strict=True):
            shapes = tuple(one.shape), tuple(other.shape)
            self.expect(
                shapes[0] == shapes[1],
                f"{what}: {name} has shape {shapes[0]}, expected {shapes[1]}",
            )
            if one.numel() == 0:
                continue
            one, other = one.detach().double(), other.detach().double()
            self.expect(bool(other.isfinite().all()), f"{what}: {name} is not finite")
            largest = float((one - other).abs().max())
            bound = tolerance * max(1.0, float(other.abs().max()))
            self.expect(
                largest <= bound,  # False for NaN
                f"{what}: {name} differs by {largest:.3g}, expected at most {bound:.3g}",
            )


def state_names(cell: nn.Module) -> tuple[str, ...]:
    """Names of the parts of a cell's state."""
    return getattr(cell, "state_names", ("h", "c"))


def trainable(cell: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that require gradients, by name."""
    return {name: each for name, each in cell.named_parameters() if each.requires_grad}


def all_parts(cell: nn.Module) -> dict[str, bool]:
    """The argument with which a call returns all parts of the states that it can return."""
    has_others = len(state_names(cell)) > 1
    takes_it = "return_cell" in inspect.signature(cell.forward).parameters
    return {"return_cell": True} if has_others and takes_it else {}


def states(
    cell: nn.Module, graph: dgl.DGLGraph, feat: Tensor | IndexedFeat, **arguments: Any
) -> tuple[Tensor, ...]:
    """All parts of the states that a call of a cell can return, each (num_nodes, out_feats)."""
    found = cell(graph, feat, **all_parts(cell), **arguments)
    return found if isinstance(found, tuple) else (found,)


def gradients(
    parts: Sequence[Tensor], inputs: Sequence[Tensor], *, create_graph: bool = False
) -> tuple[Tensor, ...]:
    """Gradients of a weighted sum of all states; zeros for unused inputs."""
    weights = [torch.linspace(-1, 2, part.numel()).to(part).view_as(part) for part in parts]
    pairs = zip(weights, parts, strict=True)
    loss = torch.stack([(weight * part).sum() for weight, part in pairs]).sum()
    if not loss.requires_grad:  # as that of gradients of a linear function
        return tuple(map(torch.zeros_like, inputs))
    return torch.autograd.grad(
        loss, inputs, create_graph=create_graph, allow_unused=True, materialize_grads=True
    )
