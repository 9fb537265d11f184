from graphsent.training.config import RunConfig
from graphsent.training.data import TreeDataModule
from graphsent.training.directory import RunDirectory, load_model
from graphsent.training.errors import TrainingError, TrainingFailed, TrainingInterrupted
from graphsent.training.evaluation import evaluate
from graphsent.training.inputs import InputOptions
from graphsent.training.module import TrainingModule
from graphsent.training.options import TrainingOptions
from graphsent.training.run import resume, train
from graphsent.training.run_set import RunSet, summary
from graphsent.training.runs import resume_runs, train_runs
from graphsent.training.setting import count_parameters
from graphsent.training.subnormals import flushed_subnormals

__all__ = [
    "InputOptions",
    "RunConfig",
    "RunDirectory",
    "RunSet",
    "TrainingError",
    "TrainingFailed",
    "TrainingInterrupted",
    "TrainingModule",
    "TrainingOptions",
    "TreeDataModule",
    "count_parameters",
    "evaluate",
    "flushed_subnormals",
    "load_model",
    "resume",
    "resume_runs",
    "summary",
    "train",
    "train_runs",
]
