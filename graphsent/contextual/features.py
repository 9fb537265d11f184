"""Features of an encoder that stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import torch
from torch import Tensor

from graphsent.contextual.encoder import Encoder
from graphsent.contextual.spans import WordSpan
from graphsent.contextual.store import FeatureStore

__all__ = ["Features"]

_WORDS_AT_ONCE = 2048  # with padding; hardly any difference to the time of a sentence beyond it
_SENTENCES_A_FILE = 1024

Words = tuple[str, ...]


class Features:
    """The features of words, from disk where they are kept there, otherwise computed.

    Args:
        encoder: Computes them; it is not trained.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._store: FeatureStore | None = None

    def of(self, spans: Sequence[WordSpan]) -> Tensor:
        """The features of some words, (num_words, dim) float32 on the CPU."""
        found: dict[Words, Tensor] = {}
        missing: list[Words] = []
        for sentence in dict.fromkeys(sentence for sentence, _, _ in spans):
            rows = None if self._store is None else self._store.get(sentence)
            if rows is None:
                missing.append(sentence)
            else:
                found[sentence] = rows
        found.update(self._computed(missing))
        parts = [found[sentence][begin:end] for sentence, begin, end in spans]
        return torch.cat(parts) if parts else torch.zeros(0, self._encoder.dim)

    def keep(
        self,
        sentences: Iterable[Words],
        store: FeatureStore,
        report: Callable[[int], None] | None = None,
    ) -> None:
        """Computes the features of sentences that are not on disk yet, and reads from there.

        They are written a thousand sentences at a time: what is written stays if this is
        interrupted, and the memory that is taken does not grow with the number of sentences. What
        another process writes meanwhile is not computed again.

        Args:
            sentences: The words of each, of which some may be equal.
            store: Where.
            report: Is given, after each thousand, how many sentences have been computed.
        """
        self._store = store
        done = 0
        for part in _missing(sentences, store):
            computed = dict(self._computed(part))
            store.add(part, torch.cat([computed[words] for words in part]))
            done += len(part)
            if report is not None:
                report(done)

    def _computed(self, sentences: Sequence[Words]) -> Iterator[tuple[Words, Tensor]]:
        """Sentences of like length at once."""
        for batch in _batches(sorted(sentences, key=len)):
            spans = [WordSpan(words, 0, len(words)) for words in batch]
            with torch.no_grad():
                rows = self._encoder.encode(self._encoder.read(spans)).cpu()
            yield from zip(batch, rows.split([len(words) for words in batch]), strict=True)


def _missing(sentences: Iterable[Words], store: FeatureStore) -> Iterator[list[Words]]:
    """Groups of different sentences that are not in a store when they are given out."""
    part: dict[Words, None] = {}
    for words in chain(sentences, (None,)):
        if words is not None and store.get(words) is None:
            part[words] = None
        if len(part) == _SENTENCES_A_FILE or (words is None and part):
            store.refresh()
            missing = [each for each in part if store.get(each) is None]
            if missing:
                yield missing
            part.clear()


def _batches(sentences: Sequence[Words]) -> Iterator[list[Words]]:
    """Groups of sentences, the longest last; padded, a group has about the same size."""
    batch: list[Words] = []
    for words in sentences:
        if batch and (len(batch) + 1) * len(words) > _WORDS_AT_ONCE:
            yield batch
            batch = []
        batch.append(words)
    if batch:
        yield batch
