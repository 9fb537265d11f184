"""Recursive cells, as torch modules and as DGL message, reduce and apply functions.

============================  ========================  =================================
cell                          graph                     a node has
============================  ========================  =================================
:class:`RecursiveCell`        acyclic, child to parent  at most N ordered children
:class:`NaryTreeLSTM`         acyclic, child to parent  at most N ordered children
:class:`ChildSumTreeLSTM`     acyclic, child to parent  any number of children
:class:`ChildSumTreeGRU`      acyclic, child to parent  any number of children
:class:`AttentiveTreeLSTM`    acyclic, child to parent  any number of children
:class:`AttentiveTreeGRU`     acyclic, child to parent  any number of children
:class:`HeadLexicalizer`      acyclic, child to parent  two ordered children or none
:class:`LexicalizedTreeLSTM`  acyclic, child to parent  two ordered children or none [1]_
:class:`TopDownTreeLSTM`      trees, parent to child    at most two ordered children
:class:`BiTreeLSTM`           trees, child to parent    two ordered children or none [1]_
:class:`TreeNet`              sibling graphs            any number of children
============================  ========================  =================================

.. [1] At most two with ``lexicalized=False``.

In any acyclic graph, a node may have several successors. The edge data ``child_index`` order the
children of a node, or give its side below its parent. Without them, children are ordered as their
edges were added, with a warning; :class:`TopDownTreeLSTM` requires them, and :class:`TreeNet` reads
``kind`` instead.
"""

from graphsent.cells.attentive import AttentiveTreeGRU, AttentiveTreeLSTM, ChildAttention
from graphsent.cells.base import TreeCell
from graphsent.cells.bidirectional import BiTreeLSTM
from graphsent.cells.errors import CellError
from graphsent.cells.lexicalized import HeadLexicalizer, LexicalizedTreeLSTM
from graphsent.cells.recursive import RecursiveCell
from graphsent.cells.slots import SlottedCell
from graphsent.cells.topdown import TopDownTreeLSTM
from graphsent.cells.treegru import ChildSumTreeGRU
from graphsent.cells.treelstm import ChildSumTreeLSTM, NaryTreeLSTM
from graphsent.cells.treenet import GatedCompositor, GatedEncoder, TreeNet
from graphsent.propagation.feats import IndexedFeat

__all__ = [
    "AttentiveTreeGRU",
    "AttentiveTreeLSTM",
    "BiTreeLSTM",
    "CellError",
    "ChildAttention",
    "ChildSumTreeGRU",
    "ChildSumTreeLSTM",
    "GatedCompositor",
    "GatedEncoder",
    "HeadLexicalizer",
    "IndexedFeat",
    "LexicalizedTreeLSTM",
    "NaryTreeLSTM",
    "RecursiveCell",
    "SlottedCell",
    "TopDownTreeLSTM",
    "TreeCell",
    "TreeNet",
]
