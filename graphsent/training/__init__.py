"""Training: options, the loop, checkpoints, evaluation, and the directory of a run."""

from __future__ import annotations

from graphsent.training.config import RunConfig
from graphsent.training.directory import RunDirectory, load_model
from graphsent.training.evaluation import evaluate
from graphsent.training.module import TrainingModule, classification_loss
from graphsent.training.options import TrainingOptions
from graphsent.training.run import count_parameters, resume, train

__all__ = [
    "RunConfig",
    "RunDirectory",
    "TrainingModule",
    "TrainingOptions",
    "classification_loss",
    "count_parameters",
    "evaluate",
    "load_model",
    "resume",
    "train",
]
