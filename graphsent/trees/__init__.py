"""Parse trees: flat types, readers, writers and transforms."""

from __future__ import annotations

from graphsent.trees.dependency import DependencyTree
from graphsent.trees.errors import TreeError
from graphsent.trees.tree import Tree, as_tree

__all__ = ["DependencyTree", "Tree", "TreeError", "as_tree"]
