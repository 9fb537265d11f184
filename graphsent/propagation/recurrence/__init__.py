"""The computation at a node: tracing, expressions, differentiation."""
