"""Train a model and keep the best one on dev."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from graphsent.cli.arguments.train import DEFAULT_MODEL
from graphsent.cli.own_data import check_effects, with_own_data
from graphsent.cli.own_tasks import import_from_here
from graphsent.cli.several_runs import folds_and_seeds, table
from graphsent.cli.usage import UsageError, flag
from graphsent.tasks import TASKS, task_options
from graphsent.training import (
    RunConfig,
    RunDirectory,
    RunSet,
    TrainingInterrupted,
    TrainingOptions,
    resume,
    resume_runs,
    train,
    train_runs,
)
from graphsent.training.building import model_options
from graphsent.training.devices import process_rank
from graphsent.training.figures import figures
from graphsent.training.inputs import InputOptions

__all__ = ["run"]

_SWITCHES = ("stream", "overwrite", "test", "no_test", "debug")
_OF_ENCODERS = {"encoder_pooling": "encoder", "encoder_lr": "finetune_encoder"}
# Settings in --config that are those of its task or model.
_OF_LEARNERS = {
    "task": ("task_options", "tokenizer"),
    "model": ("model_options", "tokenizer", "tree_kind"),
}
_WITH_RESUME = ("resume", "epochs", "encoder", "debug")  # and --test


def run(arguments: Any) -> None:
    """Trains a new run, or resumes one."""
    # Absent switches are False; 0 is a value.
    given = {
        name: value
        for name, value in vars(arguments).items()
        if value is not None and (value or name not in _SWITCHES)
    }
    given = with_own_data(given)
    options: dict[str, Any] = {"test": _is_judged(arguments), "progress": sys.stderr.isatty()}
    if arguments.resume:
        for name in given:
            if name not in _WITH_RESUME:
                raise UsageError(
                    f"{flag(name)} cannot change with --resume: only --epochs and --encoder can"
                )
        _resume(arguments, options)
        return
    if not arguments.out:
        raise UsageError("--out RUN is missing (or --resume RUN to resume a run)")
    options["overwrite"] = arguments.overwrite
    several = folds_and_seeds(given)
    config = _config(given)
    if config.task == "own":
        of_task = {**config.task_options, **({"split": 0} if config.stream else {})}
        # A bare --test is "", which `given` lacks.
        judged = {**given, "test": ""} if arguments.test == "" else given
        check_effects(judged, of_task, several_folds="folds" in several)
    if arguments.no_test and given.get("test") in (None, True):
        raise UsageError("--no-test needs --test FILE, which it does not evaluate on")
    import_from_here(config.parser)
    for name, needed in _OF_ENCODERS.items():
        if name in given and not getattr(config.inputs, needed):
            raise UsageError(f"{flag(name)} needs {flag(needed)}")
    if "shuffle_window" in given and not config.stream:
        raise UsageError("--shuffle-window needs --stream: in memory, all examples are shuffled")
    if several:
        _show_all(train_runs(config, arguments.out, **several, **options), arguments.out)
    else:
        with _as_asked(options):
            found = train(config, arguments.out, **options)
        _show(found, config, arguments.out)


@contextmanager
def _as_asked(options: Mapping[str, Any]) -> Iterator[None]:
    """Completes the command that continues an interrupted run, which does not record ``--test``."""
    try:
        yield
    except TrainingInterrupted as error:
        asked = " --test" if options["test"] else ""
        raise TrainingInterrupted(f"{error}{asked}", error.signal_number) from None


def _is_judged(arguments: Any) -> bool:
    """Whether to evaluate the best model on test: with ``--test``, or test files by label."""
    asked = arguments.test not in (None, False) or getattr(arguments, "test_class", None)
    return bool(asked) and not arguments.no_test


def _resume(arguments: Any, options: dict[str, Any]) -> None:
    out = arguments.resume
    runs = RunSet(out)
    config = runs.open().config if runs.exists else RunDirectory(out).open()
    import_from_here(config.task, config.model, config.parser)
    if not runs.exists:
        with _as_asked(options):
            found = resume(out, epochs=arguments.epochs, encoder=arguments.encoder, **options)
        _show(found, config, out)
        return
    if arguments.epochs is not None or arguments.encoder is not None or options["test"]:
        raise UsageError(f"{out} holds several runs: --resume cannot change their options")
    _show_all(resume_runs(out, progress=options["progress"]), out)


def _show(results: Mapping[str, Any], config: RunConfig, out: str) -> None:
    if process_rank(config.training):  # only the first process prints
        return
    print(f"best epoch: {results['best_epoch']}, dev {figures(results['dev'])}")
    if "test" in results:
        print(f"test: {figures(results['test'])}")
    print(f"wrote {out}: model, results.json, config.yaml, logs, last.ckpt")


def _show_all(results: Mapping[str, Any], out: str) -> None:
    print(table(results["runs"], results["summary"]))
    print(f"wrote {out}: results.json, runs.yaml, and one directory per run")


def _config(given: dict[str, Any]) -> RunConfig:
    """The configuration: settings of ``--config``, overridden by flags."""
    values: dict[str, Any] = {"model": DEFAULT_MODEL}
    if "config" in given:
        values = RunConfig.load(given["config"]).to_dict()
    if "task" not in given and "task" not in values:
        if "train" not in given:
            tasks = ", ".join(sorted(TASKS))
            raise UsageError(
                f"--task is missing: expected one of {tasks}; or --train FILE for your own data"
            )
        given = {**given, "task": "own"}
    for name, settings in _OF_LEARNERS.items():
        if given.get(name, values.get(name)) != values.get(name):
            for each in settings:  # of another task or model
                values.pop(each, None)
    values.update((name, given[name]) for name in _names(RunConfig) if name in given)
    of_task = task_options(values["task"])
    parts = {
        "task_options": of_task,
        "model_options": [name for name in model_options(values["model"]) if name not in of_task],
        "inputs": _names(InputOptions),
        "training": _names(TrainingOptions),
    }
    for part, names in parts.items():
        chosen = {name: given[name] for name in names if name in given}
        values[part] = {**values.get(part, {}), **chosen}
    if "labels" not in given and ("train" in given or given.get("regression")):
        values["task_options"].pop("labels", None)  # of the data in --config
    if ("vectors" in given or "encoder" in given) and "embedding_dim" not in given:
        values["model_options"].pop("embedding_dim", None)  # of the inputs in --config
    return RunConfig.from_dict(values)


def _names(cls: type) -> list[str]:
    return [field.name for field in dataclasses.fields(cls)]
