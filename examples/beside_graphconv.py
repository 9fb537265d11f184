"""A cell beside GraphConv layers in a DGL model: which module does a Python function come from?

    python examples/beside_graphconv.py [--epochs 6] [--functions 50]

The functions are those of a few standard library modules, each represented by its syntax tree from
Python's ``ast``. The only feature of a node is its type (``If``, ``Call``, ...); names in the code
are not used. Two graph convolutions mix a node with its neighbours; the classifier then reads
either the mean over all nodes, or the state of the root after a cell has run up the tree. The cell
has the interface of any DGL layer: ``cell(graph, feat)``, one row per node.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from graphsent import dgl
from graphsent.cells import ChildSumTreeLSTM

MODULES = ("_pydecimal", "argparse", "mailbox", "pickle", "tarfile", "turtle", "typing")
MOST_NODES = 300  # per function
TYPES = sorted(
    name
    for name, value in vars(ast).items()
    if isinstance(value, type) and issubclass(value, ast.AST)
)
NUMBER = {name: number for number, name in enumerate(TYPES)}

Example = tuple[dgl.DGLGraph, int]


def syntax_graph(tree: ast.AST) -> dgl.DGLGraph:
    """A syntax tree as a graph with edges from children to parents; node 0 is the root."""
    types, sources, targets, places = [], [], [], []
    stack: list[tuple[ast.AST, int, int]] = [(tree, -1, 0)]
    while stack:
        node, parent, place = stack.pop()
        number = len(types)
        types.append(NUMBER[type(node).__name__])
        if parent >= 0:
            sources.append(number)
            targets.append(parent)
            places.append(place)
        parts = enumerate(ast.iter_child_nodes(node))
        stack += [(part, number, index) for index, part in parts]
    graph = dgl.graph((sources, targets), num_nodes=len(types))
    graph.ndata["type"] = torch.tensor(types)
    graph.edata["child_index"] = torch.tensor(places)
    return graph


def functions(module: str) -> Iterator[dgl.DGLGraph]:
    """The functions of a module, including methods, as graphs."""
    path = Path(ast.__file__).with_name(f"{module}.py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list.clear()  # they would give the module away
            graph = syntax_graph(node)
            if graph.num_nodes() <= MOST_NODES:
                yield graph


class Model(nn.Module):
    """Convolutions over the tree, optionally a cell up the tree, and a linear layer.

    Args:
        size: Number of features per node.
        use_cell: Whether to classify the root state of a cell rather than the mean over nodes.
    """

    def __init__(self, size: int = 48, *, use_cell: bool = True) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(TYPES), size)
        self.convolutions = nn.ModuleList(
            dgl.nn.GraphConv(size, size, allow_zero_in_degree=True) for _ in range(2)
        )
        self.cell = ChildSumTreeLSTM(size, size) if use_cell else None
        self.output = nn.Linear(size, len(MODULES))

    def forward(self, graph: dgl.DGLGraph) -> Tensor:
        """Logits, (batch_size, num_modules)."""
        feat = self.embedding(graph.ndata["type"])
        both_ways = dgl.to_bidirected(graph)
        for convolution in self.convolutions:
            feat = feat + torch.relu(convolution(both_ways, feat))
        if self.cell is not None:
            sizes = graph.batch_num_nodes()
            roots = torch.cumsum(sizes, 0) - sizes
            return self.output(self.cell(graph, feat)[roots])
        with graph.local_scope():
            graph.ndata["h"] = feat
            return self.output(dgl.mean_nodes(graph, "h"))


def accuracy(model: Model, train: Sequence[Example], test: Sequence[Example], epochs: int) -> float:
    """The test accuracy after training."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    for _ in range(epochs):
        for step in torch.randperm(len(train)).split(25):
            graphs, labels = zip(*(train[index] for index in step), strict=True)
            loss = nn.functional.cross_entropy(model(dgl.batch(graphs)), torch.tensor(labels))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    graphs, labels = zip(*test, strict=True)
    with torch.no_grad():
        return float((model(dgl.batch(graphs)).argmax(1) == torch.tensor(labels)).float().mean())


def main() -> None:
    """Trains and compares both models."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--functions", type=int, default=50, help="per module, at most")
    arguments = parser.parse_args()
    if min(arguments.epochs, arguments.functions) < 1:
        parser.error("expected at least one epoch, and one function per module")
    torch.manual_seed(0)
    examples = [
        (graph, label)
        for label, module in enumerate(MODULES)
        for graph in list(functions(module))[: arguments.functions]
    ]
    order = torch.randperm(len(examples)).tolist()
    cut = len(order) * 3 // 4
    train, test = ([examples[index] for index in part] for part in (order[:cut], order[cut:]))
    counts = torch.bincount(torch.tensor([label for _, label in test]))
    print(f"{len(train)} functions to train, {len(test)} to test")
    print(f"{'the most frequent module':24} {float(counts.max()) / len(test):.1%}")
    for name, use_cell in (("convolutions", False), ("convolutions and cell", True)):
        torch.manual_seed(0)
        right = accuracy(Model(use_cell=use_cell), train, test, arguments.epochs)
        print(f"{name:24} {right:.1%}")


if __name__ == "__main__":
    main()
