"""Layers on tensors: convolution and pooling over sentences, sequence encoders, output heads.

Layers over sentences take ``x`` (batch, channels, time) and ``lengths`` (batch,) int64; those that
change the lengths return ``(y, new_lengths)``. Values beyond the length of a sentence do not affect
results, and are zero in results.
"""

from __future__ import annotations

from graphsent.layers.activation import BiasActivation
from graphsent.layers.attention_pooling import AttentionPooling
from graphsent.layers.convolution import NarrowConv1d, WideConv1d
from graphsent.layers.dropout import Dropout
from graphsent.layers.errors import LayerError
from graphsent.layers.folding import Folding
from graphsent.layers.kmax import DynamicKMaxPooling, KMaxPooling, dynamic_k
from graphsent.layers.lengths import time_mask, zero_beyond
from graphsent.layers.linear import Linear
from graphsent.layers.pooling import MaxPooling, MeanPooling, SumPooling
from graphsent.layers.recurrent import GRU, LSTM
from graphsent.layers.relatedness import (
    RelatednessHead,
    expected_score,
    relatedness_loss,
    sparse_target,
)
from graphsent.layers.sequence import SequenceEncoder

__all__ = [
    "GRU",
    "LSTM",
    "AttentionPooling",
    "BiasActivation",
    "Dropout",
    "DynamicKMaxPooling",
    "Folding",
    "KMaxPooling",
    "LayerError",
    "Linear",
    "MaxPooling",
    "MeanPooling",
    "NarrowConv1d",
    "RelatednessHead",
    "SequenceEncoder",
    "SumPooling",
    "WideConv1d",
    "dynamic_k",
    "expected_score",
    "relatedness_loss",
    "sparse_target",
    "time_mask",
    "zero_beyond",
]
