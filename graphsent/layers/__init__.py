"""Ordinary tensor modules: encoders of sequences, the head that compares two sentences."""

from __future__ import annotations

from graphsent.layers.relatedness import (
    RelatednessHead,
    expected_score,
    relatedness_loss,
    sparse_target,
)
from graphsent.layers.sequence import SequenceEncoder

__all__ = [
    "RelatednessHead",
    "SequenceEncoder",
    "expected_score",
    "relatedness_loss",
    "sparse_target",
]
