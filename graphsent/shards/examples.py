"""The examples of shards as a sequence."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy as np

from graphsent.shards.errors import ShardsFailed
from graphsent.shards.shard import Block, Shard, Symbols
from graphsent.vocabulary import Vocabulary

__all__ = ["BLOCK_SIZE", "ShardedExamples"]

BLOCK_SIZE = 256
"""Neighbours that are read together."""

# At least: a small window is of some 16 stretches of neighbours, each of two blocks perhaps.
_BLOCKS_KEPT = 36


class ShardedExamples(Sequence[Any]):
    """Examples that are read from shards when they are asked for, in bounded memory.

    They are equal to those that were written, but for the form of trees: that which the model reads
    for which they were written. Dependency trees are without relations, tags and lemmas.

    Args:
        shards: Each of as many examples, but for the last one, which may have fewer.
        symbols: Words and labels.
        word_counts: Word -> how often it comes, in the order of first appearance.
    """

    def __init__(
        self,
        shards: Sequence[Shard],
        symbols: Symbols,
        word_counts: Mapping[str, int],
    ) -> None:
        self._shards = shards
        self._shard_size = len(shards[0])
        self._num_examples = sum(map(len, shards))
        self._symbols = symbols
        self.word_counts = word_counts
        self._keep(_BLOCKS_KEPT)

    def keep(self, window: int) -> None:
        """Makes room in memory for as many examples as are read in any order, again and again."""
        # The next window begins with what is left of the last block of this one.
        self._keep(max(_BLOCKS_KEPT, -(-min(window, self._num_examples) // BLOCK_SIZE) + 2))

    def number_words(self, vocab: Vocabulary) -> None:
        """Lets batches with this vocabulary take the numbers of words as they are stored."""
        self._symbols.number(vocab)

    def sizes(self) -> np.ndarray:
        """(num_examples,) int64, see :func:`~graphsent.shards.size_of`."""
        return self._joined("sizes")

    def depths(self) -> np.ndarray:
        """(num_examples,) int64, see :func:`~graphsent.shards.depth_of`."""
        return self._joined("depths")

    def __len__(self) -> int:
        return self._num_examples

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...

    def __getitem__(self, index: int | slice) -> Any:
        """An example, or a list of some."""
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(self._num_examples))]
        if index < 0:
            index += self._num_examples
        if not 0 <= index < self._num_examples:
            raise IndexError(f"example {index} of {self._num_examples}")
        number, row = divmod(index, self._shard_size)
        block, row = divmod(row, BLOCK_SIZE)
        return self._block(number, block).example(row)

    def _keep(self, num_blocks: int) -> None:
        self._block = functools.lru_cache(num_blocks)(self._read)

    def _read(self, number: int, block: int) -> Block:
        shard = self._shards[number]
        begin = block * BLOCK_SIZE
        try:
            return shard.block(begin, min(begin + BLOCK_SIZE, len(shard)))
        except OSError as error:
            raise ShardsFailed(
                f"cannot read {error.filename}: {error.strerror or error}: was it removed "
                "meanwhile? It is made again when the run starts anew, or goes on with --resume"
            ) from error

    def _joined(self, column: str) -> np.ndarray:
        return np.concatenate([shard.column(column) for shard in self._shards], dtype=np.int64)
