"""The order of computation over a graph: levels, and slots of predecessors."""
