"""A training run from its configuration to its results."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from graphsent.models import load_pretrained, model_class
from graphsent.training.building import task_option_defaults
from graphsent.training.card import model_card
from graphsent.training.config import RunConfig
from graphsent.training.directory import RunDirectory
from graphsent.training.errors import TrainingError
from graphsent.training.evaluation import evaluate
from graphsent.training.fit import fit
from graphsent.training.setting import Setting, prepare
from graphsent.training.subnormals import flushed_subnormals

__all__ = ["resume", "show", "train"]

Echo = Callable[[str], None]
show = functools.partial(print, flush=True)  # seen at once, in a file or pipe too

# Facts about a run that must not change while it is interrupted.
_LASTING = ("corpus", "trees", "word_vectors", "encoder")


@flushed_subnormals()
def train(
    config: RunConfig,
    out: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    test: bool = True,
    progress: bool = False,
    echo: Echo = show,
) -> dict[str, Any]:
    """Trains a model and evaluates the one that is best on dev.

    Seeds the global random generators of Python, numpy and torch. Numbers below the normal range
    are flushed to zero while it runs, see :func:`~graphsent.training.flushed_subnormals`.

    Args:
        config: What to train, on what, and how.
        out: The run directory to make; see :class:`~graphsent.training.directory.RunDirectory`.
        overwrite: Replace a run that is there.
        test: Evaluate the best model on test at the end, if there is a test split.
        progress: Show a progress bar.
        echo: Is given lines for the user.

    Returns:
        The content of ``results.json``.

    Raises:
        TrainingError: ``out`` is taken, or the model has no such option.
        TrainingFailed: The loss is not finite.
        DataError: Corpus or vectors are not usable.
        ModelError: The model does not take a value, or these trees.
        OSError: Something cannot be written; ``filename`` says what.
        TrainingInterrupted: Ctrl-C or SIGTERM; :func:`resume` continues.
    """
    run = RunDirectory(out)
    run.check_free(overwrite=overwrite)  # before anything that takes long
    defaults = task_option_defaults(config.model, config.task)
    config = replace(config, task_options={**defaults, **config.task_options})
    setting = prepare(config, echo, progress=progress)
    with run.held():
        run.create(setting.config, held_out=setting.data.held_out, overwrite=overwrite)
        try:
            return _run(run, setting, test=test, progress=progress, echo=echo)
        except Exception:
            if not run.is_begun:
                run.clear()
            raise


@flushed_subnormals()
def resume(
    out: str | os.PathLike[str],
    *,
    epochs: int | None = None,
    encoder: str | os.PathLike[str] | None = None,
    test: bool = True,
    progress: bool = False,
    echo: Echo = show,
) -> dict[str, Any]:
    """Continues a run after its last complete epoch, with the results it would have had.

    Args:
        out: The directory of the run.
        epochs: Train up to this epoch, instead of the one that the run was started with.
        encoder: Where its encoder is now, if it was moved.
        test: As in :func:`train`, like the others.
        progress: See there.
        echo: See there.

    Raises:
        TrainingError: There is no run, or another process is in it; it is complete, or has more
            than ``epochs``; its data or word vectors are no longer those it began with; or its
            checkpoint or results are damaged. And the errors of :func:`train`.
    """
    run = RunDirectory(out)
    run.open()  # before it is held: there may be no directory
    with run.held():
        return _resume(run, epochs, encoder, test=test, progress=progress, echo=echo)


def _resume(
    run: RunDirectory,
    epochs: int | None,
    encoder: str | os.PathLike[str] | None,
    *,
    test: bool,
    progress: bool,
    echo: Echo,
) -> dict[str, Any]:
    run.recover()
    config = run.open()
    if encoder is not None:
        config = replace(config, inputs=replace(config.inputs, encoder=os.fspath(encoder)))
    if epochs is not None:
        config = replace(config, training=replace(config.training, epochs=epochs))
    before = run.read_results()
    done = len(before.get("history", ()))
    if config.training.epochs < done:
        raise TrainingError(
            f"{run.path} has {done} epochs already: expected more epochs, "
            f"got {config.training.epochs}"
        )
    if before.get("finished") and epochs in (None, done):
        raise TrainingError(f"{run.path}: this run is complete; more epochs would continue it")
    if before and "tokenizer" not in before:  # it began when there was no choice
        config = replace(config, lower_fallback=False, tokenizer=_tokenizer_before(config))
    setting = prepare(config, echo, run.read_splits(), progress=progress)
    for fact in _LASTING:
        if before and before.get(fact) != setting.facts.get(fact):
            name = fact.replace("_", " ")
            raise TrainingError(f"{run.path}: the {name} changed since this run began: start anew")
    setting.config.save(run.config)
    return _run(run, setting, test=test, progress=progress, echo=echo)


def _run(
    run: RunDirectory, setting: Setting, *, test: bool, progress: bool, echo: Echo
) -> dict[str, Any]:
    options = setting.config.training
    results: dict[str, Any] = {"finished": False, **setting.facts}
    key = f"dev_{setting.task.selection_metric}"

    def keep(history: list[dict[str, Any]]) -> None:
        best = max(history, key=lambda entry: entry[key])
        seconds = sum(entry["seconds"] for entry in history)
        results.update(
            best_epoch=best["epoch"],
            dev=_dev_figures(best),
            history=history,
            training_seconds=round(seconds, 2),
        )
        run.write_results(results)

    threads = torch.get_num_threads()
    torch.set_num_threads(options.num_threads or threads)
    try:
        history = fit(
            setting.model,
            setting.task,
            setting.data,
            options,
            run,
            progress=progress,
            echo=echo,
            on_epoch=keep,
        )
        if test and "test" in setting.data.splits:
            start = time.perf_counter()
            model = load_pretrained(run.model, setting.config.inputs.frozen_encoder)
            model.to(options.device)
            model.keep_features(setting.data.splits["test"])
            model.engine = options.engine
            results["test"] = evaluate(model, setting.task, setting.data.splits["test"])
            results["test_seconds"] = round(time.perf_counter() - start, 2)
    finally:
        torch.set_num_threads(threads)
    results["finished"] = True
    keep(history)
    run.write_card(model_card(setting.model, results))
    return results


def _tokenizer_before(config: RunConfig) -> str | None:
    """The settings of runs that do not record them."""
    return "whitespace" if model_class(config.model).tokenizer is not None else None


def _dev_figures(entry: dict[str, Any]) -> dict[str, float]:
    return {
        name.removeprefix("dev_"): value for name, value in entry.items() if name.startswith("dev_")
    }
