"""Recursive cells of the papers, as DGL message, reduce and apply functions."""

from graphsent.cells.base import TreeCell
from graphsent.cells.errors import CellError
from graphsent.cells.slots import SlottedCell
from graphsent.cells.treelstm import ChildSumTreeLSTM, NaryTreeLSTM

__all__ = ["CellError", "ChildSumTreeLSTM", "NaryTreeLSTM", "SlottedCell", "TreeCell"]
