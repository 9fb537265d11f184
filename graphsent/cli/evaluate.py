"""Evaluate a trained model on a split of its task, or on another file of your own data."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphsent._files import write_json
from graphsent.cli import class_results
from graphsent.cli.own_tasks import import_from_here
from graphsent.cli.request import device_of
from graphsent.cli.several_runs import table
from graphsent.cli.usage import (
    UsageError,
    check_counts,
    check_ending,
    check_target,
    counted,
    flag,
    refuse,
)
from graphsent.drawing import draw_confusion, write_page
from graphsent.errors import DataError
from graphsent.models import Model, model_class
from graphsent.pairs import TreePair
from graphsent.tasks import Task, TaskData
from graphsent.training import (
    RunConfig,
    RunDirectory,
    RunSet,
    TrainingError,
    evaluate,
    load_model,
    summary,
)
from graphsent.training.directory import changed_files
from graphsent.training.evaluation import as_predicted
from graphsent.training.figures import figures
from graphsent.training.runs import differences

if TYPE_CHECKING:  # torchmetrics takes a second to import
    from graphsent.tasks.class_report import ClassReport

__all__ = ["run"]

_MOST_DRAWN = 200  # classes in a picture, whose squares take milliseconds each
_OF_CLASSES = ("confusion", "errors", "errors_file", "page")


def run(arguments: Any) -> None:
    """Prints the metrics."""
    run_set = RunSet(arguments.run)
    runs = run_set.open() if run_set.exists else None
    if runs is not None:
        paths = [run_set.path / name for name in runs.configs()]
    else:
        paths = [RunDirectory(arguments.run).path]
    kept = [file for path in paths for file in RunDirectory(path).files()]
    _check_targets(arguments, [*kept, run_set.config, run_set.results])
    _check_asked(arguments, one_of_several=paths[0] if runs is not None else None)
    device_of(arguments)  # before anything is read
    judged = [_judge(path, arguments, several=runs is not None) for path in paths]
    results = {path.name: _results(path) for path in paths}
    _tell_changes([*results.values()], judged)
    content = judged[0]
    if runs is not None:
        _tell_differences(results, runs.config.inputs.encoder)
        split = arguments.split
        named = [
            {"name": path.name, split: each["metrics"]}
            for path, each in zip(paths, judged, strict=True)
        ]
        found = {split: summary([each["metrics"] for each in judged])}
        print(table(named, found))
        content = {"runs": judged, "summary": found}
    if arguments.json:
        write_json(arguments.json, content, indent=2)


def _judge(path: Path, arguments: Any, *, several: bool) -> dict[str, Any]:
    """Evaluates one run, and prints and returns its metrics."""
    which = f"{path.name}: " if several else ""
    run = RunDirectory(path)
    config = run.open()
    if config.task == "own" and arguments.data_dir is not None:
        raise UsageError("--data-dir is for published corpora, not for your own data")
    if arguments.test is not None:
        config = _with_test(config, arguments)
    import_from_here(config.task, config.model, config.parser)
    model = load_model(path, arguments.encoder, model_class(config.model))
    model.to(device_of(arguments)).engine = arguments.engine
    task, data = config.load_data(
        arguments.data_dir, (arguments.split,), model.label_names, held_out=run.read_splits()
    )
    if config.task == "own":
        data = as_predicted(data, model)
    _check_targets(arguments, data.source.paths())
    if arguments.test is not None:
        _check_pairs(model, data.splits[arguments.split], arguments.test)
    print(f"{which}data: {data.source.summary()}")
    model.keep_features(data.splits[arguments.split])
    report = _report(task, model, arguments)
    values = evaluate(model, task, data.splits[arguments.split], report=report)
    print(f"{which}{arguments.split}: {figures(values)}")
    content = {
        "run": str(path),
        "split": arguments.split,
        "corpus": data.source.describe(),
        "metrics": values,
    }
    if report is None:
        return content
    if not several:
        _show(report, arguments, data)
        if arguments.page:
            title = f"{model.name} on {config.task}, {arguments.split}: {path.name}"
            predictions = model.predict(data.splits[arguments.split])
            number = write_page(predictions, arguments.page, title=title, numbered=True)
            print(f"wrote {arguments.page}: {counted(number, 'sentence')}")
    return {**content, **class_results.describe(report)}


def _with_test(config: RunConfig, arguments: Any) -> RunConfig:
    """The configuration of a run on own data with another test file.

    Raises:
        UsageError: The run is not on own data.
    """
    if config.task != "own":
        raise UsageError(
            f"--test FILE is for models of your own data, but the task is {config.task}: expected "
            "--split or --data-dir"
        )
    options = {name: each for name, each in config.task_options.items() if name != "fold"}
    files = {"test": arguments.test, "test_trees": arguments.test_trees or []}
    return replace(config, task_options={**options, **files})


def _check_pairs(model: Model, examples: Sequence[Any], path: str) -> None:
    """Raises a DataError if a model of pairs is to read single sentences, or the reverse."""
    names = ("sentences", "pairs of sentences")
    expected, found = model.examples == "pairs", isinstance(examples[0], TreePair)
    if expected != found:
        raise DataError(f"{path}: expected {names[expected]} as in training, got {names[found]}")


def _tell_changes(
    results: Sequence[Mapping[str, Any]], judged: Sequence[Mapping[str, Any]]
) -> None:
    """Names the files that have changed since training, in one line on standard error."""
    changed: dict[str, None] = {}
    for before, content in zip(results, judged, strict=True):
        changed |= dict.fromkeys(changed_files(before.get("corpus"), content["corpus"]))
    if changed:
        names = ", ".join(changed)
        print(f"graphsent evaluate: changed since training: {names}", file=sys.stderr)


def _tell_differences(results: Mapping[str, Mapping[str, Any]], encoder: str) -> None:
    """Says on standard error, in one line, why the figures of several runs have no mean."""
    problems = [f"{name} is not complete" for name in results if not results[name].get("finished")]
    problems += differences(results, encoder)
    if problems:
        message = "the figures of these runs do not belong together"
        print(f"graphsent evaluate: {problems[0]}: {message}", file=sys.stderr)


def _results(path: Path) -> dict[str, Any]:
    """The results of a run; empty if they are damaged: they are not needed for its figures."""
    try:
        return RunDirectory(path).read_results()
    except TrainingError:
        return {}


def _check_targets(arguments: Any, keep: Sequence[Path]) -> None:
    """Raises a UsageError if an output would overwrite one of the files to keep."""
    written: dict[str, str] = {}
    for name in ("json", "confusion", "errors_file", "page"):
        path = getattr(arguments, name)
        check_target(path, flag(name), keep)
        other = written.setdefault(os.path.realpath(path), name) if path else name
        if other != name:
            raise UsageError(f"{flag(other)} and {flag(name)} name the same file, {path}")


def _check_asked(arguments: Any, *, one_of_several: Path | None) -> None:
    """Raises a UsageError if options are invalid or exclude each other."""
    check_counts(arguments, "errors")
    check_ending(arguments.page, "--page", (".html",))
    check_ending(arguments.confusion, "--confusion", (".svg", ".png"))
    if arguments.test_trees is not None and arguments.test is None:
        raise UsageError("--test-trees needs --test FILE")
    if arguments.test is not None and arguments.split != "test":
        raise UsageError(f"--test FILE and --split {arguments.split} are mutually exclusive")
    if one_of_several:
        refuse(arguments, _OF_CLASSES, f"is for a single run, such as {one_of_several}")


def _report(task: Task, model: Model, arguments: Any) -> ClassReport | None:
    if task.goal != "classification":
        why = f"is for classification: the task {task.name!r} is {task.goal}"
        refuse(arguments, _OF_CLASSES, why)
        return None
    if arguments.page is not None and model.examples == "pairs":
        raise UsageError(f"--page is for single sentences: the task {task.name!r} has pairs")
    number = len(task.label_names)
    if arguments.confusion is not None and number > _MOST_DRAWN:
        raise UsageError(
            f"--confusion draws at most {_MOST_DRAWN} classes, got {number:,}; --json FILE has "
            "their numbers"
        )
    from graphsent.tasks.class_report import ClassReport

    return ClassReport(task.label_names, task.judged)


def _show(report: ClassReport, arguments: Any, data: TaskData) -> None:
    """Prints the class report, and writes the files asked for."""
    print(f"\n{class_results.tables(report)}")
    if arguments.errors:
        print(f"\n{class_results.list_mistakes(report, arguments.errors, data, arguments.split)}")
    if arguments.errors_file:
        number = class_results.write_mistakes(arguments.errors_file, report, data, arguments.split)
        print(f"wrote {arguments.errors_file}: {counted(number, 'error')}")
    if arguments.confusion:
        draw_confusion(report.confusion, report.names, path=arguments.confusion)
        print(f"wrote {arguments.confusion}: the confusion matrix")
