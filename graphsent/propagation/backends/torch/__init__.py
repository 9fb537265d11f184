"""Recurrences level by level in operations of torch."""
