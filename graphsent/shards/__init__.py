"""Examples of corpora that are larger than memory, in files that are mapped into it.

A *shard* is a file with some thousands of examples, as batches need them: with the words as numbers
and, beside each tree, the form and the arrays that the model makes of it.
"""

from __future__ import annotations

from graphsent.shards.errors import ShardsFailed
from graphsent.shards.examples import BLOCK_SIZE, ShardedExamples
from graphsent.shards.sizes import depth_of, size_of
from graphsent.shards.store import ShardSet

__all__ = ["BLOCK_SIZE", "ShardSet", "ShardedExamples", "ShardsFailed", "depth_of", "size_of"]
