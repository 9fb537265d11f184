"""Several runs in one call, over the folds of a task or over seeds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from graphsent.models.arguments import without_numpy
from graphsent.tasks import get_task
from graphsent.training.config import RunConfig
from graphsent.training.directory import RunDirectory, changed_files, held_directory
from graphsent.training.errors import TrainingError, TrainingInterrupted
from graphsent.training.figures import selection_figures
from graphsent.training.run import (
    FREE_OPTIONS,
    Echo,
    changed_options,
    resume,
    show,
    train_checked,
)
from graphsent.training.run_set import Runs, RunSet, summary
from graphsent.training.setting import resolved

__all__ = ["differences", "resume_runs", "train_runs"]

# Options that may differ between runs whose figures have a mean.
_OF_ONE_RUN = ("seed", *(name for name in FREE_OPTIONS if name != "epochs"))


def train_runs(
    config: RunConfig,
    out: str | os.PathLike[str],
    *,
    folds: Sequence[int] | Literal["all"] = (),
    seeds: Sequence[int] = (),
    overwrite: bool = False,
    test: bool = True,
    progress: bool = False,
    echo: Echo = show,
) -> dict[str, Any]:
    """Trains a model on several folds, with several seeds, or with each seed on each fold.

    After an interruption, the same call continues: complete runs are kept, and an incomplete one
    is resumed. Folds and seeds may differ between calls.

    Args:
        config: The common configuration of the runs.
        out: The directory to create, see :class:`~graphsent.training.RunSet`.
        folds: Numbers of folds, each the test split of a run, for tasks with folds.
        seeds: Seeds of the runs.
        overwrite: Whether to replace existing runs.
        test: As in :func:`~graphsent.training.train`.
        progress: As in :func:`~graphsent.training.train`.
        echo: As in :func:`~graphsent.training.train`.

    Returns:
        The content of ``results.json``, that is, the metrics of each run, and their mean and sample
        standard deviation (n - 1).

    Raises:
        TrainingError: There are neither folds nor seeds, the task has no folds, or ``out`` is in
            use, for instance by runs with other options; or a file of data, the encoder, or an
            option of a run, such as its number of epochs, has changed between two runs. Also the
            errors of :func:`~graphsent.training.train`.
        TrainingInterrupted: Ctrl-C or SIGTERM.
    """
    if config.training.num_processes > 1:
        raise TrainingError(
            "devices, nodes: several runs are trained one by one, each in a single process"
        )
    seeds = without_numpy(list(seeds))
    if not isinstance(folds, str):
        folds = without_numpy(list(folds))
    task = get_task(config.task, **config.task_options)
    config = resolved(config, task)
    if folds and not task.num_folds:
        raise TrainingError(
            f"folds: the corpora of the task {config.task!r} have splits, not folds"
        )
    folds = range(task.num_folds) if folds == "all" else folds
    runs = Runs(config, tuple(dict.fromkeys(folds)), tuple(dict.fromkeys(seeds)), test)
    if not runs.folds and not runs.seeds:
        raise TrainingError("expected folds or seeds for several runs")
    for each in runs.configs().values():  # before anything is written
        get_task(each.task, **each.task_options)
    run_set = RunSet(out)
    run_set.check(runs, overwrite=overwrite)
    with held_directory(run_set.path, "runs", "another process is training these runs"):
        run_set.create(runs, overwrite=overwrite)
        try:
            return _train(run_set, runs, progress=progress, echo=echo)
        except Exception:
            if not run_set.is_begun:
                run_set.clear()
            raise


def resume_runs(
    out: str | os.PathLike[str], *, progress: bool = False, echo: Echo = show
) -> dict[str, Any]:
    """Continues the runs of a directory as last requested.

    Args:
        out: The directory.
        progress: As in :func:`train_runs`.
        echo: As in :func:`train_runs`.

    Raises:
        TrainingError: There are no runs. Also the errors of :func:`train_runs`.
    """
    runs = RunSet(out).open()
    options: dict[str, Any] = {"folds": runs.folds, "seeds": runs.seeds, "test": runs.test}
    return train_runs(runs.config, out, **options, progress=progress, echo=echo)


def _train(run_set: RunSet, runs: Runs, *, progress: bool, echo: Echo) -> dict[str, Any]:
    configs = runs.configs()
    found: dict[str, dict[str, Any]] = {}
    results = _results(runs, found)
    run_set.write_results(results)
    for name, config in configs.items():

        def say(line: str, name: str = name) -> None:
            echo(f"{name}: {line}")

        def check(facts: Mapping[str, Any], name: str = name) -> None:
            for problem in differences({**found, name: facts}, runs.config.inputs.encoder):
                raise TrainingError(
                    f"{run_set.path}: {problem}, whose figures do not belong together: start new "
                    "runs (--overwrite, or another directory)"
                )

        run = RunDirectory(run_set.path / name)
        before = run.read_results()
        options: dict[str, Any] = {"test": runs.test, "progress": progress, "echo": say}
        try:
            if not before.get("finished") and not run.is_begun:
                results = train_checked(config, run.path, check, **options)
            else:
                results = before if before.get("finished") else resume(run.path, **options)
                check(results)
            found[name] = results
        except TrainingInterrupted as error:
            message = (
                f"interrupted in {name}, {len(found)} of {len(configs)} runs are complete; "
                f"continue with the same command, or: graphsent train --resume {run_set.path}"
            )
            raise TrainingInterrupted(message, error.signal_number) from None
        say(f"complete, best epoch {results['best_epoch']}, {selection_figures(results)}")
        results = _results(runs, found)
        run_set.write_results(results)
    return results


def differences(found: Mapping[str, Mapping[str, Any]], encoder: str) -> Iterator[str]:
    """What sets runs apart from the first one, so that their figures have no mean.

    Args:
        found: The name of each run, and the facts about it, as in ``results.json``.
        encoder: The directory of their encoder.
    """
    (other, before), *rest = found.items()
    for name, facts in rest:
        changed = changed_files(before.get("corpus"), facts.get("corpus"))
        if before.get("encoder") != facts.get("encoder"):
            changed.append(encoder)
        for each in changed:
            yield f"{each} has changed between {other} and {name}"
        for option, value, now in changed_options(before, facts, _OF_ONE_RUN):
            yield f"{option} is {value!r} in {other}, but {now!r} in {name}"


def _results(runs: Runs, found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The results of all complete runs."""
    configs = runs.configs()
    entries = []
    for name, results in found.items():
        entry = {
            "name": name,
            "fold": configs[name].task_options.get("fold"),
            "seed": configs[name].training.seed,
            "remarks": results["corpus"].get("remarks", []),
        }
        kept = ("best_epoch", "dev", "test", "training_seconds")
        entries.append(entry | {key: results[key] for key in kept if key in results})
    splits = ["dev"]
    if runs.test and all("test" in each for each in entries):
        splits.append("test")
    return {
        "finished": len(found) == len(configs),
        "num_runs": len(found),
        "config": runs.config.to_dict(),
        "runs": entries,
        "summary": {split: summary([each[split] for each in entries]) for split in splits},
    }
