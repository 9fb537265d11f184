"""The examples in shards, as a sequence."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, overload

import numpy as np

from graphsent.shards.errors import ShardsFailed
from graphsent.shards.shard import Block, Shard, Symbols
from graphsent.vocabulary import Vocabulary

__all__ = ["BLOCK_SIZE", "ShardedExamples"]

BLOCK_SIZE = 256
"""Number of consecutive examples that are read together."""

# Minimum: a small window has about 16 runs of consecutive examples, each in up to two blocks.
_BLOCKS_KEPT = 36


class ShardedExamples(Sequence[Any]):
    """Examples read from shards on access, in bounded memory.

    They equal the examples written, except that trees are in the form read by the model for which
    they were written, and dependency trees have heads and labels alone.

    Args:
        shards: The shards, all of the same size except the last one, which may be smaller.
        symbols: Words and labels.
        word_counts: Word -> number of occurrences, in the order of first appearance.
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
        self._checked: set[int] = set()  # numbers of shards
        self.word_counts = word_counts
        self._keep(_BLOCKS_KEPT)

    def keep(self, window: int) -> None:
        """Caches enough blocks for repeated access to that many examples in random order."""
        # The next window begins with the rest of the last block of this one.
        self._keep(max(_BLOCKS_KEPT, -(-min(window, self._num_examples) // BLOCK_SIZE) + 2))

    def number_words(self, vocab: Vocabulary) -> None:
        """Lets batches with this vocabulary use the stored word indices."""
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
            if number not in self._checked:
                shard.check()
                self._checked.add(number)
            return shard.block(begin, min(begin + BLOCK_SIZE, len(shard)))
        except (OSError, ValueError) as error:
            if isinstance(error, ValueError):  # so that it is written again
                with suppress(OSError):
                    shard.path.unlink()
            problem = getattr(error, "strerror", None) or error
            raise ShardsFailed(
                f"cannot read {shard.path}: {problem}: was it changed or removed meanwhile? It is "
                "written again when the run is restarted, or resumed with --resume"
            ) from error

    def _joined(self, column: str) -> np.ndarray:
        return np.concatenate([shard.column(column) for shard in self._shards], dtype=np.int64)
