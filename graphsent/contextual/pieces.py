"""The subword pieces of sentences, and the words they belong to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphsent.contextual.spacing import text_of_words
from graphsent.contextual.spans import WordSpan
from graphsent.graphs.spans import sum_of_rows

__all__ = ["POOLINGS", "Pieces", "read_pieces"]

POOLINGS = ("mean", "first")

# Texts -> the piece ids of each, and the half-open character range of each piece.
Tokenize = Callable[[list[str]], tuple[list[list[int]], list[list[tuple[int, int]]]]]


class Pieces(NamedTuple):
    """Subword pieces of distinct sentences, and the words requested from them.

    A sentence longer than the encoder's limit is split into several parts.

    Attributes:
        ids: (num_parts, longest) int64, piece ids, including the encoder's special tokens.
        mask: (num_parts, longest) int64, 1 for a piece and 0 for padding.
        terms: (num_terms,) int64, ``part * longest + position`` of the pieces to pool: those of
            the first word, then of the second, and so on through all sentences.
        first: (num_sentence_words,) int64, where the pieces of each word begin in ``terms``.
        words: (num_words,) int64, which of these words are requested, in order; they may repeat.
    """

    ids: Tensor
    mask: Tensor
    terms: Tensor
    first: Tensor
    words: Tensor

    def to(self, device: torch.device | str) -> Pieces:
        """The pieces on another device."""
        return Pieces(*(tensor.to(device) for tensor in self))

    def pooled(self, hidden: Tensor) -> Tensor:
        """The mean over the pieces of each requested word.

        Args:
            hidden: (num_parts, longest, dim), the encoder's last layer.

        Returns:
            (num_words, dim) float32; zeros for a word without pieces, such as one of control
            characters only.
        """
        ends = torch.cat((self.first[1:], self.first.new_full((1,), len(self.terms))))
        counts = (ends - self.first).clamp(min=1)
        sums = sum_of_rows(hidden.flatten(0, 1).float(), self.terms, self.first)
        return (sums / counts[:, None])[self.words]


class _Part(NamedTuple):
    """A sentence, or a stretch of one that is too long for the encoder."""

    ids: list[int]
    places: list[list[int]]  # positions of each word's pieces


def read_pieces(
    spans: Sequence[WordSpan], tokenize: Tokenize, *, longest: int, pooling: str, padding: int
) -> Pieces:
    """Tokenizes sentences into pieces; equal sentences appear once.

    A piece belongs to the word in which it begins; a word in which none begins gets the piece that
    extends into it.

    Args:
        spans: Words in their sentences.
        tokenize: Splits texts into pieces.
        longest: Maximum number of pieces the encoder reads at once.
        pooling: ``"mean"`` pools all pieces of a word, ``"first"`` takes the first.
        padding: Piece id that pads shorter sentences.
    """
    sentences = list(dict.fromkeys(span.sentence for span in spans if span.sentence))
    parts_of = _parts(sentences, tokenize, longest)
    # A tokenizer without special tokens may find no pieces; a network reads at least one.
    parts = [part._replace(ids=part.ids or [padding]) for parts in parts_of for part in parts]
    width = max((len(part.ids) for part in parts), default=0)
    ids = np.full((len(parts), width), padding, np.int64)
    mask = np.zeros_like(ids)
    terms: list[int] = []
    first: list[int] = []
    for row, part in enumerate(parts):
        ids[row, : len(part.ids)] = part.ids
        mask[row, : len(part.ids)] = 1
        for places in part.places:
            first.append(len(terms))
            terms += [row * width + place for place in places[: None if pooling == "mean" else 1]]
    begins: dict[tuple[str, ...], int] = {}
    num_words = 0
    for sentence in sentences:
        begins[sentence] = num_words
        num_words += len(sentence)
    wanted = [
        np.arange(span.begin, span.end) + begins[span.sentence] for span in spans if span.sentence
    ]
    words = np.concatenate([np.zeros(0, np.int64), *wanted])
    arrays = ids, mask, np.array(terms, np.int64), np.array(first, np.int64), words
    return Pieces(*map(torch.from_numpy, arrays))


def _parts(sentences: list[tuple[str, ...]], tokenize: Tokenize, longest: int) -> list[list[_Part]]:
    """The parts of each sentence; one that is too long is halved recursively."""
    if not sentences:
        return []
    texts = [text_of_words(sentence) for sentence in sentences]
    numbers, offsets = tokenize([text for text, _ in texts])
    parts = []
    for sentence, (text, spans), ids, ends in zip(sentences, texts, numbers, offsets, strict=True):
        if len(ids) > longest and len(sentence) > 1:
            half = len(sentence) // 2
            halves = _parts([sentence[:half], sentence[half:]], tokenize, longest)
            parts.append([part for each in halves for part in each])
        else:  # a single word with more pieces is truncated
            part = _Part(ids[:longest], _places(text, spans, ends[:longest]))
            parts.append([part])
    return parts


def _places(
    text: str, spans: Sequence[tuple[int, int]], offsets: Sequence[tuple[int, int]]
) -> list[list[int]]:
    """Positions of the pieces of each word."""
    begins = [begin for begin, _ in spans]
    places: list[list[int]] = [[] for _ in spans]
    reaching = [-1] * len(spans)  # the last piece that begins before the word and extends into it
    for place, (begin, end) in enumerate(offsets):
        while begin < end and text[begin].isspace():  # pieces may include the preceding space
            begin += 1
        if begin == end:  # a special token
            continue
        word = bisect_right(begins, begin) - 1
        places[word].append(place)
        for later in range(word + 1, bisect_right(begins, end - 1)):
            reaching[later] = place
    return [
        own or ([over] if over >= 0 else []) for own, over in zip(places, reaching, strict=True)
    ]
