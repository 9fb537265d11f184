"""Storage of shards: written once, by one process at a time, and reused."""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from graphsent._cache import cache_directory
from graphsent._files import write_json
from graphsent._locks import locked
from graphsent.errors import DataError
from graphsent.shards.errors import ShardsFailed
from graphsent.shards.examples import ShardedExamples
from graphsent.shards.mapped import MappedFile, write_arrays
from graphsent.shards.shard import Shard, Symbols, as_bytes, strings_of
from graphsent.shards.writer import ShardWriter

__all__ = ["ShardSet"]

_FORMAT_VERSION = 3
_FOLDER = "shards"
_SHARD_SIZE = 8192
_KEY_DIGITS = 20
_INDEX, _ABOUT = "index.safetensors", "about.json"


class ShardSet:
    """The shards of one split of a corpus, in the form read by one kind of model.

    Args:
        name: Descriptive name, used in the name of the directory.
        about: Everything that determines the examples: digests of files, options, versions. Shards
            with other values are separate.
        shard_size: Number of examples per shard.

    Attributes:
        directory: ``shards/NAME-KEY`` in :func:`graphsent._cache.cache_directory`.

    Raises:
        NoCacheDirectory: There is no cache directory.
    """

    def __init__(
        self, name: str, about: Mapping[str, Any], *, shard_size: int = _SHARD_SIZE
    ) -> None:
        self._about = {**about, "format_version": _FORMAT_VERSION, "shard_size": shard_size}
        self._name, self._shard_size = name, shard_size
        key = hashlib.sha256(json.dumps(self._about, sort_keys=True).encode()).hexdigest()
        self.directory = cache_directory() / _FOLDER / f"{name}-{key[:_KEY_DIGITS]}"

    def open(
        self,
        examples: Callable[[], Iterator[Any]],
        prepare: Callable[[Sequence[Any]], object],
        *,
        progress: bool = False,
        echo: Callable[[str], None] = lambda line: None,
    ) -> ShardedExamples:
        """Returns the examples; first writes missing shards, continuing after the existing ones.

        Args:
            examples: Returns an iterator over all examples; called only if shards are missing.
            prepare: Collates examples, and thereby caches on each tree what is derived from it: a
                model's ``collate``.
            progress: Whether to show a progress bar on standard error.
            echo: Called with lines for the user.

        Raises:
            ShardsFailed: Shards cannot be written or read.
            DataError: The examples are of several kinds, or there are none; also the errors of
                reading them.
        """
        with self._failing():
            self.directory.mkdir(parents=True, exist_ok=True)
            found = self._find()
            if found is None:
                with self._held(echo):
                    found = self._find()
                    if found is None:
                        self._make(examples, prepare, progress)
                        found = self._find()
        if found is None:
            raise ShardsFailed(f"{self.directory}: damaged: remove it and try again")
        return found

    def num_bytes(self) -> int:
        """Their size on disk."""
        return sum(path.stat().st_size for path in self.directory.iterdir())

    def _path(self, number: int) -> Path:
        return self.directory / f"{number:06d}.safetensors"

    def _find(self) -> ShardedExamples | None:
        """The examples, or None if shards are missing or damaged."""
        try:
            index = MappedFile(self.directory / _INDEX)
            index.check()
            words, labels = (strings_of(index.arrays[name]) for name in ("words", "labels"))
            counts, num_examples = index.arrays["counts"].tolist(), int(index.about["num_examples"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None
        symbols = Symbols(words, labels)
        shards = list(self._sound(symbols))
        if sum(map(len, shards)) != num_examples:
            return None
        return ShardedExamples(shards, symbols, dict(zip(words, counts, strict=True)))

    def _sound(self, symbols: Symbols, *, whole: bool = False) -> Iterator[Shard]:
        """The shards before the first one that is missing or damaged.

        With ``whole``, all their contents are read; otherwise, this is left to their first use.
        """
        for number in itertools.count():
            try:
                shard = Shard(self._path(number), symbols)
                if shard.column("number") != number:  # it was copied over another
                    return
                if whole:
                    shard.check()
            except (FileNotFoundError, ValueError, KeyError):
                return
            yield shard

    def _make(
        self,
        examples: Callable[[], Iterator[Any]],
        prepare: Callable[[Sequence[Any]], object],
        progress: bool,
    ) -> None:
        write_json(self.directory / _ABOUT, self._about, indent=2)
        symbols = Symbols([], [])
        counts = np.zeros(0, np.int64)
        schema = None
        number = num_examples = 0
        for shard in self._sound(symbols, whole=True):  # from an interrupted process
            symbols.words.extend(shard.new_words)
            symbols.labels.extend(shard.new_labels)
            counts = _added(counts, shard.column("words"))
            schema = shard.schema
            number, num_examples = number + 1, num_examples + len(shard)
        writer = ShardWriter(prepare, symbols.words, symbols.labels, schema)
        with self._bar(islice(examples(), num_examples, None), num_examples, progress) as bar:
            rest = iter(bar)
            while made := writer.arrays(islice(rest, self._shard_size)):
                schema, arrays = made
                arrays["number"] = np.array([number])
                write_arrays(self._path(number), arrays, {"schema": schema.to_json()})
                counts = _added(counts, arrays["words"])
                number, num_examples = number + 1, num_examples + len(arrays["sizes"])
        if not num_examples:
            raise DataError(f"{self._name}: no examples")
        index = {
            "words": as_bytes(list(writer.words)),
            "labels": as_bytes(list(writer.labels)),
            "counts": counts,
        }
        write_arrays(self.directory / _INDEX, index, {"num_examples": str(num_examples)})

    def _bar(self, examples: Iterator[Any], initial: int, progress: bool) -> tqdm:
        return tqdm(
            examples,
            desc=f"writing shards of {self._name}",
            unit=" examples",
            initial=initial,
            disable=not progress,
            file=sys.stderr,
            leave=False,
            dynamic_ncols=True,
        )

    @contextmanager
    def _held(self, echo: Callable[[str], None]) -> Iterator[None]:
        """Locks the directory, waiting for another process if necessary."""
        busy = ShardsFailed(f"another process is writing the shards in {self.directory}")
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(self.directory, busy))
            except ShardsFailed:
                echo(f"{busy}: waiting for it")
                stack.enter_context(locked(self.directory))
            yield

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Converts OSErrors to errors that name the directory and the remedy."""
        try:
            yield
        except OSError as error:
            raise ShardsFailed(
                f"cannot keep shards in {self.directory}: {error.strerror or error}: choose "
                "another place with the environment variable GRAPHSENT_CACHE"
            ) from error


def _added(counts: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Adds the occurrences of ``numbers`` to the counts."""
    found = np.bincount(numbers, minlength=len(counts)).astype(np.int64)
    found[: len(counts)] += counts
    return found
