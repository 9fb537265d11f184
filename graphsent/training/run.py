"""Training runs, from configuration to results."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from graphsent._files import named
from graphsent._threads import torch_threads
from graphsent.models import load_pretrained, model_class
from graphsent.training.card import model_card
from graphsent.training.config import RunConfig
from graphsent.training.devices import cpu_by_default, process_rank
from graphsent.training.directory import RunDirectory, contents
from graphsent.training.errors import TrainingError
from graphsent.training.evaluation import evaluate
from graphsent.training.setting import Setting, prepare, unheard
from graphsent.training.subnormals import flushed_subnormals

__all__ = ["FREE_OPTIONS", "changed_options", "resume", "show", "train", "train_checked"]

Echo = Callable[[str], None]

# Facts about a run that must not change between its start and its resumption.
_LASTING = ("corpus", "trees", "word_vectors", "encoder")
# Settings of words that are not options of a part of the configuration.
_OF_WORDS = ("lower_fallback", "tokenizer")
# Options that may change, since they do not affect the figures of an epoch. An encoder that was
# moved is the same one.
FREE_OPTIONS = ("device", "encoder", "engine", "epochs", "logger", "num_threads", "patience")


def show(line: str) -> None:
    """Prints a line, visible at once also in files and pipes.

    Raises:
        OSError: It cannot be written; ``filename`` is standard output, not a file of the run.
    """
    output = Path("standard output")
    with named(output, output):
        print(line, flush=True)


def train(
    config: RunConfig,
    out: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    test: bool = True,
    progress: bool = False,
    echo: Echo = show,
) -> dict[str, Any]:
    """Trains a model and evaluates the best one on dev.

    Seeds the global random generators of Python, NumPy and torch. Subnormal numbers are flushed to
    zero while it runs, see :func:`~graphsent.training.flushed_subnormals`.

    With several ``devices`` or ``nodes``, every process calls this, and only rank 0 writes files
    and prints. On a single machine rank 0 starts the others, as Lightning does: by running the
    current script or command again.

    Args:
        config: The configuration of the run.
        out: The run directory to create, see
            :class:`~graphsent.training.directory.RunDirectory`.
        overwrite: Whether to replace an existing run.
        test: Whether to evaluate the best model on test at the end, if there is a test split.
        progress: Whether to show a progress bar.
        echo: Called with lines for the user.

    Returns:
        The content of ``results.json``; without test results on ranks other than 0.

    Raises:
        TrainingError: ``out`` is in use, or the model has no such option.
        TrainingFailed: The loss is not finite.
        DataError: Corpus or vectors cannot be used.
        ModelError: The model rejects a value, or these trees.
        OSError: A file cannot be written; see its ``filename``.
        TrainingInterrupted: Ctrl-C or SIGTERM; :func:`resume` continues the run.
    """
    return train_checked(
        config,
        out,
        lambda facts: None,
        overwrite=overwrite,
        test=test,
        progress=progress,
        echo=echo,
    )


@cpu_by_default()
@flushed_subnormals()
@torch.inference_mode(False)  # whose tensors, such as weights, cannot be trained
def train_checked(
    config: RunConfig,
    out: str | os.PathLike[str],
    check: Callable[[Mapping[str, Any]], None],
    *,
    overwrite: bool = False,
    test: bool = True,
    progress: bool = False,
    echo: Echo = show,
) -> dict[str, Any]:
    """As :func:`train`; ``check`` may reject the facts about the run, see :func:`prepare`."""
    run = RunDirectory(out)
    defaults = model_class(config.model).task_option_defaults.get(config.task, {})
    config = replace(config, task_options={**defaults, **config.task_options})
    if process_rank(config.training):
        return _follow(run, prepare(config, unheard), resumed=False)
    run.check_free(overwrite=overwrite)  # before anything that takes long
    setting = prepare(config, echo, check=check, progress=progress)
    with run.held():
        run.create(setting.config, held_out=setting.data.held_out, overwrite=overwrite)
        try:
            return _lead(run, setting, resumed=False, test=test, progress=progress, echo=echo)
        except Exception:
            if run.is_held and not run.is_begun:
                run.clear()
            raise


@cpu_by_default()
@flushed_subnormals()
@torch.inference_mode(False)  # whose tensors, such as weights, cannot be trained
def resume(
    out: str | os.PathLike[str],
    *,
    epochs: int | None = None,
    encoder: str | os.PathLike[str] | None = None,
    test: bool = True,
    progress: bool = False,
    echo: Echo = show,
) -> dict[str, Any]:
    """Continues a run after its last complete epoch; results are as without the interruption.

    Args:
        out: The directory of the run.
        epochs: Total number of epochs, instead of that of the configuration.
        encoder: The encoder's directory, if it was moved.
        test: As in :func:`train`.
        progress: As in :func:`train`.
        echo: As in :func:`train`.

    Raises:
        TrainingError: There is no run, or another process uses it; it is complete, or has more than
            ``epochs``; its data, word vectors or options have changed; or its checkpoint or results
            are damaged. Also the errors of :func:`train`.
    """
    run = RunDirectory(out)
    config = run.open()  # before locking: there may be no directory
    if process_rank(config.training):
        setting = _continued(run, epochs, encoder, test=test, progress=False, echo=unheard)
        return _follow(run, setting, resumed=True)
    with run.held():
        setting = _continued(run, epochs, encoder, test=test, progress=progress, echo=echo)
        setting.config.save(run.config)
        return _lead(run, setting, resumed=True, test=test, progress=progress, echo=echo)


def _continued(
    run: RunDirectory,
    epochs: int | None,
    encoder: str | os.PathLike[str] | None,
    *,
    test: bool,
    progress: bool,
    echo: Echo,
) -> Setting:
    """The setting with which a run continues."""
    config = run.open()
    if encoder is not None:
        config = replace(config, inputs=replace(config.inputs, encoder=os.fspath(encoder)))
    if epochs is not None:
        config = replace(config, training=replace(config.training, epochs=epochs))
    before = run.read_results()
    done = len(before.get("history", ()))
    if done and not run.checkpoint.is_file():
        raise TrainingError(
            f"{run.checkpoint}: there is no such file, so the run cannot be continued: train a new "
            "one (with --overwrite, in the same directory)"
        )
    if config.training.epochs < done:
        raise TrainingError(
            f"{run.path} has {done} epochs already: expected more epochs, "
            f"got {config.training.epochs}"
        )
    planned = _planned_epochs(before)
    advice = f"; for test: graphsent evaluate {run.path} --split test" if test else ""
    if before.get("finished") and planned is not None and done < planned:
        raise TrainingError(
            f"{run.path}: this run is complete: it stopped early, after {done} epochs, so that "
            f"more would not continue it; a new run may have more patience{advice}"
        )
    # A run that was to be continued for more epochs, and was interrupted, is not complete.
    if before.get("finished") and config.training.epochs in (done, planned):
        message = f"{run.path}: this run is complete; more epochs would continue it{advice}"
        raise TrainingError(message)
    if before and "tokenizer" not in before:  # from a version without these options
        config = replace(config, lower_fallback=False, tokenizer=_tokenizer_before(config))
    where = config.inputs.encoder
    if where and not os.path.isdir(os.path.expanduser(where)):
        raise TrainingError(
            f"{run.path}: the encoder of the run is not in {where}: pass its directory "
            "(--encoder DIR)"
        )

    def check(facts: Mapping[str, Any]) -> None:
        for fact in _LASTING:
            if before and contents(before.get(fact)) != contents(facts.get(fact)):
                name = fact.replace("_", " ")
                raise TrainingError(
                    f"{run.path}: the {name} changed since this run began: start a new one"
                )
        for name, value, now in changed_options(before, facts, FREE_OPTIONS):
            raise TrainingError(
                f"{run.config}: {name} was {value!r} when this run began, now {now!r}: change it "
                "back, or start a new run"
            )

    return prepare(config, echo, run.read_splits(), check=check, progress=progress)


def changed_options(
    before: Mapping[str, Any], now: Mapping[str, Any], free: Collection[str]
) -> Iterator[tuple[str, Any, Any]]:
    """The options besides those of the task that differ between two runs, and both values.

    Args:
        before: The facts about a run, as in ``results.json``.
        now: Those about another one.
        free: Names of options that may differ.
    """
    parts = [(before.get(part), now.get(part)) for part in ("model_options", "inputs", "training")]
    of_words = [{name: each[name] for name in _OF_WORDS if name in each} for each in (before, now)]
    for known, given in (of_words, *parts):
        for name, value in known.items() if isinstance(known, dict) else ():
            if name not in free and isinstance(given, dict) and given.get(name, value) != value:
                yield name, value, given[name]


def _lead(
    run: RunDirectory, setting: Setting, *, resumed: bool, test: bool, progress: bool, echo: Echo
) -> dict[str, Any]:
    """Trains as rank 0, which writes files."""
    from graphsent.training.fit import fit  # imports Lightning, for seconds: errors come first

    options = setting.config.training
    results: dict[str, Any] = {"finished": False, **setting.facts}
    if options.num_processes > 1:
        together = options.num_processes * options.batch_size
        echo(f"{options.num_processes} processes, {together} sentences per step")

    def keep(history: list[dict[str, Any]]) -> None:
        results.update(_outcome(setting, history))
        run.write_results(results)

    with torch_threads(options.num_threads):
        history = fit(setting, run, resumed=resumed, progress=progress, echo=echo, on_epoch=keep)
        results |= _outcome(setting, history)  # of a resumed run, perhaps of no more epochs
        if test and "test" in setting.data.splits:
            start = time.perf_counter()
            config = setting.config
            cls = model_class(config.model)
            model = load_pretrained(run.model, config.inputs.frozen_encoder, cls)
            model.to(options.device)
            model.keep_features(setting.data.splits["test"])
            model.engine = options.engine
            found = evaluate(model, setting.task, setting.data.splits["test"])
            results["test"] = setting.selection.first(found)
            results["test_seconds"] = round(time.perf_counter() - start, 2)
    run.check_held()
    results["finished"] = True
    # A kill in between must not leave a run that is complete but lacks a file.
    run.write_history(history)
    run.write_card(model_card(setting.model, results))
    run.write_results(results)
    return results


def _follow(run: RunDirectory, setting: Setting, *, resumed: bool) -> dict[str, Any]:
    """Trains as another rank, which writes nothing."""
    from graphsent.training.fit import fit

    with torch_threads(setting.config.training.num_threads):
        history = fit(setting, run, resumed=resumed)
    return {"finished": True, **setting.facts, **_outcome(setting, history)}


def _outcome(setting: Setting, history: list[dict[str, Any]]) -> dict[str, Any]:
    """The results of the epochs so far."""
    best = setting.selection.best(history)
    return {
        "best_epoch": best["epoch"],
        "dev": {name.removeprefix("dev_"): best[name] for name in best if name.startswith("dev_")},
        "history": history,
        "training_seconds": round(sum(entry["seconds"] for entry in history), 2),
    }


def _planned_epochs(results: dict[str, Any]) -> int | None:
    """The number of epochs that a run was started with; early stopping may have trained fewer."""
    options = results.get("training")
    return options.get("epochs") if isinstance(options, dict) else None


def _tokenizer_before(config: RunConfig) -> str | None:
    """The tokenizer of a run from a version that did not record it."""
    return "whitespace" if model_class(config.model).tokenizer is not None else None
