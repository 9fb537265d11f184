"""C, generated for a recurrence and compiled at its first use."""
