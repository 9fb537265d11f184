"""A training run from its configuration to its results."""

from __future__ import annotations

import os
import platform
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import graphsent
from graphsent._dgl import dgl
from graphsent.errors import DataError, ModelError
from graphsent.models import Model, load_pretrained, model_class
from graphsent.tasks import Task, TaskData, build_vocabulary, count_words, get_task
from graphsent.training.config import RunConfig
from graphsent.training.directory import RunDirectory
from graphsent.training.evaluation import evaluate
from graphsent.training.fit import fit

__all__ = ["resume", "train"]

Echo = Callable[[str], None]


@dataclass(frozen=True)
class _Setting:
    """A run before its first step."""

    task: Task
    data: TaskData
    model: Model
    facts: dict[str, Any]  # the part of results.json that is known by now


def train(
    config: RunConfig,
    out: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    test: bool = True,
    progress: bool = False,
    echo: Echo = print,
) -> dict[str, Any]:
    """Trains a model and judges the one that is best on dev.

    Args:
        config: What to train, on what, and how.
        out: The run directory to make; see :class:`~graphsent.training.directory.RunDirectory`.
        overwrite: Replace a run that is there.
        test: Judge the best model on test at the end.
        progress: Show a progress bar.
        echo: Is given lines for people.

    Returns:
        The content of ``results.json``.

    Raises:
        DataError: Corpus, vectors or options are not usable, or ``out`` is taken.
        ModelError: The model does not take these options or these trees.
        KeyboardInterrupt: The user stopped it; :func:`resume` goes on.
    """
    run = RunDirectory(out)
    setting = _prepare(config, echo)
    run.create(config, overwrite=overwrite)
    return _run(config, run, setting, test=test, progress=progress, echo=echo)


def resume(
    out: str | os.PathLike[str], *, test: bool = True, progress: bool = False, echo: Echo = print
) -> dict[str, Any]:
    """Goes on with a run after its last complete epoch, to the numbers it would have had.

    Arguments, result and errors as in :func:`train`; a finished run is a DataError too.
    """
    run = RunDirectory(out)
    config = run.open()
    if run.read_results().get("finished"):
        raise DataError(f"{run.path}: this run is finished; see {run.results}")
    return _run(config, run, _prepare(config, echo), test=test, progress=progress, echo=echo)


def _run(
    config: RunConfig,
    run: RunDirectory,
    setting: _Setting,
    *,
    test: bool,
    progress: bool,
    echo: Echo,
) -> dict[str, Any]:
    results = dict(setting.facts)
    key = f"dev_{setting.task.selection_metric}"

    def keep(history: list[dict[str, Any]], finished: bool = False) -> None:
        best = max(history, key=lambda entry: entry[key])
        seconds = round(sum(entry["seconds"] for entry in history), 2)
        results.update(
            finished=finished,
            best_epoch=best["epoch"],
            dev=_dev_figures(best),
            history=history,
            training_seconds=seconds,
        )
        run.write_results(results)

    history = fit(
        setting.model,
        setting.task,
        setting.data,
        config.training,
        run,
        progress=progress,
        echo=echo,
        on_epoch=keep,
    )
    if test:
        start = time.perf_counter()
        model = load_pretrained(run.model)
        results["test"] = evaluate(model, setting.task, setting.data.splits["test"])
        results["test_seconds"] = round(time.perf_counter() - start, 2)
    keep(history, finished=True)
    return results


def _dev_figures(entry: dict[str, Any]) -> dict[str, float]:
    return {
        name.removeprefix("dev_"): value for name, value in entry.items() if name.startswith("dev_")
    }


def _prepare(config: RunConfig, echo: Echo) -> _Setting:
    """Reads the data, and builds the model with all its random numbers from the seed."""
    if config.training.num_threads:
        torch.set_num_threads(config.training.num_threads)
    _seed(config.training.seed)
    task = get_task(config.task, **config.task_options)
    data = task.load(config.data_dir)
    echo(f"Data: {data.source.summary()}")
    others = [tree for split in ("dev", "test") for tree in data.splits[split]]
    vocab, vectors = build_vocabulary(
        data.splits["train"], others, config.vectors, seed=config.training.seed
    )
    facts: dict[str, Any] = {
        "graphsent": graphsent.__version__,
        "versions": _versions(),
        **config.to_dict(),
        "corpus": data.source.describe(),
        "vocabulary": len(vocab),
    }
    arguments = dict(config.model_options)
    if vectors is not None:
        echo(f"Vectors: {vectors.summary(count_words(data.splits['train']))}")
        arguments["embedding_dim"] = vectors.dimension
        facts["vectors_dimension"] = vectors.dimension
        facts["coverage"] = str(vectors.coverage(count_words(data.splits["train"])))
    model = _build(config, task, vocab, arguments)
    if vectors is not None:
        model.init_embeddings(vectors.matrix)
    counts = count_parameters(model)
    facts.update(counts)
    echo(
        f"Model: {config.model}, {counts['parameters']:,} parameters and "
        f"{counts['embedding_parameters']:,} of {len(vocab):,} words"
    )
    return _Setting(task, data, model, facts)


def _build(config: RunConfig, task: Task, vocab: Any, arguments: dict[str, Any]) -> Model:
    sparse = config.training.embedding_optimizer == "sgd" and config.training.embedding_lr > 0
    try:
        return model_class(config.model)(
            vocab,
            len(task.label_names),
            label_names=task.label_names,
            sparse_embedding=sparse,
            **arguments,
        )
    except TypeError as error:
        raise ModelError(f"model {config.model}: {error}") from None


def count_parameters(model: Model) -> dict[str, int]:
    """Numbers of parameters: of word vectors, and of all the rest."""
    tables = [module for module in model.modules() if isinstance(module, torch.nn.Embedding)]
    words = sum(table.weight.numel() for table in tables)
    total = sum(parameter.numel() for parameter in model.parameters())
    return {"parameters": total - words, "embedding_parameters": words}


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
    dgl.seed(seed)


def _versions() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "dgl": dgl.__version__,
    }
