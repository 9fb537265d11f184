"""Model inspection: what filters respond to, what pooling selects, where attention lies.

Following sections 3.6 and 4.4 of Kalchbrenner et al. 2014 (the induced feature graph; visualizing
feature detectors), and the same for the attention of AP-DCNN.
"""

from __future__ import annotations

from graphsent.models.inspection.attention import (
    SentenceAttention,
    attention_table,
    sentence_attention,
)
from graphsent.models.inspection.draw_attention import draw_attention
from graphsent.models.inspection.draw_feature_graph import draw_feature_graph
from graphsent.models.inspection.draw_ngrams import draw_ngrams
from graphsent.models.inspection.feature_graph import FeatureGraph, feature_graph
from graphsent.models.inspection.ngrams import FilterNgrams, Ngram, filter_ngrams, ngram_table
from graphsent.models.inspection.table import Table

__all__ = [
    "FeatureGraph",
    "FilterNgrams",
    "Ngram",
    "SentenceAttention",
    "Table",
    "attention_table",
    "draw_attention",
    "draw_feature_graph",
    "draw_ngrams",
    "feature_graph",
    "filter_ngrams",
    "ngram_table",
    "sentence_attention",
]
