"""Data for runs on corpora larger than memory: examples are read from shards."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import graphsent
from graphsent._files import sha256
from graphsent.models import Model
from graphsent.shards import ShardSet
from graphsent.tasks import Task, TaskData, TaskStream
from graphsent.tasks.corpus import CorpusSource
from graphsent.training.config import RunConfig
from graphsent.training.errors import TrainingError

__all__ = ["stream_data"]

_MEGABYTE = 1_000_000


def stream_data(
    config: RunConfig,
    task: Task,
    stream: TaskStream,
    reader: Model,
    echo: Callable[[str], None],
    *,
    progress: bool,
) -> TaskData:
    """The splits of a task as sequences read from shards, which are written on first use.

    Args:
        config: The configuration of the run.
        task: The task.
        stream: Its examples.
        reader: A model of the kind to be trained, with any vocabulary and weights. The arrays that
            it derives from trees are stored in the shards.
        echo: Called with a line about the shards of each split.
        progress: Whether to show progress bars while writing shards.

    Raises:
        DataError: The corpus cannot be used.
        TrainingError: The model learns from other examples than those of the task, or one of them
            is not defined in a file.
        ShardsFailed: Shards cannot be written or read.
    """
    splits, counts = {}, {}
    for split, examples in stream.splits.items():
        shards = ShardSet(f"{task.name}-{split}", _about(config, stream, task, reader, split))
        found = shards.open(examples, reader.collate, progress=progress, echo=echo)
        if split == "train" and config.training.loss_nodes == "all":
            _check_examples(reader, [found[int(found.sizes().argmax())]])
        size = shards.num_bytes() / _MEGABYTE
        echo(f"{split}: {len(found):,} examples in shards, {size:,.1f} MB in {shards.directory}")
        splits[split], counts[split] = found, len(found)
    source = replace(stream.source, counts=counts)
    if isinstance(source, CorpusSource):
        source = replace(source, remarks=task.remarks(source))
    return TaskData(splits, source)


def _check_examples(reader: Model, largest: Sequence[Any]) -> None:
    """Raises a TrainingError if a model learns from other examples than those of the task.

    It does so if any example is a tree of several nodes, such as the largest.
    """
    if reader.training_examples(largest) is not largest:
        raise TrainingError(
            f"--stream: {reader.name} learns from the labelled phrases of trees, without "
            "duplicates, which requires the corpus in memory: leave out --stream, or train on "
            "whole sentences, with --loss-nodes root"
        )


def _about(
    config: RunConfig, stream: TaskStream, task: Task, reader: Model, split: str
) -> dict[str, Any]:
    """Everything that determines the examples of a split and the arrays stored with them."""
    # What a model derives from trees depends on its kind and variant, not on numeric options.
    chosen = {
        name: value
        for name, value in reader.config.items()
        if isinstance(value, str | bool) and name != "sparse_embedding"
    }
    return {
        "graphsent": graphsent.__version__,
        "task": config.task,
        "task_options": dict(task.options),
        "label_names": task.label_names,
        "split": split,
        "tree_kind": stream.source.tree_kind,
        "trees": config.trees,
        "tokenizer": task.tokenizer,
        "corpus": stream.source.describe()["name"],
        "sha256": stream.source.digests(split),
        "model": reader.name,
        "model_options": chosen,
        "code": [_digest_of_code(type(each)) for each in (task, reader)],
    }


def _digest_of_code(cls: type) -> str | None:
    """The digest of the file that defines a class, since custom ones change during development."""
    try:
        return sha256(Path(inspect.getsourcefile(cls) or ""))
    except (OSError, TypeError):
        if cls.__module__.startswith("graphsent."):  # installed without sources
            return None
        raise TrainingError(
            f"--stream: cannot tell whether shards are those of the present {cls.__name__}, which "
            "is not defined in a file: move it to one, or leave out --stream"
        ) from None
