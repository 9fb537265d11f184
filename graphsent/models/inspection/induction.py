"""Nodes and edges of a feature graph, layer by layer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphsent.models.batches.context import Context
from graphsent.models.dcnn import DCNN
from graphsent.models.encoders.pooled_layers import LayerMaps

__all__ = ["FeatureEdges", "FeatureNodes", "induce"]


class FeatureNodes(NamedTuple):
    """Nodes, see :class:`~graphsent.models.inspection.FeatureGraph`."""

    layer: np.ndarray
    map: np.ndarray
    row: np.ndarray
    position: np.ndarray
    value: np.ndarray


class FeatureEdges(NamedTuple):
    """Edges, see :class:`~graphsent.models.inspection.FeatureGraph`."""

    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    coefficient: np.ndarray


class _Inputs(NamedTuple):
    """The inputs of a layer's filters.

    Attributes:
        values: (rows, maps, steps).
        nodes: (rows, maps, steps) int64, the node of each value; all elements of a word vector
            belong to the node of the word.
        num_rows: Number of rows, not counting added zero rows.
        are_words: Whether the inputs are the word vectors.
    """

    values: np.ndarray
    nodes: np.ndarray
    num_rows: int
    are_words: bool


def induce(
    model: DCNN, tokens: Tensor, context: Context | None = None
) -> tuple[int, FeatureNodes, FeatureEdges]:
    """Traces the values that pooling selects in a sentence, and the inputs of each.

    Args:
        model: The model, in evaluation mode.
        tokens: (num_words,) int64, vocabulary indices.
        context: The context of the words, for a model with contextual features.

    Returns:
        The predicted class; the nodes: words, all selected values and the root; and all edges.
    """
    num_words = len(tokens)
    vectors = model.word_vectors(tokens, context)
    ranges = torch.tensor([[0, num_words]], device=tokens.device)
    logits = model.output(model.encoder(vectors, ranges))[0]
    label = int(logits.argmax())

    word = np.arange(num_words)
    nothing = np.full(num_words, -1)
    nodes = [FeatureNodes(np.zeros_like(word), nothing, nothing, word, np.full(num_words, np.nan))]
    edges, inputs, first = [], _word_inputs(model, vectors), num_words
    layers, maps = model.encoder.layers, model.config["maps"]
    traced = zip(layers.convolutions, maps, layers.trace(vectors, ranges), strict=True)
    for number, (convolution, num_maps, layer) in enumerate(traced, start=1):
        of_layer = _nodes(layer, number, num_maps)
        weight = _array(convolution.weight)
        edges.append(_edges(of_layer, first, weight, inputs, model.config["fold"]))
        shape = (layer.values.shape[1] // num_maps, num_maps, len(layer.values))
        ids = first + np.arange(len(of_layer.value))
        inputs = _Inputs(of_layer.value.reshape(shape), ids.reshape(shape), shape[0], False)
        nodes.append(of_layer)
        first += len(ids)
    score = np.array([float(logits[label])])
    none = np.array([-1])
    nodes.append(FeatureNodes(np.array([len(maps) + 1]), none, none, none, score))
    edges.append(_root_edges(_array(model.output.weight[label]), inputs, first))
    return (
        label,
        FeatureNodes(*map(np.concatenate, zip(*nodes, strict=True))),
        FeatureEdges(*map(np.concatenate, zip(*edges, strict=True))),
    )


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().double().cpu().numpy()


def _word_inputs(model: DCNN, vectors: Tensor) -> _Inputs:
    rows = _array(vectors).T
    added = model.encoder.layers.convolutions[0].in_channels - len(rows)
    values = np.pad(rows, ((0, added), (0, 0)))[:, None]
    nodes = np.broadcast_to(np.arange(rows.shape[1]), values.shape)
    return _Inputs(values, nodes, len(rows), True)


def _nodes(layer: LayerMaps, number: int, num_maps: int) -> FeatureNodes:
    """The selected values of a layer, by row, map and step."""
    assert layer.positions is not None  # all layers pool
    num_steps, num_channels = layer.values.shape
    row, of_map = np.divmod(np.repeat(np.arange(num_channels), num_steps), num_maps)
    positions = layer.positions.long().cpu().numpy().T.flatten()
    values = _array(layer.values).T.flatten()
    return FeatureNodes(np.full(len(row), number), of_map, row, positions, values)


def _edges(
    nodes: FeatureNodes, first: int, weight: np.ndarray, inputs: _Inputs, fold: bool
) -> FeatureEdges:
    """The edges from the inputs of filters to the nodes of a layer.

    Args:
        nodes: The selected values.
        first: Number of the first node of the layer.
        weight: (rows * maps, maps of the inputs, width), weight of the convolution.
        inputs: Inputs of the convolution.
        fold: Whether a row of the nodes is the sum of two rows of the convolution.
    """
    rows = nodes.row[:, None] * (1 + fold) + np.arange(1 + fold)  # (nodes, summed rows)
    num_rows, num_maps, num_steps = inputs.values.shape
    filters = weight.reshape(num_rows, -1, *weight.shape[1:])
    coefficients = filters[rows, nodes.map[:, None]]  # (nodes, summed rows, maps, width)
    coefficients[rows >= inputs.num_rows] = 0
    width = weight.shape[2]
    steps = nodes.position[:, None] - (width - 1) + np.arange(width)
    inside = ((steps >= 0) & (steps < num_steps))[:, None, None]
    inside = inside & (rows < inputs.num_rows)[:, :, None, None]
    steps = steps.clip(0, num_steps - 1)[:, None, None]
    place = rows[:, :, None, None], np.arange(num_maps)[:, None], steps
    inside = np.broadcast_to(inside, coefficients.shape)
    source, weights = inputs.nodes[place], coefficients * inputs.values[place]
    if inputs.are_words:  # both rows read a word through one edge
        pairs = np.moveaxis(coefficients, 1, -1)[:, None]
        source, weights = source[:, :1], weights.sum(1, keepdims=True)
        inside = inside.any(1, keepdims=True)
    else:
        pairs = coefficients[..., None]
    target = np.broadcast_to(first + np.arange(len(rows))[:, None, None, None], inside.shape)
    return FeatureEdges(source[inside], target[inside], weights[inside], _pairs(pairs[inside]))


def _root_edges(weight: np.ndarray, inputs: _Inputs, root: int) -> FeatureEdges:
    """The edges from the values of the last layer to the root."""
    source, values = inputs.nodes.flatten(), inputs.values.flatten()
    num_rows, num_maps, num_steps = inputs.values.shape
    of_value = weight.reshape(num_rows * num_maps, -1)[:, :num_steps].flatten()
    return FeatureEdges(
        source, np.full(len(source), root), of_value * values, _pairs(of_value[:, None])
    )


def _pairs(coefficients: np.ndarray) -> np.ndarray:
    return np.pad(coefficients, ((0, 0), (0, 2 - coefficients.shape[1])))
