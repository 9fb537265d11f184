"""Contextual word features: a Hugging Face encoder, its subword pieces pooled to words.

The encoder is a directory written by ``save_pretrained`` of the transformers library, which is
imported only when an encoder is loaded. Nothing here depends on models or tasks.
"""

from __future__ import annotations

from graphsent.contextual.encoder import Encoder, encoder_sha256, load_encoder
from graphsent.contextual.features import FEATURES_REVISION, Features
from graphsent.contextual.pieces import POOLINGS, Pieces
from graphsent.contextual.spans import WordSpan
from graphsent.contextual.store import FeatureStore

__all__ = [
    "FEATURES_REVISION",
    "POOLINGS",
    "Encoder",
    "FeatureStore",
    "Features",
    "Pieces",
    "WordSpan",
    "encoder_sha256",
    "load_encoder",
]
