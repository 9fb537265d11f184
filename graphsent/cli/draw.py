"""Draw a tree with its own labels or a model's predictions, or write a page of all trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphsent.cli.sources import name_of
from graphsent.cli.usage import UsageError, check_target, counted, refuse
from graphsent.cli.whole_files import trees_from
from graphsent.drawing import write_page
from graphsent.drawing.page import class_numbers
from graphsent.errors import DataError
from graphsent.graphs import SIBLING, draw_tree
from graphsent.trees import DependencyTree, Tree, parse_trees

__all__ = ["run"]

_OF_MODEL = ("weights", "gold", "probabilities")


def run(arguments: Any) -> None:
    """Writes the picture."""
    if arguments.model is None:
        refuse(arguments, _OF_MODEL, "needs --model: a tree alone has nothing but labels")
        refuse(arguments, ("encoder", "model_class"), "needs --model")
    if arguments.weights and arguments.direction == SIBLING:
        raise UsageError(
            "--weights are those of parent-child edges: not available with --direction sibling"
        )
    check_target(arguments.out, "--out", (arguments.file,))
    if arguments.out.lower().endswith(".html"):
        _write_page(arguments)
        return
    tree = _chosen_tree(arguments)
    shown: dict[str, Any] = {}
    if arguments.model is not None:
        tree, shown = _judged(tree, arguments)
    draw_tree(
        tree,
        direction=arguments.direction,
        title=arguments.title,
        path=arguments.out,
        **shown,
    )
    print(f"wrote {arguments.out}")


def _write_page(arguments: Any) -> None:
    """Writes a page of a model's predictions for all trees."""
    of_picture = (*_OF_MODEL, "direction", "number")
    refuse(arguments, of_picture, "is for the picture of one tree: a page shows all trees")
    if arguments.model is None:
        raise UsageError(f"--out {arguments.out}: a page shows predictions and needs --model")
    predictions = _classifier(arguments).predict(_given_trees(arguments))
    number = write_page(predictions, arguments.out, title=arguments.title or "Predictions")
    print(f"wrote {arguments.out}: {counted(number, 'tree')}")


def _classifier(arguments: Any) -> Any:
    """Loads the model, which must be a classifier."""
    from graphsent.cli.own_tasks import class_asked_for
    from graphsent.models import Classifier
    from graphsent.training import load_model

    model = load_model(arguments.model, arguments.encoder, class_asked_for(arguments))
    if not isinstance(model, Classifier) or model.goal == "regression":
        raise UsageError(f"{arguments.model}: the model {model.name!r} predicts no classes to draw")
    return model


def _judged(tree: Any, arguments: Any) -> tuple[Any, dict[str, Any]]:
    """The tree with predicted labels, and arguments for drawing the rest of the prediction."""
    from graphsent.models import TreeClassifier

    path, model = arguments.model, _classifier(arguments)
    (tree,) = model.as_learned([tree])
    shown: dict[str, Any] = {}
    if arguments.weights:
        if not isinstance(model, TreeClassifier):
            raise UsageError(f"{path}: the model {model.name!r} has no edge weights")
        # Weights are those of the edges of the tree as the model reads it.
        tree = model.shape_tree(tree)
        shown = {
            "edge_weights": model.edge_weights([tree])[0],
            "weight_name": model.encoder.edge_weight_name,
            "show_weights": True,
        }
    prediction = model.predict([tree])[0]
    if arguments.gold:
        known = class_numbers(prediction.label_names)
        shown["gold"] = [str(known.get(label, "")) for label in tree.labels]
        if not any(shown["gold"]):
            names = ", ".join(prediction.label_names)
            raise UsageError(f"--gold: the tree has no label of the model, which are {names}")
    if arguments.probabilities:
        shown["probabilities"] = prediction.probabilities.max(axis=1)
    return prediction.to_tree(), {
        **shown,
        "classes": prediction.label_names,
        "ordered_classes": prediction.ordered_classes,
    }


def _chosen_tree(arguments: Any) -> Tree | DependencyTree:
    trees = _given_trees(arguments)
    number = 1 if arguments.number is None else arguments.number
    if not 1 <= number <= len(trees):
        source = "--tree" if arguments.tree is not None else name_of(arguments.file or "-")
        raise DataError(f"{source}: no tree {number}: there are {len(trees)}")
    return trees[number - 1]


def _given_trees(arguments: Any) -> Sequence[Tree | DependencyTree]:
    if arguments.tree is not None and arguments.file is not None:
        raise UsageError("expected a file or --tree, got both")
    if arguments.tree is not None:
        return parse_trees(arguments.tree, "--tree", empty_nodes="token", require_labels=False)
    return trees_from(arguments.file or "-")
