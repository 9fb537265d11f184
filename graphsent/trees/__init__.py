"""Parse trees: flat tree types, readers, writers and transforms.

``SHAPES`` has the names of the artificial shapes. ``TreeLike`` is the type of a tree, or of what
:func:`as_tree` converts to one.
"""

from __future__ import annotations

from graphsent.trees.binarization import binarize, debinarize
from graphsent.trees.bracket_files import (
    iter_labelled_trees,
    iter_trees,
    parse_trees,
    read_labelled_trees,
    read_trees,
)
from graphsent.trees.bracket_writer import bracketed, write_trees
from graphsent.trees.dependency import DependencyTree
from graphsent.trees.dependency_files import (
    iter_conllu,
    parse_conllu,
    read_conllu,
    to_conllu,
    write_conllu,
)
from graphsent.trees.errors import TreeError
from graphsent.trees.escapes import escape, unescape
from graphsent.trees.heads import head_children, head_words, to_dependency_tree
from graphsent.trees.nbest import Candidate, ParseList, iter_nbest, parse_nbest, read_nbest
from graphsent.trees.parseval import BracketCounts, bracket_counts
from graphsent.trees.shapes import SHAPES, reshape, shaped_dependency_tree, shaped_tree
from graphsent.trees.transforms import (
    base_label,
    collapse_unary,
    drop_words,
    expand_unary,
    map_tokens,
    relabel,
    strip_function_tags,
    strip_traces,
)
from graphsent.trees.tree import Tree, TreeLike, as_tree

__all__ = [
    "SHAPES",
    "BracketCounts",
    "Candidate",
    "DependencyTree",
    "ParseList",
    "Tree",
    "TreeError",
    "TreeLike",
    "as_tree",
    "base_label",
    "binarize",
    "bracket_counts",
    "bracketed",
    "collapse_unary",
    "debinarize",
    "drop_words",
    "escape",
    "expand_unary",
    "head_children",
    "head_words",
    "iter_conllu",
    "iter_labelled_trees",
    "iter_nbest",
    "iter_trees",
    "map_tokens",
    "parse_conllu",
    "parse_nbest",
    "parse_trees",
    "read_conllu",
    "read_labelled_trees",
    "read_nbest",
    "read_trees",
    "relabel",
    "reshape",
    "shaped_dependency_tree",
    "shaped_tree",
    "strip_function_tags",
    "strip_traces",
    "to_conllu",
    "to_dependency_tree",
    "unescape",
    "write_conllu",
    "write_trees",
]
