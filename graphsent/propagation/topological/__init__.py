"""Propagation of node data by message, reduce and apply functions, as in DGL."""
