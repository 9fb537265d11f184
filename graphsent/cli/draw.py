"""Draw a tree, with its own labels or the classes that a model predicts."""

from __future__ import annotations

from typing import Any

from graphsent.cli.trees_in import trees_from
from graphsent.cli.usage import UsageError, check_target
from graphsent.errors import DataError
from graphsent.graphs import draw_tree
from graphsent.trees import DependencyTree, Tree, parse_trees

__all__ = ["run"]


def run(arguments: Any) -> None:
    """Writes the picture."""
    if arguments.weights and arguments.model is None:
        raise UsageError("--weights needs --model: a tree by itself has no weights of edges")
    check_target(arguments.out, "--out", (arguments.file,))
    tree, classes, weights = _chosen_tree(arguments), None, None
    if arguments.model is not None:
        tree, classes, weights = _judged(tree, arguments)
    draw_tree(
        tree,
        classes=classes,
        edge_weights=weights,
        show_weights=weights is not None,
        title=arguments.title,
        path=arguments.out,
    )
    print(f"wrote {arguments.out}")


def _judged(tree: Any, arguments: Any) -> tuple[Any, tuple[str, ...], Any]:
    """The tree with predicted labels, the names of the classes, and weights if asked for."""
    from graphsent.models import Classifier, TreeClassifier
    from graphsent.training import load_model

    path = arguments.model
    model = load_model(path, arguments.encoder)
    if not isinstance(model, Classifier) or model.goal == "regression":
        raise UsageError(f"{path}: the model {model.name!r} has no classes of nodes to draw")
    if not arguments.weights:
        prediction = model.predict([tree])[0]
        return prediction.to_tree(), prediction.label_names, None
    if not isinstance(model, TreeClassifier):
        raise UsageError(f"{path}: the model {model.name!r} has no weights of edges")
    # Weights belong to the edges of the tree as the model reads it.
    tree = model.shape_tree(tree)
    prediction = model.predict([tree])[0]
    return prediction.to_tree(), prediction.label_names, model.edge_weights([tree])[0]


def _chosen_tree(arguments: Any) -> Tree | DependencyTree:
    if arguments.tree is not None and arguments.file is not None:
        raise UsageError("expected a file or --tree, got both")
    if arguments.tree is not None:
        trees = parse_trees(arguments.tree, "--tree", empty_nodes="token", require_labels=False)
    else:
        trees = trees_from(arguments.file or "-")
    if not 1 <= arguments.number <= len(trees):
        raise DataError(f"there is no tree {arguments.number}: there are {len(trees)}")
    return trees[arguments.number - 1]
