"""What a node computes: tracing, expressions, differentiation."""
