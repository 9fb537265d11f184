"""Features of a frozen encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import torch
from torch import Tensor

from graphsent.contextual.encoder import Encoder
from graphsent.contextual.spans import WordSpan
from graphsent.contextual.store import FeatureStore

__all__ = ["FEATURES_REVISION", "Features"]

FEATURES_REVISION = 2
"""To be increased with every change of what is computed, so that cached features are not used."""

_WORDS_AT_ONCE = 2048  # with padding; larger batches hardly reduce the time per sentence
_SENTENCES_A_FILE = 1024

Words = tuple[str, ...]


class Features:
    """Word features, read from disk where they are cached and computed otherwise.

    Args:
        encoder: The encoder, which stays frozen.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._store: FeatureStore | None = None

    def of(self, spans: Sequence[WordSpan]) -> Tensor:
        """The features of words, (num_words, dim) float32 on the CPU."""
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
        return torch.cat(parts) if parts else torch.zeros(0, self._encoder.dim, device="cpu")

    def keep(
        self,
        sentences: Iterable[Words],
        store: FeatureStore,
        report: Callable[[int], None] | None = None,
    ) -> None:
        """Computes the features of sentences that are not on disk yet; later reads use the disk.

        They are written in files of 1,024 sentences: finished files survive an interruption, and
        memory use does not grow with the number of sentences. Features that another process writes
        in the meantime are not recomputed.

        Args:
            sentences: The words of each sentence; sentences may repeat.
            store: Where to keep the features.
            report: Called after each file with the number of sentences computed so far.
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
        """Computes features, batching sentences of similar length."""
        for batch in _batches(sorted(sentences, key=len)):
            spans = [WordSpan(words, 0, len(words)) for words in batch]
            with torch.no_grad():
                rows = self._encoder.encode(self._encoder.read(spans)).cpu()
            yield from zip(batch, rows.split([len(words) for words in batch]), strict=True)


def _missing(sentences: Iterable[Words], store: FeatureStore) -> Iterator[list[Words]]:
    """Groups of distinct sentences that are not in the store when they are yielded."""
    part: dict[Words, None] = {}
    for words in chain(sentences, (None,)):
        if words is not None and store.get(words) is None:
            part[words] = None
        if words is None or len(part) == _SENTENCES_A_FILE:
            store.refresh()
            missing = [each for each in part if store.get(each) is None]
            if missing:
                yield missing
            part.clear()


def _batches(sentences: Sequence[Words]) -> Iterator[list[Words]]:
    """Groups of sentences, the longest last, of about the same size including padding."""
    batch: list[Words] = []
    for words in sentences:
        if batch and (len(batch) + 1) * len(words) > _WORDS_AT_ONCE:
            yield batch
            batch = []
        batch.append(words)
    if batch:
        yield batch
