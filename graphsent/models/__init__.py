"""Models: trees and sentences to classes, scores and vectors; saved and loaded as directories.

``MODELS`` maps the name of each model to its class, given as ``"module:Class"``.
"""

from __future__ import annotations

from graphsent.models.apdcnn import APDCNN
from graphsent.models.arnn import ARNNClassifier, ARNNRelatedness
from graphsent.models.base.losses import classification_loss, regression_loss
from graphsent.models.base.model import Model
from graphsent.models.base.pair_prediction import PairPrediction, RankedParses
from graphsent.models.base.prediction import NodePrediction, Prediction
from graphsent.models.batches.guided import GuidedBatch
from graphsent.models.batches.pairs import PairBatch
from graphsent.models.batches.parses import RerankBatch
from graphsent.models.batches.trees import SiblingBatch, TreeBatch
from graphsent.models.batches.words import SequenceBatch
from graphsent.models.bitreelstm import BiTreeLSTMClassifier
from graphsent.models.dcnn import DCNN
from graphsent.models.embeddings.contextual import Contextual
from graphsent.models.embeddings.inputs import Inputs
from graphsent.models.encoders.arnn import ARNNEncoder
from graphsent.models.encoders.tree import TreeEncoder
from graphsent.models.heads.classification import Classifier, SentenceClassifier, TreeClassifier
from graphsent.models.heads.relatedness import RelatednessModel, TreeRelatednessModel
from graphsent.models.inspection import (
    FeatureGraph,
    FilterNgrams,
    Ngram,
    SentenceAttention,
    Table,
    attention_table,
    draw_attention,
    draw_feature_graph,
    draw_ngrams,
    feature_graph,
    filter_ngrams,
    ngram_table,
    sentence_attention,
)
from graphsent.models.kimcnn import KimCNN
from graphsent.models.maxtdnn import MaxTDNN
from graphsent.models.nbow import NBoW
from graphsent.models.recnn import RecNN
from graphsent.models.registry import MODELS, load_pretrained, model_class
from graphsent.models.reranker import ParseReranker, expected_errors, ranking_loss
from graphsent.models.sequence import SequenceClassifier, SequenceRelatedness
from graphsent.models.treelstm import TreeLSTMClassifier
from graphsent.models.treenet import TreeNetClassifier
from graphsent.pairs import TreePair
from graphsent.sentences import Sentence

__all__ = [
    "APDCNN",
    "DCNN",
    "MODELS",
    "ARNNClassifier",
    "ARNNEncoder",
    "ARNNRelatedness",
    "BiTreeLSTMClassifier",
    "Classifier",
    "Contextual",
    "FeatureGraph",
    "FilterNgrams",
    "GuidedBatch",
    "Inputs",
    "KimCNN",
    "MaxTDNN",
    "Model",
    "NBoW",
    "Ngram",
    "NodePrediction",
    "PairBatch",
    "PairPrediction",
    "ParseReranker",
    "Prediction",
    "RankedParses",
    "RecNN",
    "RelatednessModel",
    "RerankBatch",
    "Sentence",
    "SentenceAttention",
    "SentenceClassifier",
    "SequenceBatch",
    "SequenceClassifier",
    "SequenceRelatedness",
    "SiblingBatch",
    "Table",
    "TreeBatch",
    "TreeClassifier",
    "TreeEncoder",
    "TreeLSTMClassifier",
    "TreeNetClassifier",
    "TreePair",
    "TreeRelatednessModel",
    "attention_table",
    "classification_loss",
    "draw_attention",
    "draw_feature_graph",
    "draw_ngrams",
    "expected_errors",
    "feature_graph",
    "filter_ngrams",
    "load_pretrained",
    "model_class",
    "ngram_table",
    "ranking_loss",
    "regression_loss",
    "sentence_attention",
]
