"""Dependency trees as DGL graphs."""

from __future__ import annotations

from collections.abc import Iterable

from graphsent._dgl import dgl
from graphsent.errors import DataError
from graphsent.graphs import fields
from graphsent.graphs.flat import trees_to_graph
from graphsent.graphs.symbols import SymbolIndex
from graphsent.trees import DependencyTree


def dependency_graph(
    tree: DependencyTree,
    direction: str = fields.BOTTOM_UP,
    vocab: SymbolIndex | None = None,
    label_index: SymbolIndex | None = None,
) -> dgl.DGLGraph:
    """Builds the graph of one dependency tree; arguments and data as in :func:`dependency_batch`.

    Example:
        >>> from graphsent.trees import DependencyTree
        >>> graph = dependency_graph(DependencyTree(["a", "lovely", "film"], [2, 2, -1]))
        >>> graph.edges()  # dependent -> head; nodes in the order of the sentence
        (tensor([0, 1]), tensor([2, 2]))
    """
    return dependency_batch([tree], direction, vocab, label_index)


def dependency_batch(
    trees: Iterable[DependencyTree],
    direction: str = fields.BOTTOM_UP,
    vocab: SymbolIndex | None = None,
    label_index: SymbolIndex | None = None,
) -> dgl.DGLGraph:
    """Builds one batched graph of many dependency trees at once.

    Equal to ``batch([dependency_graph(tree, ...) for tree in trees])``, including data, edge order
    and batch information, in a fraction of the time. Everything that depends on a single tree is
    computed once and cached on the tree.

    Nodes are the words in sentence order. Edges run

    * ``"bottom_up"``: from every dependent to its head;
    * ``"top_down"``: from every head to its dependents;
    * ``"sibling"``: as in TreeNet, over the phrases the tree implies. A word with dependents
      becomes a phrase without a ``token``; its children, in sentence order, are its dependents and
      a node for the word itself. Every word is moved to a token node below its node, or below the
      node for the word itself. Nodes are numbered: words, nodes for words with dependents, tokens,
      each in sentence order. The first group keeps its labels.

    Edges are ordered by their child node, so that the mailbox of a node, which follows edge ids,
    holds its dependents from left to right (sibling graphs: left sibling, then rightmost child).
    Node and edge data are listed in :mod:`graphsent.graphs.fields`. In a non-projective tree the
    ``span`` of a word may include words that are not below it.

    Args:
        trees: Dependency trees. An empty list gives a graph of batch size 0, without nodes, but
            with every field.
        direction: ``"bottom_up"``, ``"top_down"`` or ``"sibling"``.
        vocab: Maps words to integers, ``vocab[word]``. Without it every ``token`` is -1.
        label_index: Maps labels to integers, ``label_index[label]``. Without it a label that is a
            decimal integer from 0 becomes that integer, any other -1.

    Raises:
        DataError: The direction is unknown; something is not a dependency tree; or ``vocab`` or
            ``label_index`` has no entry, or a non-integer one, for a word or label.
    """
    fields.check_direction(direction)
    if isinstance(trees, DependencyTree):
        raise DataError("expected several trees, got one: put it in a list")
    trees = list(trees)
    for tree in trees:
        if not isinstance(tree, DependencyTree):
            raise DataError(f"expected a DependencyTree, got {type(tree).__name__}")
    return trees_to_graph(trees, direction, vocab, label_index)
