"""Conversion of trees and graphs to networkx graphs with readable attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphsent._dgl import dgl
from graphsent.errors import DataError
from graphsent.graphs import fields
from graphsent.graphs.batching import node_data
from graphsent.trees import DependencyTree, as_tree

if TYPE_CHECKING:
    import networkx


def to_networkx(
    tree: Any,
    *,
    words: Sequence[str] | None = None,
    vocab: Any = None,
    index: int = 0,
) -> networkx.DiGraph:
    """Converts a tree, or one tree of a graph, to a ``networkx.DiGraph``.

    Nodes are numbered as in the tree or graph and have the attributes ``word`` (None without a
    word), ``label`` ("" if unlabelled), ``parent`` (None at the root), ``position`` (None without a
    word), ``depth`` and ``span``; those of a dependency tree also ``relation``. Edges of a tree run
    from parent to child, those of a graph in its direction. Each has ``child_index`` and ``id``,
    its id in the graph (for a tree: in its bottom-up graph); in sibling graphs also ``kind``.

    Args:
        tree: ``Tree``, ``DependencyTree``, ``nltk.Tree``, bracketed string, or DGLGraph.
        words: The words of a graph's tree; the graph has only their indices.
        vocab: The Vocabulary or dict that a graph was built with, to look up its words.
        index: Which tree of a batched graph to convert.

    Raises:
        DataError: The graph is not a tree, or ``words`` or ``vocab`` do not fit it.
        TreeError: The tree is malformed.

    Example:
        >>> import networkx
        >>> digraph = to_networkx("(3 (2 a) (3 (3 lovely) (2 film)))")
        >>> [digraph.nodes[node]["word"] for node in digraph]
        [None, 'a', None, 'lovely', 'film']
        >>> networkx.is_arborescence(digraph)
        True
    """
    if isinstance(tree, dgl.DGLGraph):
        return _from_graph(select(tree, index), words, vocab)
    if isinstance(tree, DependencyTree):
        return _from_dependency_tree(tree)
    return _from_constituency_tree(as_tree(tree))


def select(graph: dgl.DGLGraph, index: int) -> dgl.DGLGraph:
    """Selects one tree of a batched graph.

    Raises:
        DataError: The index is out of range.
    """
    if not 0 <= index < graph.batch_size:
        raise DataError(f"no tree {index} in a batch of {graph.batch_size}")
    return graph if graph.batch_size == 1 else dgl.slice_batch(graph, index)


def tree_parents(graph: dgl.DGLGraph) -> np.ndarray:
    """Parent of each node of a tree's graph in any direction, (num_nodes,) int64, -1 at the root.

    Raises:
        DataError: The graph is not a tree built by :mod:`graphsent.graphs`.
    """
    source, target = (ends.numpy(force=True) for ends in graph.edges(order="eid"))
    depth = node_data(graph, fields.DEPTH).numpy(force=True)
    child_index = _edge_data(graph, fields.CHILD_INDEX)
    kind = np.full(len(source), fields.CHILD_EDGE)
    if fields.KIND in graph.edata:
        kind = _edge_data(graph, fields.KIND)
    is_child = kind == fields.CHILD_EDGE
    if np.any((depth[source] < depth[target])[is_child]):  # edges run down the tree
        source, target = target, source

    parent = np.full(graph.num_nodes(), -1)
    parent[source[is_child]] = target[is_child]
    to_sibling = np.flatnonzero(~is_child)
    for edge in to_sibling[np.argsort(-child_index[to_sibling], kind="stable")]:
        parent[source[edge]] = parent[target[edge]]
    has_parent = parent >= 0
    steps = depth[has_parent] - depth[parent[has_parent]]
    if len(source) != len(parent) - 1 or has_parent.sum() != len(source) or np.any(steps != 1):
        raise DataError("the graph is not a tree: expected one built by graphsent.graphs")
    return parent


def _edge_data(graph: dgl.DGLGraph, field: str) -> np.ndarray:
    if field not in graph.edata:
        raise DataError(f"the graph has no edge data {field!r}: build it with graphsent.graphs")
    return graph.edata[field].numpy(force=True)


def _from_constituency_tree(tree: Any) -> networkx.DiGraph:
    position = np.where([token is None for token in tree.tokens], -1, tree.spans[:, 0])
    digraph = _with_nodes(tree.tokens, tree.labels, tree.parents, position, tree.depths, tree.spans)
    return _with_tree_edges(digraph, tree.parents, tree.child_index)


def _from_dependency_tree(tree: DependencyTree) -> networkx.DiGraph:
    position = np.arange(len(tree.words))
    digraph = _with_nodes(tree.words, tree.labels, tree.heads, position, tree.depths, tree.spans)
    for node, relation in enumerate(tree.relations):
        digraph.nodes[node]["relation"] = relation
    return _with_tree_edges(digraph, tree.heads, tree.child_index)


def _from_graph(graph: dgl.DGLGraph, words: Sequence[str] | None, vocab: Any) -> networkx.DiGraph:
    data = {name: node_data(graph, name).numpy(force=True) for name in fields.NODE_FIELDS}
    labels = [str(label) if label >= 0 else "" for label in data[fields.LABEL]]
    named = _name_words(data[fields.TOKEN], data[fields.POSITION], words, vocab)
    digraph = _with_nodes(
        named,
        labels,
        tree_parents(graph),
        data[fields.POSITION],
        data[fields.DEPTH],
        data[fields.SPAN],
    )
    source, target = (ends.tolist() for ends in graph.edges(order="eid"))
    names = [name for name in (fields.CHILD_INDEX, fields.KIND) if name in graph.edata]
    columns = {name: graph.edata[name].tolist() for name in names}
    for edge, ends in enumerate(zip(source, target, strict=True)):
        attributes = {name: values[edge] for name, values in columns.items()}
        digraph.add_edge(*ends, id=edge, **attributes)
    return digraph


def _name_words(
    tokens: np.ndarray, positions: np.ndarray, words: Sequence[str] | None, vocab: Any
) -> list[str | None]:
    """The word of each node: from the sentence, from the vocabulary, or a placeholder."""
    num_words = int(positions.max(initial=-1)) + 1
    if words is not None and len(words) != num_words:
        raise DataError(f"words: the tree has {num_words} words, got {len(words)}")
    names: Any = None
    if isinstance(vocab, Mapping):
        names = {number: word for word, number in vocab.items()}
    elif vocab is not None:
        names = dict(enumerate(vocab.words))

    def name(token: int, position: int) -> str | None:
        if position < 0:
            return None
        if words is not None:
            return words[position]
        if names is None:
            return f"word {position}"
        if token not in names:
            raise DataError(f"vocab: word {position} of the graph has token {token}, not in vocab")
        return names[token]

    return list(map(name, tokens.tolist(), positions.tolist()))


def _with_nodes(
    words: Sequence[str | None],
    labels: Sequence[str],
    parents: np.ndarray,
    positions: np.ndarray,
    depths: np.ndarray,
    spans: np.ndarray,
) -> networkx.DiGraph:
    import networkx

    digraph = networkx.DiGraph()
    columns = (words, labels, parents.tolist(), positions.tolist(), depths.tolist(), spans.tolist())
    for node, (word, label, parent, position, depth, span) in enumerate(zip(*columns, strict=True)):
        digraph.add_node(
            node,
            word=word,
            label=label,
            parent=None if parent < 0 else parent,
            position=None if position < 0 else position,
            depth=depth,
            span=tuple(span),
        )
    return digraph


def _with_tree_edges(
    digraph: networkx.DiGraph, parents: np.ndarray, child_index: np.ndarray
) -> networkx.DiGraph:
    for edge, child in enumerate(np.flatnonzero(parents >= 0).tolist()):
        digraph.add_edge(int(parents[child]), child, id=edge, child_index=int(child_index[child]))
    return digraph
