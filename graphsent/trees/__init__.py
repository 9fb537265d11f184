"""Parse trees: flat types, readers, writers and transforms."""

from __future__ import annotations

from graphsent.trees.bracket_files import parse_trees, read_labelled_trees, read_trees
from graphsent.trees.bracket_writer import bracketed, write_trees
from graphsent.trees.dependency import DependencyTree
from graphsent.trees.errors import TreeError
from graphsent.trees.tree import Tree, as_tree

__all__ = [
    "DependencyTree",
    "Tree",
    "TreeError",
    "as_tree",
    "bracketed",
    "parse_trees",
    "read_labelled_trees",
    "read_trees",
    "write_trees",
]
