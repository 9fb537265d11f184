"""Pictures of trees and of the graphs built from them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from graphsent._dgl import dgl
from graphsent.drawing.palette import class_colors
from graphsent.drawing.pictures import Parts, finish
from graphsent.drawing.scene import TextWidth
from graphsent.errors import DataError
from graphsent.graphs.constituency import constituency_graph
from graphsent.graphs.convert import select, to_networkx
from graphsent.graphs.dependency import dependency_graph
from graphsent.graphs.spans import word_ranges
from graphsent.graphs.tree_scene import tree_parts
from graphsent.trees import DependencyTree, as_tree

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_tree(
    tree: Any,
    *,
    labels: Sequence[Any] | torch.Tensor | np.ndarray | None = None,
    classes: int | Sequence[str] | None = None,
    ordered_classes: bool = True,
    edge_weights: Sequence[float] | torch.Tensor | np.ndarray | None = None,
    show_weights: bool = False,
    weight_name: str = "weight",
    gold: Sequence[Any] | torch.Tensor | np.ndarray | None = None,
    probabilities: Sequence[float] | torch.Tensor | np.ndarray | None = None,
    direction: str | None = None,
    words: Sequence[str] | None = None,
    vocab: Any = None,
    index: int = 0,
    title: str | None = None,
    legend: bool = True,
    ax: Axes | None = None,
    path: str | os.PathLike[str] | None = None,
    dpi: float = 150,
) -> Figure:
    """Draws a tree: root on top, the sentence in a line at the bottom.

    Every node shows its label (in a dependency tree also its relation). Labels that are classes are
    coloured, ordered ones from red (negative) to blue (positive). A graph is drawn as its tree with
    arrows in the direction of its edges; in sibling graphs dashed arrows connect siblings. The
    picture grows with the sentence, so that nothing overlaps.

    No window opens and the state of ``matplotlib.pyplot`` does not change: the figure is returned,
    which displays it in a notebook, and written to ``path`` if given.

    Args:
        tree: ``Tree``, ``DependencyTree``, ``nltk.Tree``, bracketed string, or a graph built by
            :mod:`graphsent.graphs`.
        labels: Labels to show instead of the tree's own, such as predicted classes: one per node
            of the tree, or of the whole graph. ``""``, None and negative numbers show nothing.
        classes: Number of classes, or their names in order. By default the five sentiment classes
            if all labels are numbers from 0 to 4, and no classes otherwise.
        ordered_classes: Whether the classes are ordered from low to high, and coloured accordingly.
        edge_weights: One number per edge, shown as the width of its line (dashed if negative), in
            the order of the graph's edges; for a tree in that of its bottom-up graph: one per node
            with a parent, in node order.
        show_weights: Whether to write the weights next to the lines.
        weight_name: Name of the weights in the legend.
        gold: Gold labels to compare with, as many as ``labels``. A node with a different label is
            framed and shows both, as in ``3 ≠ 1``: predicted 3, gold 1. None, ``""`` and negative
            numbers mean there is no gold label.
        probabilities: One number per node, written after its label, or None to write nothing.
        direction: One of :data:`~graphsent.graphs.DIRECTIONS`: draws the tree's graph in that
            direction instead of the tree. ``labels``, ``gold`` and ``probabilities`` are still one
            per node of the tree.
        words: The words of a graph's tree; the graph has only their indices.
        vocab: The Vocabulary or dict that a graph was built with, to look up its words.
        index: Which tree of a batched graph to draw.
        title: Title above the picture.
        legend: Whether to explain colours, numbers and line widths, if there are any.
        ax: Axes to draw into, scaled to fit, instead of a new figure.
        path: File to write, ``.png`` or ``.svg``; an existing file is replaced atomically.
        dpi: Resolution of the new figure, in dots per inch.

    Returns:
        The figure.

    Raises:
        DataError: ``labels``, ``gold``, ``probabilities``, ``edge_weights``, ``classes``, ``words``
            or ``vocab`` do not fit the tree; words of a graph's tree are missing; ``direction`` is
            unknown or given for a graph; ``dpi`` is not positive; or ``path`` has another suffix.
        TreeError: The tree is malformed.
        ImportError: matplotlib is not installed.
    """
    digraph = _digraph(tree, direction, words, vocab, index)
    if labels is not None:
        _set_labels(digraph, _own_part(labels, tree, index, "nodes"))
    if gold is not None:
        _set_gold(digraph, _own_part(gold, tree, index, "nodes"))
    if probabilities is not None:
        _set_probabilities(digraph, _own_part(probabilities, tree, index, "nodes"))
    if edge_weights is not None:
        _set_weights(digraph, _own_part(edge_weights, tree, index, "edges"))
    shown = [data["label"] for _, data in digraph.nodes(data=True)]
    colors = class_colors(classes, shown, ordered_classes=ordered_classes)

    def compose(text_width: TextWidth) -> Parts:
        return tree_parts(
            digraph,
            colors,
            text_width,
            arrows=isinstance(tree, dgl.DGLGraph) or direction is not None,
            show_weights=show_weights,
            legend=legend,
        )

    notes = _notes(digraph, weight_name) if legend else ()
    return finish(compose, title, ax, path, dpi, notes)


def _digraph(
    tree: Any, direction: str | None, words: Sequence[str] | None, vocab: Any, index: int
) -> networkx.DiGraph:
    """The tree, or the graph, that :func:`draw_tree` draws for these arguments."""
    if isinstance(tree, dgl.DGLGraph):
        if direction is not None:
            raise DataError("direction: expected None for a graph, whose edges have a direction")
        word_ranges(select(tree, index))  # checks that no words are missing
    elif direction is not None:
        return _in_direction(tree, direction)
    return to_networkx(tree, words=words, vocab=vocab, index=index)


def _own_part(values: Any, tree: Any, index: int, unit: str) -> list[Any]:
    """The part of a batch's ``values`` that belongs to one of its trees."""
    values = values.tolist() if isinstance(values, torch.Tensor | np.ndarray) else list(values)
    if any(np.ndim(value) for value in values):
        raise DataError(f"expected one value per {unit[:-1]}, got several: {values[0]!r:.40}")
    values = [value.item() if isinstance(value, torch.Tensor) else value for value in values]
    if not isinstance(tree, dgl.DGLGraph):
        return values
    counts = tree.batch_num_nodes() if unit == "nodes" else tree.batch_num_edges()
    total = int(counts.sum())
    if len(values) != total:
        raise DataError(f"expected {total} values, one per {unit[:-1]}, got {len(values)}")
    begin = int(counts[:index].sum())
    return values[begin : begin + int(counts[index])]


def _in_direction(tree: Any, direction: str) -> networkx.DiGraph:
    """The graph of a tree; the tree's nodes come first and keep their labels and relations."""
    if isinstance(tree, DependencyTree):
        graph = dependency_graph(tree, direction)
    else:
        tree = as_tree(tree)
        graph = constituency_graph(tree, direction)
    digraph = to_networkx(graph, words=tree.words)
    for node, data in to_networkx(tree).nodes(data=True):
        digraph.nodes[node].update({k: data[k] for k in ("label", "relation") if k in data})
    digraph.graph["num_tree_nodes"] = tree.num_nodes
    return digraph


def _name(label: Any) -> str:
    """The text of a label, "" if there is none."""
    is_missing = label is None or (not isinstance(label, str) and label < 0)
    return "" if is_missing else str(label)


def _checked(digraph: networkx.DiGraph, values: Sequence[Any], what: str) -> Sequence[Any]:
    """The values, checked to be one per node of the tree."""
    count = digraph.graph.get("num_tree_nodes", len(digraph))
    if len(values) != count:
        raise DataError(f"{what}: the tree has {count} nodes, got {len(values)} {what}")
    return values


def _set_labels(digraph: networkx.DiGraph, labels: Sequence[Any]) -> None:
    for node, label in enumerate(_checked(digraph, labels, "labels")):
        digraph.nodes[node]["label"] = _name(label)


def _set_gold(digraph: networkx.DiGraph, gold: Sequence[Any]) -> None:
    for node, label in enumerate(map(_name, _checked(digraph, gold, "gold"))):
        data = digraph.nodes[node]
        if label and data["label"] and label != data["label"]:
            data["gold"] = label


def _set_probabilities(digraph: networkx.DiGraph, probabilities: Sequence[float]) -> None:
    for node, share in enumerate(_checked(digraph, probabilities, "probabilities")):
        if share is not None:
            digraph.nodes[node]["probability"] = float(share)


def _notes(digraph: networkx.DiGraph, weight_name: str) -> list[str]:
    """Lines of the legend that explain numbers and line widths."""
    notes = []
    nodes = [data for _, data in digraph.nodes(data=True)]
    wrong = next((data for data in nodes if "gold" in data), None)
    if wrong is not None:
        predicted, gold = wrong["label"], wrong["gold"]
        notes.append(f"{predicted} ≠ {gold}: predicted {predicted}, gold {gold}")
    shares = [data["probability"] for data in nodes if "probability" in data]
    if shares:
        notes.append(f"{shares[0]:.2f}: probability of the label")
    weights = [data["weight"] for _, _, data in digraph.edges(data=True) if "weight" in data]
    if weights:
        text = f"width of a line: {weight_name}, from {min(weights):.2f} to {max(weights):.2f}"
        notes.append(text + ("; dashed: negative" if min(weights) < 0 else ""))
    return notes


def _set_weights(digraph: networkx.DiGraph, weights: Sequence[float]) -> None:
    num_edges = digraph.number_of_edges()
    if len(weights) != num_edges:
        raise DataError(f"edge_weights: the tree has {num_edges} edges, got {len(weights)} weights")
    if not np.isfinite(np.array(weights, dtype=float)).all():  # None becomes NaN
        raise DataError("edge_weights: expected finite numbers")
    for _, _, data in digraph.edges(data=True):
        data["weight"] = float(weights[data["id"]])
