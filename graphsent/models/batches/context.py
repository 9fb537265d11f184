"""The context of the words in a batch, from which contextual features are computed."""

from __future__ import annotations

import torch

from graphsent._derived import notes_of
from graphsent._dgl import dgl
from graphsent.contextual import Pieces

__all__ = ["Context", "context_of", "set_context"]

_NAME = "context of words"

Context = torch.Tensor | Pieces
"""The features of the words, (num_words, dim) float32, if the encoder is frozen; otherwise the
pieces that it reads."""


def set_context(graph: dgl.DGLGraph, context: Context) -> None:
    """Attaches the context of the words of a batch, in the order of the sentences, to its graph."""
    notes_of(graph).facts[_NAME] = context


def context_of(graph: dgl.DGLGraph) -> Context | None:
    """The context attached by :func:`set_context`; None if there is none."""
    return notes_of(graph).facts.get(_NAME)
