"""Means over the words below each node, for all nodes of a batch at once."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn.functional import embedding_bag

from graphsent._dgl import dgl
from graphsent.errors import DataError
from graphsent.graphs import fields
from graphsent.graphs.batching import node_data

# Up to this many words per node, direct summation is faster than two gathers of prefix sums
# (measured with 150 features on one core).
_MOST_WORDS_PER_NODE = 64


def span_mean(graph: dgl.DGLGraph, values: torch.Tensor) -> torch.Tensor:
    r"""Mean of ``values`` over the words in the span of each node.

    .. math::
        y_t = \frac{1}{|W_t|} \sum_{w \in W_t} x_w

    where :math:`W_t` are the nodes that carry the words in the span of :math:`t`. In a constituency
    tree those are the leaves below :math:`t` (Teng and Zhang 2017: the mean of the leaves'
    top-down states); in a projective dependency tree the word of :math:`t` and all its descendants.
    Rows of ``values`` at nodes without a word are ignored.

    Args:
        graph: A graph, or a batch of them, with ``position`` and ``span`` in its node data.
        values: (num_nodes, ...), one row per node.

    Returns:
        (num_nodes, ...), dtype and device of ``values``.

    Raises:
        DataError: ``values`` has the wrong number of rows, or words of a sentence are missing.

    Example:
        >>> from graphsent.graphs import constituency_graph
        >>> graph = constituency_graph("(3 (2 a) (3 film))")
        >>> span_mean(graph, torch.tensor([0.0, 1.0, 2.0]))
        tensor([1.5000, 1.0000, 2.0000])
    """
    if len(values) != graph.num_nodes():
        raise DataError(
            f"span_mean(): expected values with {graph.num_nodes()} rows, one per node, "
            f"got {len(values)} rows"
        )
    words, ranges = word_ranges(graph)
    in_order = values.index_select(0, words.to(values.device))  # (num_words, ...)
    return range_mean(in_order, ranges.to(values.device))


def word_ranges(graph: dgl.DGLGraph) -> tuple[torch.Tensor, torch.Tensor]:
    """The words of a batch in order, and the range of words below each node.

    Returns:
        The node ids of the words, (num_words,) int64, sentence by sentence; and per node the
        half-open range of its words in that list, (num_nodes, 2) int64.

    Raises:
        DataError: Words of a sentence are missing: nodes were removed from the graph.

    Example:
        >>> from graphsent.graphs import constituency_graph
        >>> words, ranges = word_ranges(constituency_graph("(3 (2 a) (3 film))"))
        >>> words.tolist(), ranges.tolist()
        ([1, 2], [[0, 2], [0, 1], [1, 2]])
    """
    position = node_data(graph, fields.POSITION)
    nodes_per_tree = graph.batch_num_nodes()
    tree = torch.repeat_interleave(nodes_per_tree, output_size=graph.num_nodes())
    owners = torch.nonzero(position >= 0).squeeze(1)
    words_per_tree = torch.bincount(tree[owners], minlength=len(nodes_per_tree))
    first_word = (torch.cumsum(words_per_tree, 0) - words_per_tree)[tree]
    span = node_data(graph, fields.SPAN)
    place = first_word[owners] + position[owners]
    in_order, order = torch.sort(place)
    if not torch.equal(in_order, torch.arange(len(owners), device=owners.device)):
        raise DataError("the positions of the words are not 0, 1, 2, ... in each sentence")
    if (span[:, 1] > words_per_tree[tree]).any():
        raise DataError("the spans of nodes reach beyond the words of their sentence")
    return owners[order], span + first_word[:, None]


def range_mean(rows: torch.Tensor, ranges: torch.Tensor) -> torch.Tensor:
    """Mean over ``rows[begin:end]`` for each ``(begin, end)`` of ``ranges``.

    On the CPU the rows are summed directly. If the ranges are long on average (very deep trees) and
    all values are finite, and on other devices, where inspecting them would force a
    synchronization, the means are differences of prefix sums, in float64 so that long batches lose
    no precision; on other devices, NaN and infinities thus spread to ranges that begin later.
    Half-precision rows are summed in float32.

    Args:
        rows: (num_rows, ...), floating point.
        ranges: (num_ranges, 2) int64.

    Returns:
        (num_ranges, ...), dtype and device of ``rows``; zeros for empty ranges.

    Example:
        >>> range_mean(torch.tensor([1.0, 2.0, 6.0]), torch.tensor([[0, 3], [1, 2], [1, 1]]))
        tensor([3., 2., 0.])
    """
    flat = rows.reshape(len(rows), math.prod(rows.shape[1:]))
    begin, end = ranges.unbind(1)
    if rows.is_cpu and (
        int((end - begin).sum()) <= _MOST_WORDS_PER_NODE * len(ranges) or not flat.isfinite().all()
    ):
        means = _mean_of_rows(flat, begin, end)
    else:
        means = _mean_by_prefix_sums(flat, begin, end)
    return means.reshape(len(ranges), *rows.shape[1:])


def _mean_of_rows(rows: torch.Tensor, begin: torch.Tensor, end: torch.Tensor) -> torch.Tensor:
    length = end - begin
    first = torch.cumsum(length, 0) - length  # start of each range in the concatenated list
    index = torch.repeat_interleave(begin - first, length)
    index += torch.arange(len(index), device=index.device)
    wide = rows.to(torch.promote_types(rows.dtype, torch.float32))
    sums = sum_of_rows(wide, index, first)
    return (sums / length.clamp(min=1)[:, None]).to(rows.dtype)


def sum_of_rows(rows: torch.Tensor, index: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
    """Sums over lists of rows.

    Args:
        rows: (num_rows, size), floating point, float32 or wider.
        index: (num_terms,) int64, the rows of the first sum, then of the second, and so on.
        first: (num_sums,) int64, where the list of each sum begins in ``index``; lists may be
            empty.

    Returns:
        (num_sums, size): sum i of ``rows[j]`` for ``j`` in ``index[first[i]:first[i + 1]]``.
    """
    return _SumOfRows.apply(rows, index, first)


class _SumOfRows(torch.autograd.Function):
    """See :func:`sum_of_rows`.

    The gradient is another such sum, over the results each row contributes to. Torch's own backward
    of ``embedding_bag`` is several times slower, and not differentiable itself.
    """

    @staticmethod
    def forward(
        ctx: Any, rows: torch.Tensor, index: torch.Tensor, first: torch.Tensor
    ) -> torch.Tensor:
        ctx.save_for_backward(index, first)
        ctx.num_rows = len(rows)
        return embedding_bag(index, rows, first, mode="sum")

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        index, first = ctx.saved_tensors
        by_row, order = torch.sort(index, stable=True)
        result = torch.searchsorted(first, order, right=True) - 1
        rows = torch.arange(ctx.num_rows, device=index.device)
        first_of_row = torch.searchsorted(by_row, rows)
        return _SumOfRows.apply(gradient.contiguous(), result, first_of_row), None, None


def _mean_by_prefix_sums(
    rows: torch.Tensor, begin: torch.Tensor, end: torch.Tensor
) -> torch.Tensor:
    sums = torch.cumsum(rows.double(), dim=0)
    sums = torch.cat((sums.new_zeros(1, rows.shape[1]), sums))
    means = (sums[end] - sums[begin]) / (end - begin).clamp(min=1)[:, None]
    return means.to(rows.dtype)
