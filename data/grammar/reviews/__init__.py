"""The grammar of the sentiment treebank."""
