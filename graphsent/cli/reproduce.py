"""Reproduce the papers' tables."""

from __future__ import annotations

import functools
import random
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from graphsent.cli.arguments.reproduce import FAST_OUT, OUT, add_arguments
from graphsent.cli.request import device_of
from graphsent.cli.several_runs import numbers
from graphsent.cli.usage import UsageError, check_counts, counted
from graphsent.errors import DataError, FailedError, GraphsentError
from graphsent.reproduction import (
    Catalogue,
    Execution,
    FinishedRuns,
    Places,
    Run,
    repeat,
    run_all,
    write_report,
)
from graphsent.reproduction.report import inserted, report_files
from graphsent.reproduction.scheduling import duration
from graphsent.training.figures import figures

__all__ = ["run"]

_USED_BY: dict[str, tuple[str, ...]] = {
    "budget": ("--check",),
    "device": ("--check",),
    "into": ("--report",),
    "jobs": (),
    "seeds": ("--check", "--list"),
}
"""Options of running tables, and the other actions that they have an effect on."""


def run(arguments: Any) -> None:
    """Runs the action asked for."""
    catalogue = Catalogue()
    places = Places(
        arguments.data_dir, arguments.parses_dir, arguments.vectors_dir, arguments.encoder
    )
    out = Path(arguments.out or (FAST_OUT if arguments.fast else OUT))
    if out.name in ("", ".."):  # the report is named after it
        out = out.resolve()
    if not out.name:
        raise UsageError(f"--out: expected a directory with a name, got {arguments.out}")
    finished = FinishedRuns(out)
    device_of(arguments)  # before anything is read
    work = Path(arguments.work).absolute()
    execution = Execution(places, finished.path.absolute(), work, arguments.device)
    actions = [f"--{name}" for name in ("list", "check", "report") if getattr(arguments, name)]
    if len(actions) > 1:
        raise UsageError(f"expected one of {' and '.join(actions)}")
    declared = ArgumentParser()
    add_arguments(declared)
    for name, used_by in _USED_BY.items():
        is_given = getattr(arguments, name) != declared.get_default(name)
        if is_given and actions and actions[0] not in used_by:
            raise UsageError(f"--{name} has no effect with {actions[0]}")
    if arguments.report and arguments.tables:
        raise UsageError(f"--report covers all tables: leave out {' '.join(arguments.tables)}")
    if arguments.into and arguments.fast:
        raise UsageError("--into: expected the results of full runs, not those of --fast")
    check_counts(arguments, "jobs")
    if arguments.budget is not None and arguments.budget < 0:
        raise UsageError(f"--budget: expected at least 0 minutes, got {arguments.budget:g}")
    if arguments.list:
        _list(catalogue, arguments, finished)
    elif arguments.check:
        _check(catalogue, arguments, execution, finished)
    elif arguments.report:
        if not finished.path.is_dir():
            raise DataError(f"{finished.path}: there are no finished runs: no such directory")
        _report(catalogue, arguments, finished)
    elif arguments.tables:
        _reproduce(catalogue, arguments, execution, finished)
    else:
        raise UsageError("expected a TABLE, or all; --list prints the names of tables")


def _reproduce(
    catalogue: Catalogue, arguments: Any, execution: Execution, finished: FinishedRuns
) -> None:
    runs = _runs(catalogue, arguments)
    if execution.places.is_embedded and not arguments.fast:
        raise UsageError(
            "the papers' tables need the published corpora: expected --data-dir DIR (see graphsent "
            "download); the embedded data are only for --fast"
        )
    missing, impossible = [], {}
    for each in runs:
        try:
            if execution.content(each) is None:
                missing.append(each)
        except GraphsentError as error:
            if not _is_finished(finished, each):
                impossible[each.configuration.name] = str(error)
    if arguments.into:  # before runs that take hours
        inserted(Path(arguments.into), "")
    for flag, directory in (("--out", execution.finished), ("--work", execution.work)):
        try:
            directory.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=directory):
                pass
        except OSError as error:
            raise UsageError(f"{flag}: {directory}: {error.strerror}") from None
    of_cpu = duration(sum(each.configuration.minutes for each in missing))
    print(
        f"{counted(len(runs), 'run')}, {len(missing)} to do: about {of_cpu} on one CPU core",
        flush=True,
    )
    for name, reason in impossible.items():
        print(f"{name}: cannot run: {reason}")

    try:
        outcome = run_all(
            execution,
            missing,
            jobs=arguments.jobs,
            budget=arguments.budget,
            echo=functools.partial(print, flush=True),
        )
    finally:  # even after an interruption
        _report(catalogue, arguments, finished)
    if outcome.left:
        left = counted(len(outcome.left), "run")
        print(f"{left} did not fit in the budget: run the same command to continue")
    if outcome.elsewhere:
        left = counted(len(outcome.elsewhere), "run")
        print(f"left to other processes: {left}; --report includes them once finished")
    if outcome.failed or impossible:
        failures = counted(len(outcome.failed) + len(impossible), "failure")
        raise FailedError(f"{failures}, see above; all other runs are kept")


def _is_finished(finished: FinishedRuns, run: Run) -> bool:
    try:
        return finished.read(run) is not None
    except DataError:
        return False


def _report(catalogue: Catalogue, arguments: Any, finished: FinishedRuns) -> None:
    document = Path(arguments.into) if arguments.into else None
    write_report(catalogue, finished, fast=arguments.fast, document=document)
    written = [*report_files(finished.path), *filter(None, [document])]
    print(f"wrote {', '.join(map(str, written))}")


def _runs(catalogue: Catalogue, arguments: Any) -> list[Run]:
    tables = catalogue.asked(arguments.tables or ["all"])
    return catalogue.runs(tables, numbers(arguments.seeds, "--seeds"), fast=arguments.fast)


def _list(catalogue: Catalogue, arguments: Any, finished: FinishedRuns) -> None:
    """Lists tables, or their configurations, with numbers of finished and wanted runs."""
    seeds = numbers(arguments.seeds, "--seeds")
    tables = catalogue.asked(arguments.tables or ["all"])
    rows = []
    if arguments.tables:
        names = dict.fromkeys(name for table in tables for name in table.configurations)
        for name in names:
            runs = Run.of(catalogue.configurations[name], seeds, fast=arguments.fast)
            rows.append((name, runs, runs[0].configuration.config["model"]))
    else:
        for table in tables:
            rows.append(
                (table.name, catalogue.runs([table], seeds, fast=arguments.fast), table.title)
            )
    print(f"{'':28}{'finished':>12}{'hours left':>12}")
    for name, runs, text in rows:
        missing = [each for each in runs if finished.read(each) is None]
        hours = sum(each.configuration.minutes for each in missing) / 60
        done = f"{len(runs) - len(missing)} of {len(runs)}"
        print(f"{name:28}{done:>12}{hours:>12.1f}  {text}")
    every = {each for _, runs, _ in rows for each in runs}
    left = sum(each.configuration.minutes for each in every if finished.read(each) is None)
    print(f"{'total, without duplicates':28}{'':12}{left / 60:>12.1f}")
    remark = "" if finished.path.is_dir() else ", which does not exist"
    print(f"finished runs are those in {finished.path}{remark}")


def _check(
    catalogue: Catalogue, arguments: Any, execution: Execution, finished: FinishedRuns
) -> None:
    """Repeats a run; raises a FailedError if chance does not explain the difference."""
    budget = float("inf") if arguments.budget is None else arguments.budget
    there = [(each, finished.read(each)) for each in _runs(catalogue, arguments)]
    fitting = [(each, kept) for each, kept in there if kept and kept["minutes"] <= budget]
    if not fitting:
        within = f" within {budget:g} minutes" if any(kept for _, kept in there) else ""
        raise DataError(f"{finished.path}: no finished run to repeat{within}")
    run, kept = random.choice(fitting)
    print(f"{run.name}: repeating, about {kept['minutes']:.1f} minutes", flush=True)
    found = repeat(execution, run)
    for what, content in (("kept", found.kept), ("repeated", found.repeated)):
        print(f"{what}: dev {figures(content['dev'])}, test {figures(content['test'])}")
    if found.is_same:
        print(f"{run.name}: identical on every example")
        return
    if found.changed:
        names = ", ".join(found.changed)
        raise FailedError(
            f"{run.name}: the results on all test examples are identical, but not {names}"
        )
    before, now = found.kept["versions"], found.repeated["versions"]
    others = "" if before == now else ", on other versions or hardware"
    if before == {name: each for name, each in now.items() if name != "processor"}:
        others = ", perhaps on another processor"  # which older records do not name
    against = "the finished run" if found.num_kept == 1 else f"{found.num_kept} finished runs"
    said = f"from {against}, p = {found.difference.p:.4f}{others}"
    if not found.is_chance:
        raise FailedError(f"{run.name}: chance does not explain the difference {said}")
    print(f"{run.name}: chance explains the difference {said}")
