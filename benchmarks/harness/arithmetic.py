"""The operations that a step of the N-ary Tree-LSTM needs, whatever computes it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .data import Batch


def nary_operations(batches: Sequence[Batch], in_feats: int, hidden_feats: int) -> dict[str, int]:
    """Additions and multiplications in products, each word of a batch taken once.

    These are three gates of each word; and five gates of each inner node in each slot, and of each
    word in each slot where it is. A step has two more of each product: the gradients of the weight,
    and of what it is multiplied with, but for that of words, whose table is frozen.

    Returns:
        Those of ``"forward"``, and of a ``"step"``.
    """
    counts = np.sum([_count(batch) for batch in batches], axis=0)
    words, states = (int(count) * hidden_feats for count in counts)
    of_words, of_states = 2 * words * 3 * in_feats, 2 * states * 5 * hidden_feats
    return {"forward": of_words + of_states, "step": 2 * of_words + 3 * of_states}


def _count(batch: Batch) -> tuple[int, int]:
    """The distinct words; and the states that are multiplied."""
    graph = batch.graph
    token, slot = graph.ndata["token"].numpy(), graph.edata["child_index"].numpy()
    word = token[graph.edges()[0].numpy()]
    seen = np.unique(np.stack((word, slot))[:, word >= 0], axis=1)
    return len(np.unique(token[token >= 0])), seen.shape[1] + np.count_nonzero(word < 0)
