"""Tasks: corpora, vocabulary, word vectors, and metrics.

``TASKS`` maps the name of each task to its function, given as ``"module:function"``; ``SPLITS`` has
the names of the splits. ``INPUT_KINDS`` are the forms in which sentences are read: ``"words"``, and
the ``TREE_KINDS``, ``"constituency"`` and ``"dependency"``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphsent.tasks.corpus import INPUT_KINDS, SPLITS, TREE_KINDS, Corpus, CorpusSource
from graphsent.tasks.data_dir import resolve_data_dir
from graphsent.tasks.parsed import with_trees
from graphsent.tasks.parses import label_by_span, resolve_parses_dir
from graphsent.tasks.registry import TASKS, get_task, task_maker, task_options
from graphsent.tasks.sentence_task import SentenceTask
from graphsent.tasks.task import Task, TaskData, TaskStream
from graphsent.tasks.vectors import Coverage, WordVectors, load_vectors
from graphsent.tasks.vocabulary import build_vocabulary, count_words
from graphsent.vocabulary import Vocabulary

# Metrics need torchmetrics, from the extra `train`; the rest of this package does not.
_METRICS = ("PhraseAccuracy", "RootAccuracy", "tree_metrics")

__all__ = [
    "INPUT_KINDS",
    "SPLITS",
    "TASKS",
    "TREE_KINDS",
    "Corpus",
    "CorpusSource",
    "Coverage",
    "PhraseAccuracy",
    "RootAccuracy",
    "SentenceTask",
    "Task",
    "TaskData",
    "TaskStream",
    "Vocabulary",
    "WordVectors",
    "build_vocabulary",
    "count_words",
    "get_task",
    "label_by_span",
    "load_vectors",
    "resolve_data_dir",
    "resolve_parses_dir",
    "task_maker",
    "task_options",
    "tree_metrics",
    "with_trees",
]

if TYPE_CHECKING:
    from graphsent.tasks.metrics import PhraseAccuracy, RootAccuracy, tree_metrics
else:

    def __getattr__(name: str) -> Any:
        if name in _METRICS:
            from graphsent.tasks import metrics

            return getattr(metrics, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
