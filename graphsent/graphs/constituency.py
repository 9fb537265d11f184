"""Constituency trees as DGL graphs."""

from __future__ import annotations

from collections.abc import Iterable

from graphsent._dgl import dgl
from graphsent.graphs import fields
from graphsent.graphs.flat import trees_to_graph
from graphsent.graphs.symbols import SymbolIndex
from graphsent.trees.tree import TreeLike, as_trees


def constituency_graph(
    tree: TreeLike,
    direction: str = fields.BOTTOM_UP,
    vocab: SymbolIndex | None = None,
    label_index: SymbolIndex | None = None,
) -> dgl.DGLGraph:
    """Builds the graph of a constituency tree; arguments and data as in :func:`constituency_batch`.

    Example:
        >>> graph = constituency_graph("(3 (2 a) (3 (3 lovely) (2 film)))")
        >>> graph.edges()  # child -> parent; nodes in order of their opening brackets
        (tensor([1, 2, 3, 4]), tensor([0, 0, 2, 2]))
        >>> graph.ndata["label"]
        tensor([3, 2, 3, 3, 2])
    """
    return constituency_batch([tree], direction, vocab, label_index)


def constituency_batch(
    trees: Iterable[TreeLike],
    direction: str = fields.BOTTOM_UP,
    vocab: SymbolIndex | None = None,
    label_index: SymbolIndex | None = None,
) -> dgl.DGLGraph:
    r"""Builds one batched graph of many constituency trees at once.

    Equal to ``batch([constituency_graph(tree, ...) for tree in trees])``, including data, edge
    order and batch information, in a fraction of the time. Everything that depends on a single tree
    is computed once and cached on the tree.

    The nodes of a tree are its brackets in order of opening (preorder, root first). Edges run

    * ``"bottom_up"``: from every child to its parent;
    * ``"top_down"``: from every parent to its children;
    * ``"sibling"`` (TreeNet, Cheng et al. 2018, section 4): from every node to its right sibling,
      and from every rightmost child to its parent. Words are separate nodes here, after the
      tree's nodes and in sentence order; each is the only child of its bracket, which then has no
      ``token`` and no ``position``.

    Edges are ordered by their child node, so that the mailbox of a node, which follows edge ids,
    holds its children from left to right (sibling graphs: left sibling, then rightmost child).
    Node and edge data are listed in :mod:`graphsent.graphs.fields`.

    Args:
        trees: Each a ``Tree``, an ``nltk.Tree`` or a bracketed string. An empty list gives a graph
            of batch size 0, without nodes, but with every field.
        direction: ``"bottom_up"``, ``"top_down"`` or ``"sibling"``.
        vocab: Maps words to integers, ``vocab[word]``. Without it every ``token`` is -1.
        label_index: Maps labels to integers, ``label_index[label]``. Without it a label that is a
            decimal integer from 0 becomes that integer, any other -1.

    Raises:
        DataError: The direction is unknown; or ``vocab`` or ``label_index`` has no entry, or a
            non-integer one, for a word or label.
        TreeError: A tree is malformed.
    """
    fields.check_direction(direction)
    return trees_to_graph(as_trees(trees), direction, vocab, label_index)
