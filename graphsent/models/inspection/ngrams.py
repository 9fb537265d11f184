"""The n-grams that activate each filter most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphsent.errors import ModelError
from graphsent.models.arguments import check_sizes
from graphsent.models.base.inference import evaluating
from graphsent.models.batches.forms import as_sentences
from graphsent.models.encoders.filters import Filter
from graphsent.models.inspection.table import Table
from graphsent.tokenizers import tokenize_treebank

__all__ = ["FilterNgrams", "Ngram", "filter_ngrams", "ngram_table"]

_WINDOWS_AT_ONCE = 4096


class Ngram(NamedTuple):
    """Consecutive words and a filter's response to them.

    Attributes:
        words: The words, as many as the filter is wide.
        score: The response, the sum of ``shares``.
        shares: The contribution of each word.
    """

    words: tuple[str, ...]
    score: float
    shares: tuple[float, ...]


class FilterNgrams(NamedTuple):
    """The n-grams that activate a filter most.

    Attributes:
        filter: Name of the filter.
        ngrams: The n-grams, highest response first; empty if all sentences are shorter than the
            filter.
    """

    filter: str
    ngrams: tuple[Ngram, ...]


def filter_ngrams(
    model: Any, sentences: Iterable[Any], top: int = 5, *, filters: Sequence[int] | None = None
) -> list[FilterNgrams]:
    r"""Finds the n-grams of a corpus that activate each first-layer filter of a model most.

    Kalchbrenner et al. 2014, section 4.4. The n-grams of a filter of width m are the distinct
    windows of m consecutive words within a sentence; the response to a window ending at word t is
    that of the convolution,

    .. math::
        \sum_{a=1}^m w_a \cdot x_{t-m+a}

    before folding, without bias and non-linearity. In a DCNN a filter is one row of one map, w and
    x are scalars, and SST-2's configuration has 288 filters. Ties are broken by order in the
    corpus.

    Args:
        model: A model with filters over words: ``DCNN``, ``MaxTDNN``, ``KimCNN`` or ``APDCNN``.
        sentences: The corpus, see :func:`~graphsent.models.batches.forms.as_sentences`. A model of
            trees has no tokenizer: for it, raw text is split as in treebanks.
        top: Number of n-grams per filter.
        filters: Numbers of the filters, from 1 in the order of ``model.first_filters()``; all by
            default.

    Returns:
        The n-grams of each filter, in the order of ``filters``.

    Raises:
        ModelError: The model has no filters, or not that many, or an encoder; ``top`` is not
            positive; or an input is not a sentence.

    Example:
        >>> from graphsent.models import DCNN
        >>> from graphsent.vocabulary import Vocabulary
        >>> model = DCNN(Vocabulary(["dull", "good"]), 2, 4, widths=(2,), maps=(1,))
        >>> found = filter_ngrams(model, ["a good film", "so dull"], top=1)
        >>> len(found), found[0].filter, len(found[0].ngrams[0].words)
        (4, 'map 1, row 1', 2)
    """
    check_sizes(top=top)
    chosen = _chosen_filters(model, filters)
    if model.inputs is not None and model.inputs.contextual is not None:
        raise ModelError(
            f"the filters of this model {model.name!r} read words in their sentences: with an "
            "encoder, an n-gram alone has no response"
        )
    tokenize = getattr(model, "tokenize", tokenize_treebank)  # models of trees have none
    texts = [each.words for each in as_sentences(sentences, tokenize, model.label_names)]
    result: dict[int, FilterNgrams] = {}
    with evaluating(model) as still:
        for width in sorted({each.width for each in chosen}):
            of_width = [place for place, each in enumerate(chosen) if each.width == width]
            found = _best(still, [chosen[place] for place in of_width], _windows(texts, width), top)
            result.update(zip(of_width, found, strict=True))
    return [result[place] for place in range(len(chosen))]


def ngram_table(found: Sequence[FilterNgrams]) -> Table:
    """A table with one row per n-gram: filter, rank from 1, score and words."""
    rows = [
        (each.filter, rank, ngram.score, " ".join(ngram.words))
        for each in found
        for rank, ngram in enumerate(each.ngrams, start=1)
    ]
    return Table(("filter", "rank", "score", "ngram"), rows)


def _chosen_filters(model: Any, numbers: Sequence[int] | None) -> list[Filter]:
    if not hasattr(model, "first_filters"):
        name = getattr(model, "name", type(model).__name__)
        raise ModelError(f"the model {name!r} has no filters: expected a convolutional model")
    filters = model.first_filters()
    if not filters:
        raise ModelError(f"this model {model.name!r} has no convolution and hence no filters")
    for number in () if numbers is None else numbers:
        if not 1 <= number <= len(filters):
            raise ModelError(f"there is no filter {number}: the model has {len(filters)}")
    return filters if numbers is None else [filters[number - 1] for number in numbers]


def _windows(texts: Sequence[Sequence[str]], width: int) -> list[tuple[str, ...]]:
    """The distinct windows, in order of first occurrence."""
    return list(
        dict.fromkeys(
            tuple(words[begin : begin + width])
            for words in texts
            for begin in range(len(words) - width + 1)
        )
    )


def _best(
    model: Any, filters: list[Filter], windows: list[tuple[str, ...]], top: int
) -> list[FilterNgrams]:
    """The best windows of filters of one width."""
    dim = model.embedding.embedding_dim
    weights = torch.stack([_dense(each, dim) for each in filters])  # (filters, dim, width)
    scores = weights.new_zeros(0, len(filters))
    places = torch.zeros(0, len(filters), dtype=torch.int64, device=weights.device)
    for begin, vectors in _vectors(model, windows):
        found = vectors.flatten(1) @ weights.transpose(1, 2).flatten(1).T
        numbers = torch.arange(begin, begin + len(found), device=places.device)
        scores = torch.cat((scores, found))
        places = torch.cat((places, numbers[:, None].expand_as(found)))
        scores, order = scores.sort(dim=0, descending=True, stable=True)
        scores, places = scores[:top], places.gather(0, order[:top])
    result = []
    for number, each in enumerate(filters):
        chosen = [windows[place] for place in places[:, number].tolist()]
        shares = _shares(model, weights[number], chosen)
        ngrams = zip(chosen, shares, strict=True)
        result.append(FilterNgrams(each.name, tuple(Ngram(w, sum(s), s) for w, s in ngrams)))
    return result


def _dense(each: Filter, dim: int) -> Tensor:
    """The coefficients over all elements of word vectors, (dim, width)."""
    dense = each.weight.new_zeros(dim, each.width)
    dense[each.rows] = each.weight
    return dense


def _vectors(model: Any, windows: list[tuple[str, ...]]) -> Iterator[tuple[int, Tensor]]:
    """Parts of the windows: the index of the first, and word vectors (windows, width, dim)."""
    device = model.output.weight.device
    for begin in range(0, len(windows), _WINDOWS_AT_ONCE):
        part = windows[begin : begin + _WINDOWS_AT_ONCE]
        index = np.array([[model.vocab[word] for word in words] for words in part], np.int64)
        tokens = torch.from_numpy(index).to(device)
        yield begin, model.word_vectors(tokens.flatten()).unflatten(0, tokens.shape)


def _shares(model: Any, weight: Tensor, windows: list[tuple[str, ...]]) -> list[tuple[float, ...]]:
    """The contribution of each word to the response of one filter, in double precision."""
    rows: list[tuple[float, ...]] = []
    for _, vectors in _vectors(model, windows):
        products = vectors.double() * weight.double().T
        rows += [tuple(row) for row in products.sum(2).tolist()]
    return rows
