"""The tasks by name."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from graphsent._names import nearest, unknown
from graphsent.errors import DataError
from graphsent.tasks.task import Task

__all__ = ["TASKS", "get_task"]

# Name -> module and function that makes the task; its parameters are the task's options.
TASKS = {
    "sick": "graphsent.tasks.sick:sick",
    "sst2": "graphsent.tasks.sst:sst2",
    "sst5": "graphsent.tasks.sst:sst5",
    "trec": "graphsent.tasks.trec:trec",
    "twitter": "graphsent.tasks.twitter:twitter",
}


def get_task(name: str, **options: Any) -> Task:
    """Makes a task.

    Args:
        name: One of ``TASKS``.
        **options: Those of the task, for instance ``get_task("sst2", neutral="class")``.

    Raises:
        DataError: There is no such task, or it has no such option or value.
    """
    if name not in TASKS:
        raise DataError(unknown("task", name, sorted(TASKS)))
    module, _, function = TASKS[name].partition(":")
    make = getattr(importlib.import_module(module), function)
    valid = inspect.signature(make).parameters
    for option in options:
        if option not in valid:
            choice = f"expected one of {', '.join(valid)}" if valid else "it has none"
            choice += nearest(option, valid)
            raise DataError(f"unknown option {option!r} of the task {name}: {choice}")
    return make(**options)
