"""Pictures of trees and of the graphs made from them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from graphsent._dgl import dgl
from graphsent.drawing.palette import class_colors
from graphsent.drawing.pictures import file_format_of, import_canvas
from graphsent.errors import DataError
from graphsent.graphs.convert import to_networkx
from graphsent.graphs.tree_scene import build_scene

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_tree(
    tree: Any,
    *,
    labels: Sequence[Any] | torch.Tensor | np.ndarray | None = None,
    classes: int | Sequence[str] | None = None,
    edge_weights: Sequence[float] | torch.Tensor | np.ndarray | None = None,
    show_weights: bool = False,
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

    Every node shows its label (in a dependency tree its relation, too). Labels that are classes of
    sentiment are coloured as well, from red (negative) to blue (positive). A graph is drawn over
    the same tree with arrows in the direction of its edges; in sibling graphs the dashed ones
    connect siblings. The picture grows with the sentence, so that nothing overlaps.

    No window opens and no state of ``matplotlib.pyplot`` changes: the figure is returned, which
    shows it in a notebook, and written to ``path`` if there is one.

    Args:
        tree: ``Tree``, ``DependencyTree``, ``nltk.Tree``, bracketed string, or a graph built by
            :mod:`graphsent.graphs`.
        labels: Labels to show instead of the tree's own, for example predicted classes: one per
            node of the tree, or of the whole graph. ``""``, None and numbers below 0 show nothing.
        classes: How many ordered classes the labels number, or their names, lowest first. By
            default five classes of sentiment if all labels are numbers from 0 to 4, and no classes
            otherwise.
        edge_weights: A number per edge, shown by the width of its line (dashed where negative): in
            the order of the graph's edges; for a tree in that of its bottom-up graph, that is one
            per node with a parent, in node order.
        show_weights: Also writes the weights next to the lines.
        words: The words of the tree, for a graph, which knows them only by number.
        vocab: Names the words of a graph that was built with it: a Vocabulary or a dict.
        index: Which tree of a batched graph.
        title: A line above the picture.
        legend: Explains the colours, if there are any.
        ax: Axes to draw into, scaled to fit, instead of a new figure.
        path: File to write, ``.png`` or ``.svg``; replaced only when all is written.
        dpi: Dots per inch of the new figure.

    Returns:
        The figure.

    Raises:
        DataError: ``labels``, ``edge_weights``, ``classes``, ``words`` or ``vocab`` do not fit the
            tree, or ``path`` has another suffix.
        TreeError: The tree is malformed.
        ImportError: matplotlib is not installed.
    """
    file_format = None if path is None else file_format_of(path)
    canvas = import_canvas()
    digraph = to_networkx(tree, words=words, vocab=vocab, index=index)
    if labels is not None:
        _set_labels(digraph, _own_part(labels, tree, index, "nodes"))
    if edge_weights is not None:
        _set_weights(digraph, _own_part(edge_weights, tree, index, "edges"))
    scene = build_scene(
        digraph,
        class_colors(classes, [label for _, label in digraph.nodes(data="label")]),
        canvas.text_width,
        arrows=isinstance(tree, dgl.DGLGraph),
        show_weights=show_weights,
        legend=legend,
        title=title,
    )
    figure = canvas.render(scene, ax, dpi)
    if path is not None:
        canvas.save(figure, path, file_format)
    return figure


def _own_part(values: Any, tree: Any, index: int, unit: str) -> list[Any]:
    """The part of a batch's ``values`` that belongs to one tree of it."""
    values = values.tolist() if isinstance(values, torch.Tensor | np.ndarray) else list(values)
    if not isinstance(tree, dgl.DGLGraph):
        return values
    counts = tree.batch_num_nodes() if unit == "nodes" else tree.batch_num_edges()
    total = int(counts.sum())
    if len(values) != total:
        raise DataError(f"the graph has {total} {unit}, got {len(values)} values for them")
    begin = int(counts[:index].sum())
    return values[begin : begin + int(counts[index])]


def _set_labels(digraph: networkx.DiGraph, labels: Sequence[Any]) -> None:
    if len(labels) != len(digraph):
        raise DataError(f"labels: the tree has {len(digraph)} nodes, got {len(labels)} labels")
    for node, label in enumerate(labels):
        is_missing = label is None or (not isinstance(label, str) and label < 0)
        digraph.nodes[node]["label"] = "" if is_missing else str(label)


def _set_weights(digraph: networkx.DiGraph, weights: Sequence[float]) -> None:
    num_edges = digraph.number_of_edges()
    if len(weights) != num_edges:
        raise DataError(f"edge_weights: the tree has {num_edges} edges, got {len(weights)} weights")
    if not np.isfinite(weights).all():
        raise DataError("edge_weights: expected finite numbers")
    for _, _, data in digraph.edges(data=True):
        data["weight"] = float(weights[data["id"]])
