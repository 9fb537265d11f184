"""Scheduling of many runs, several in parallel, each in its own process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from typing import Any

from graphsent._signals import block_interrupts, put_off, terminable
from graphsent.errors import GraphsentError
from graphsent.reproduction.execution import UNDER_WAY, Execution, execute_in_process
from graphsent.reproduction.finished import FinishedRuns
from graphsent.reproduction.runs import Run
from graphsent.training import TrainingInterrupted
from graphsent.training.figures import selection_figures

__all__ = ["Outcome", "duration", "run_all"]


@dataclass
class Outcome:
    """The outcome of some runs.

    Attributes:
        finished: Runs finished now.
        failed: Run -> why it failed.
        left: Runs that did not fit in the budget.
        elsewhere: Runs that other processes were executing.
    """

    finished: list[Run] = field(default_factory=list)
    failed: dict[Run, str] = field(default_factory=dict)
    left: list[Run] = field(default_factory=list)
    elsewhere: list[Run] = field(default_factory=list)


def run_all(
    execution: Execution,
    runs: Sequence[Run],
    *,
    jobs: int = 1,
    budget: float | None = None,
    echo: Callable[[str], None] = print,
) -> Outcome:
    """Executes runs in the given order, except those that other processes execute or have finished.

    Args:
        execution: Where runs read and write.
        runs: The runs.
        jobs: Number of parallel processes, each with the number of threads of its configuration.
        budget: Time limit in minutes. A run is not started if its estimated time exceeds what is
            left.
        echo: Called with a line after each run.

    Returns:
        The outcome. A run that fails does not stop the others.

    Raises:
        TrainingInterrupted: Ctrl-C or SIGTERM. Finished runs are kept; unfinished ones continue
            after their last complete epoch when requested again.
    """
    context = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
    outcome, waiting, working = Outcome(), list(runs), dict[Any, tuple[Run, Any]]()
    begin = time.monotonic()

    def fits(run: Run) -> bool:
        spent = (time.monotonic() - begin) / 60
        return budget is None or spent + run.configuration.minutes <= budget

    if os.name != "nt":
        resource_tracker.ensure_running()  # its start, with that of a run, would unblock Ctrl-C
    with terminable():
        try:
            while waiting or working:
                while waiting and len(working) < jobs:
                    run = waiting.pop(0)
                    if not fits(run):
                        outcome.left.append(run)
                        continue
                    with suppress(GraphsentError):  # which its own process reports
                        if execution.content(run) is not None:
                            continue
                    process = context.Process(target=execute_in_process, args=(execution, run))
                    with put_off():  # a process that is not among those working is not stopped
                        block_interrupts(True)
                        try:
                            process.start()
                        finally:
                            block_interrupts(False)
                        working[process.sentinel] = (run, process)
                for sentinel in wait(list(working)) if working else ():  # without any it blocks
                    run, process = working.pop(sentinel)
                    process.join()
                    _settle(execution, run, process.exitcode, outcome)
                    under_way = [other for other, _ in working.values()]
                    echo(_describe(execution, run, outcome, [*under_way, *waiting], jobs))
        except KeyboardInterrupt as error:
            number = getattr(error, "signal_number", signal.SIGINT)
            count = len(outcome.finished)
            message = f"interrupted after {count} runs; the same command continues"
            raise TrainingInterrupted(message, number) from None
        finally:
            for _, process in working.values():
                process.terminate()
            for _, process in working.values():
                process.join()
    return outcome


def duration(minutes: float) -> str:
    """A readable duration: minutes up to two hours, then hours."""
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def _settle(execution: Execution, run: Run, status: int, outcome: Outcome) -> None:
    log = execution.log(run)
    if status == 0:
        outcome.finished.append(run)
        log.unlink(missing_ok=True)  # not by its process: Windows keeps files that are open
        return
    if status == UNDER_WAY:
        outcome.elsewhere.append(run)
        return
    if status < 0:
        outcome.failed[run] = f"its process was killed by signal {-status} ({log})"
        return
    text = log.read_text(encoding="utf-8", errors="backslashreplace") if log.is_file() else ""
    said = [line for line in text.split("\n") if line.strip()]
    reason = said[-1] if said else f"its process exited with status {status}"
    outcome.failed[run] = f"{reason} ({log})"


def _describe(
    execution: Execution, run: Run, outcome: Outcome, rest: Sequence[Run], jobs: int
) -> str:
    time_left = duration(sum(each.configuration.minutes for each in rest) / jobs)
    after = f"{len(rest)} left, about {time_left}" if rest else "that was the last"
    if run in outcome.failed:
        return f"{run.name}: failed: {outcome.failed[run]}; {after}"
    if run in outcome.elsewhere:
        return f"{run.name}: another process is executing it; {after}"
    content = FinishedRuns(execution.finished).read(run)
    assert content is not None, "a successful run has a file"
    return f"{run.name}: {selection_figures(content)}, {content['minutes']:.1f} min; {after}"
