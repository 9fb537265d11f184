from graphsent import (
    cells,
    drawing,
    errors,
    graphs,
    layers,
    models,
    parsing,
    pretrained,
    propagation,
    tasks,
    testing,
    training,
    trees,
)
from graphsent._imported_dgl import dgl
from graphsent.cells import ChildSumTreeLSTM, NaryTreeLSTM
from graphsent.errors import GraphsentError, GraphsentWarning
from graphsent.graphs import constituency_batch, constituency_graph, dependency_graph
from graphsent.models import TreeLSTMClassifier, load_pretrained
from graphsent.pretrained import load
from graphsent.tasks import get_task
from graphsent.trees import Tree, read_conllu, read_trees
from graphsent.vocabulary import Vocabulary

__version__: str

__all__ = [
    "ChildSumTreeLSTM",
    "GraphsentError",
    "GraphsentWarning",
    "NaryTreeLSTM",
    "Tree",
    "TreeLSTMClassifier",
    "Vocabulary",
    "__version__",
    "cells",
    "constituency_batch",
    "constituency_graph",
    "dependency_graph",
    "dgl",
    "drawing",
    "errors",
    "get_task",
    "graphs",
    "layers",
    "load",
    "load_pretrained",
    "models",
    "parsing",
    "pretrained",
    "propagation",
    "read_conllu",
    "read_trees",
    "tasks",
    "testing",
    "training",
    "trees",
]
