"""Memory-mapped files of examples, for corpora larger than memory.

A *shard* is a file of some thousands of examples in the form that batches need: words as integers,
and with each tree the transformed tree and the arrays that the model derives from it.
"""

from __future__ import annotations

from graphsent.shards.errors import ShardsFailed
from graphsent.shards.examples import BLOCK_SIZE, ShardedExamples
from graphsent.shards.sizes import depth_of, size_of
from graphsent.shards.store import ShardSet

__all__ = ["BLOCK_SIZE", "ShardSet", "ShardedExamples", "ShardsFailed", "depth_of", "size_of"]
