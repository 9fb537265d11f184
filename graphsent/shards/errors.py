"""Errors of shards."""

from __future__ import annotations

from graphsent.errors import FailedError

__all__ = ["ShardsFailed"]


class ShardsFailed(FailedError):
    """Shards cannot be written or read."""
