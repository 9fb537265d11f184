"""What of a graph is computed when: its levels, and the places of predecessors."""
