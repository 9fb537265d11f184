"""Contextual features of words: an encoder of Hugging Face, its word pieces pooled to words.

The encoder is a directory as ``save_pretrained`` of the transformers library writes it, which is
imported when one is loaded. Nothing here knows of models or tasks.
"""

from __future__ import annotations

from graphsent.contextual.encoder import Encoder, encoder_sha256, load_encoder
from graphsent.contextual.features import Features
from graphsent.contextual.pieces import POOLINGS, Pieces
from graphsent.contextual.spans import WordSpan
from graphsent.contextual.store import FeatureStore

__all__ = [
    "POOLINGS",
    "Encoder",
    "FeatureStore",
    "Features",
    "Pieces",
    "WordSpan",
    "encoder_sha256",
    "load_encoder",
]
