"""The tasks by name."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any

from graphsent._names import nearest, unknown
from graphsent._own import find_own, is_own, made
from graphsent.errors import DataError
from graphsent.tasks.task import Task

__all__ = ["TASKS", "get_task", "task_maker", "task_options"]

# Name -> module and function that makes the task; its parameters are the task options.
TASKS = {
    "cr": "graphsent.tasks.cross_validated:cr",
    "mr": "graphsent.tasks.cross_validated:mr",
    "own": "graphsent.tasks.own:own",
    "rerank": "graphsent.tasks.rerank:rerank",
    "sick": "graphsent.tasks.sick:sick",
    "sst2": "graphsent.tasks.sst:sst2",
    "sst5": "graphsent.tasks.sst:sst5",
    "subj": "graphsent.tasks.cross_validated:subj",
    "trec": "graphsent.tasks.trec:trec",
    "twitter": "graphsent.tasks.twitter:twitter",
}
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def get_task(name: str, /, **options: Any) -> Task:
    """Makes a task.

    Args:
        name: One of ``TASKS``; or ``module:function`` for a custom task: a function (or class)
            that takes the options and returns a :class:`Task`. The module is imported.
        **options: Options of the task, as in ``get_task("sst2", neutral="class")``.

    Raises:
        DataError: There is no such task, it does not accept an option or its value, or the
            function of a custom task fails.
    """
    make, valid = task_maker(name), task_options(name)
    for option in options:
        if option not in valid:
            choice = f"expected one of {', '.join(valid)}" if valid else "it has no options"
            choice += nearest(option, valid)
            raise DataError(f"unknown option {option!r} of task {name}: {choice}")
    for option, parameter in valid.items():
        if parameter.default is parameter.empty and option not in options:
            raise DataError(f"task {name} needs the option {option!r}, which has no default")
    task = made(name, "task", make, options, DataError) if is_own(name) else make(**options)
    if not isinstance(task, Task):
        raise DataError(f"task {name}: expected a graphsent.tasks.Task, got {task!r:.80}")
    return task


def task_options(name: str) -> Mapping[str, inspect.Parameter]:
    """The options of a task by name: the parameters of its function.

    Raises:
        DataError: There is no such task.
    """
    parameters = inspect.signature(task_maker(name)).parameters
    return {option: each for option, each in parameters.items() if each.kind in _NAMED}


def task_maker(name: str) -> Callable[..., Any]:
    """The function that makes a task, imported on demand.

    Raises:
        DataError: There is no such task, or its module cannot be imported.
    """
    if name in TASKS:
        return pkgutil.resolve_name(TASKS[name])
    if not is_own(name):
        raise DataError(unknown("task", name, [*sorted(TASKS), "a custom module:function"]))
    return find_own(name, "task", "function", callable, DataError)
