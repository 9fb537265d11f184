"""The feature graph that pooling induces over a sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from graphsent._dgl import dgl
from graphsent.errors import ModelError
from graphsent.graphs.symbols import token_indices
from graphsent.models.base.inference import evaluating
from graphsent.models.batches.forms import as_sentences
from graphsent.models.dcnn import DCNN
from graphsent.models.inspection.induction import induce
from graphsent.models.inspection.table import Table

if TYPE_CHECKING:
    import networkx

__all__ = ["FeatureGraph", "feature_graph"]

_OF_NODES = ("layer", "map", "row", "position", "value")


@dataclass(frozen=True, eq=False)
class FeatureGraph:
    """A rooted directed acyclic graph over the words of a sentence.

    Nodes are numbered layer by layer, from the words, in order, up to the root, the last node. A
    node in between is a value kept by pooling, in one row of a map. Edges run upwards. Words that
    no kept value depends on have no edges; every other node has a path to the root.

    Attributes:
        words: The words of the sentence.
        label: Name of the predicted class, represented by the root.
        layer: (num_nodes,) int64, 0 for words, then the layer number; one more for the root.
        map: (num_nodes,) int64, from 0; -1 for words and the root.
        row: (num_nodes,) int64, after folding, from 0; -1 for words and the root.
        position: (num_nodes,) int64, from 0: of a word in the sentence, of a value in the wide
            convolution that it was selected from; -1 for the root.
        value: (num_nodes,), after bias and non-linearity; the score of the class at the root; NaN
            for words, which are vectors.
        source: (num_edges,) int64.
        target: (num_edges,) int64, non-decreasing.
        weight: (num_edges,), contribution of the source to the target's value before bias and
            non-linearity.
        coefficient: (num_edges, 2), the factor of the source's value: a filter coefficient, or an
            output weight at the root. Folded rows read two elements of a word vector, with a
            coefficient each; otherwise the second is 0.
    """

    words: tuple[str, ...]
    label: str
    layer: np.ndarray
    map: np.ndarray
    row: np.ndarray
    position: np.ndarray
    value: np.ndarray
    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    coefficient: np.ndarray

    @property
    def root(self) -> int:
        """The root, which is the last node."""
        return len(self.layer) - 1

    def of_feature(self, map: int, row: int) -> FeatureGraph:
        """The subgraph of paths to the root through one row of one map of the last layer.

        Args:
            map: Index of the map, from 0.
            row: Index of the row, from 0.

        Raises:
            ModelError: There is no such map or row, or the sentence has no words.
        """
        is_root_edge = self.target == self.root
        of_feature = (self.map[self.source] == map) & (self.row[self.source] == row)
        if not (is_root_edge & of_feature).any():
            top = self.layer == self.layer[self.root] - 1
            maps, rows = (1 + max(part[top], default=-1) for part in (self.map, self.row))
            raise ModelError(
                f"there is no map {map} with row {row} in the last layer: it has {maps} maps and "
                f"{rows} rows, counted from 0"
            )
        return self._with_edges(~is_root_edge | of_feature)

    def spans(self) -> np.ndarray:
        """The half-open range of words below each node, (num_nodes, 2) int64; 0, 0 if empty."""
        begin = np.where(self.layer == 0, self.position, len(self.words))
        end = np.where(self.layer == 0, self.position + 1, 0)
        for layer in range(1, int(self.layer[self.root]) + 1):
            edges = self.layer[self.target] == layer
            np.minimum.at(begin, self.target[edges], begin[self.source[edges]])
            np.maximum.at(end, self.target[edges], end[self.source[edges]])
        return np.stack((np.where(end, begin, 0), end), 1)

    def to_networkx(self) -> networkx.DiGraph:
        """Converts the graph to a ``networkx.DiGraph``.

        Nodes have ``layer``, ``map``, ``row``, ``position`` and ``value``; words also ``word``, and
        the root ``label``. Edges have ``weight`` and ``coefficient``, a pair.
        """
        import networkx

        digraph = networkx.DiGraph()
        columns = [getattr(self, name).tolist() for name in _OF_NODES]
        for node, values in enumerate(zip(*columns, strict=True)):
            digraph.add_node(node, **dict(zip(_OF_NODES, values, strict=True)))
        for node, word in enumerate(self.words):
            digraph.nodes[node]["word"] = word
        digraph.nodes[self.root]["label"] = self.label
        edges = (self.source, self.target, self.weight, self.coefficient)
        for source, target, weight, pair in zip(*(part.tolist() for part in edges), strict=True):
            digraph.add_edge(source, target, weight=weight, coefficient=tuple(pair))
        return digraph

    def to_dgl(self) -> dgl.DGLGraph:
        """Converts the graph to a DGLGraph: node and edge data of the same names, in float32."""
        ends = torch.from_numpy(self.source), torch.from_numpy(self.target)
        graph = dgl.graph(ends, num_nodes=len(self.layer))
        for name in _OF_NODES:
            graph.ndata[name] = _tensor(getattr(self, name))
        for name in ("weight", "coefficient"):
            graph.edata[name] = _tensor(getattr(self, name))
        return graph

    def to_dict(self) -> dict[str, Any]:
        """Converts the graph to JSON values: ``words``, ``label``, ``nodes`` and ``edges``.

        Nodes and edges are objects with the attributes of :meth:`to_networkx`; the value of a word
        is None.
        """
        digraph = self.to_networkx()
        nodes = [{"node": node, **data} for node, data in digraph.nodes(data=True)]
        for node in nodes[: len(self.words)]:
            node["value"] = None
        edges = [
            {"source": source, "target": target, **data, "coefficient": list(data["coefficient"])}
            for source, target, data in digraph.edges(data=True)
        ]
        return {"words": list(self.words), "label": self.label, "nodes": nodes, "edges": edges}

    def table(self) -> Table:
        """A row per word: how many kept values of each layer depend on it.

        The columns are the layers, the last being the input of the output layer, and the word.
        """
        layers = range(1, int(self.layer[self.root]))
        sees = np.zeros((len(self.layer), len(self.words)), bool)  # a path from each word
        np.fill_diagonal(sees, True)
        counts = []
        for layer in layers:
            edges = self.layer[self.target] == layer
            np.logical_or.at(sees, self.target[edges], sees[self.source[edges]])
            counts.append(sees[self.layer == layer].sum(0).tolist())
        names = (f"layer {layer}" for layer in layers)
        return Table((*names, "word"), [*zip(*counts, self.words, strict=True)])

    def _with_edges(self, chosen: np.ndarray) -> FeatureGraph:
        """The graph restricted to some edges, without nodes that then have no path to the root."""
        reached = self.layer == 0
        reached[self.root] = True
        for layer in range(int(self.layer[self.root]), 0, -1):
            edges = chosen & (self.layer[self.target] == layer) & reached[self.target]
            reached[self.source[edges]] = True
        chosen = chosen & reached[self.target]
        number = np.cumsum(reached) - 1
        return replace(
            self,
            **{name: getattr(self, name)[reached] for name in _OF_NODES},
            source=number[self.source[chosen]],
            target=number[self.target[chosen]],
            weight=self.weight[chosen],
            coefficient=self.coefficient[chosen],
        )


def feature_graph(model: Any, sentence: Any) -> FeatureGraph:
    r"""The feature graph that a DCNN induces over a sentence.

    Kalchbrenner et al. 2014, section 3.6 (*Properties of the sentence model*): a value kept by
    pooling is connected to the values of the layer below that its filter reads, and so on down to
    the words; all values of the last layer are connected to the root. Values dropped by pooling, or
    not read by any value above, are not in the graph. A word has no path to the root exactly if the
    features do not depend on its vector.

    The weights of the edges into a node add up to its value before bias and non-linearity, those
    into the root to the score of the predicted class before its bias. Zero rows added to make
    folding even read no words: a value in such rows alone has no incoming edges.

    Args:
        model: A ``DCNN``.
        sentence: In any form of :func:`~graphsent.models.batches.forms.as_sentences`. The graph of
            a sentence without words is a single root.

    Raises:
        ModelError: The model is not a ``DCNN``, or the input is not a sentence.

    Example:
        >>> from graphsent.models import DCNN
        >>> from graphsent.vocabulary import Vocabulary
        >>> model = DCNN(Vocabulary(["good"]), 2, 2, widths=(2,), maps=(1,), k_top=1)
        >>> graph = feature_graph(model, "a good film")
        >>> graph.layer.tolist()
        [0, 0, 0, 1, 2]
    """
    if not isinstance(model, DCNN):
        name = getattr(model, "name", type(model).__name__)
        raise ModelError(f"the model {name!r} has no feature graph: expected 'dcnn'")
    (read,) = as_sentences([sentence], model.tokenize, model.label_names)
    words = tuple(read.words)
    tokens = torch.from_numpy(token_indices(list(words), model.vocab, len(words)))
    with evaluating(model) as still:
        tokens = tokens.to(model.output.weight.device)
        label, nodes, edges = induce(still, tokens, still.context([read]))
    graph = FeatureGraph(words, model.label_names[label], *nodes, *edges)
    return graph._with_edges(np.ones(len(graph.source), bool))


def _tensor(values: np.ndarray) -> torch.Tensor:
    tensor = torch.from_numpy(values)
    return tensor.float() if tensor.is_floating_point() else tensor
