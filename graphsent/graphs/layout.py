"""Layout of a tree: root on top, words in a line at the bottom.

Every word has its own column, wide enough for everything in it; columns are in sentence order with
equal gaps between their contents. A node with a word is in its word's column, any other node
midway between its outermost children. Each depth is a row. A node's box stays within the columns
of its span, and the spans of two nodes in one row are disjoint, so boxes never overlap. In a
non-projective dependency tree lines may cross, and in its sibling graph, whose phrases have no
column of their own, boxes may touch.

All lengths are in points (1/72 inch), y grows upwards, the root's row is at 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

GAP = 10.0  # between the contents of neighbouring columns
_NARROWEST_COLUMN = 16.0
_MOST_STRETCH = 24.0  # added to each column of a short sentence
_LOWEST_ROW, _HIGHEST_ROW = 34.0, 54.0
_ASPECT = 0.45  # target ratio of height to width, reached by stretching rows


class Layout(NamedTuple):
    """Positions in points."""

    x: np.ndarray  # (num_nodes,) centres of the nodes
    y: np.ndarray  # (num_nodes,)
    word_x: np.ndarray  # (num_words,) centres of the columns
    word_y: float  # the line of words
    width: float  # of all columns; x runs from 0 to width


def tree_layout(
    parents: np.ndarray,
    depths: np.ndarray,
    positions: np.ndarray,
    spans: np.ndarray,
    box_widths: np.ndarray,
    word_widths: np.ndarray,
    on_word_line: np.ndarray,
    least_width: float = 0.0,
) -> Layout:
    """Lays out one tree; linear in its size except for one sort, without recursion.

    Args:
        parents: (num_nodes,) parent of each node, -1 at the root.
        depths: (num_nodes,) distance from the root.
        positions: (num_nodes,) index of the node's word, -1 without one.
        spans: (num_nodes, 2) half-open range of words below the node.
        box_widths: (num_nodes,) width of the node's box.
        word_widths: (num_words,) width of each word.
        on_word_line: (num_nodes,) bool, nodes drawn in the line of words instead of their row.
        least_width: Target width that the columns of a short sentence are stretched towards.
    """
    columns = _column_widths(positions, spans, box_widths, word_widths)
    columns += np.clip(least_width / len(columns) - columns.mean(), 0.0, _MOST_STRETCH)
    borders = np.concatenate(([0.0], np.cumsum(columns)))
    word_x = (borders[:-1] + borders[1:]) / 2

    num_rows = 1 + int(depths[~on_word_line].max(initial=0))
    row = float(np.clip(_ASPECT * borders[-1] / num_rows, _LOWEST_ROW, _HIGHEST_ROW))
    word_y = -row * num_rows
    x = _node_x(parents, depths, positions, spans, box_widths, borders)
    y = np.where(on_word_line, word_y, -row * depths)
    return Layout(x, y, word_x, word_y, float(borders[-1]))


def _column_widths(
    positions: np.ndarray, spans: np.ndarray, box_widths: np.ndarray, word_widths: np.ndarray
) -> np.ndarray:
    """Column widths that fit the word, its node, and a share of every box above it."""
    columns = np.maximum(word_widths, _NARROWEST_COLUMN)
    owners = np.flatnonzero(positions >= 0)
    np.maximum.at(columns, positions[owners], box_widths[owners])
    columns += GAP
    share = (box_widths + GAP) / (spans[:, 1] - spans[:, 0])
    # A wide span's share is below the narrowest column, so the ranges widened here are short.
    for node in np.flatnonzero((positions < 0) & (share > _NARROWEST_COLUMN + GAP)):
        begin, end = spans[node]
        columns[begin:end] = np.maximum(columns[begin:end], share[node])
    return columns


def _node_x(
    parents: np.ndarray,
    depths: np.ndarray,
    positions: np.ndarray,
    spans: np.ndarray,
    box_widths: np.ndarray,
    borders: np.ndarray,
) -> np.ndarray:
    half = (box_widths + GAP) / 2
    least, most = borders[spans[:, 0]] + half, borders[spans[:, 1]] - half
    x = np.where(positions >= 0, (borders[positions] + borders[positions + 1]) / 2, 0.0)
    leftmost, rightmost = np.full(len(x), np.inf), np.full(len(x), -np.inf)
    for node in np.argsort(-depths, kind="stable"):  # children before their parents
        if positions[node] < 0:
            middle = (leftmost[node] + rightmost[node]) / 2
            x[node] = min(max(middle, least[node]), most[node])
        parent = parents[node]
        if parent >= 0:
            leftmost[parent] = min(leftmost[parent], x[node])
            rightmost[parent] = max(rightmost[parent], x[node])
    return x
