"""Word inputs: word tables, contextual features, projections."""
