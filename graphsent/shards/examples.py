"""The examples of shards as a sequence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from graphsent.shards.shard import Shard, Symbols
from graphsent.vocabulary import Vocabulary

__all__ = ["ShardedExamples"]

# After so many examples the memory into which shards were mapped is given back.
_RELEASE_AFTER = 4096


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
        self._until_release = _RELEASE_AFTER
        self.word_counts = word_counts

    def number_words(self, vocab: Vocabulary) -> None:
        """Lets batches with this vocabulary take the numbers of words as they are stored."""
        self._symbols.number(vocab)

    def sizes(self) -> np.ndarray:
        """(num_examples,) int64, see :func:`~graphsent.shards.size_of`."""
        return self._joined(lambda shard: shard.sizes)

    def depths(self) -> np.ndarray:
        """(num_examples,) int64, see :func:`~graphsent.shards.depth_of`."""
        return self._joined(lambda shard: shard.depths)

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
        self._until_release -= 1
        if not self._until_release:
            self._release()
        number, row = divmod(index, self._shard_size)
        return self._shards[number].example(row)

    def _release(self) -> None:
        self._until_release = _RELEASE_AFTER
        for shard in self._shards:
            shard.release()

    def _joined(self, column: Callable[[Shard], np.ndarray]) -> np.ndarray:
        joined = np.concatenate([column(shard) for shard in self._shards], dtype=np.int64)
        self._release()
        return joined
