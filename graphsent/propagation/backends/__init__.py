"""Backends that run a recurrence over a schedule."""
