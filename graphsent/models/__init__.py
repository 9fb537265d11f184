"""Models: from trees to classes and vectors, saved and loaded as directories."""

from __future__ import annotations

from graphsent.models.base import Model
from graphsent.models.batch import TreeBatch
from graphsent.models.classifier import TreeClassifier
from graphsent.models.nbow import NBoW
from graphsent.models.prediction import Prediction
from graphsent.models.registry import MODELS, load_pretrained, model_class
from graphsent.models.treelstm import TreeLSTMClassifier

__all__ = [
    "MODELS",
    "Model",
    "NBoW",
    "Prediction",
    "TreeBatch",
    "TreeClassifier",
    "TreeLSTMClassifier",
    "load_pretrained",
    "model_class",
]
