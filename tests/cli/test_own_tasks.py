"""Custom tasks, named as ``module:function``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from commands import status_of
from toy_treebank import TINY, write_treebank

from graphsent.cli import main
from graphsent.errors import DataError
from graphsent.tasks import get_task, task_options
from graphsent.training import RunConfig, TrainingOptions, train

MODULE = """
from __future__ import annotations

from typing import TYPE_CHECKING

from graphsent.tasks.sst import SentimentTask

if TYPE_CHECKING:
    from graphsent.tasks import Task

NAMES = ("--", "-", "0", "+", "++")


def make(shout=False, *, names: str = "signs") -> Task:
    \"\"\"Sentiment.

    Args:
        names: What the classes are called.
    \"\"\"
    return SentimentTask("own", NAMES, {}, options={"names": names})


def needs(path):
    return make()


def clash(seed=0):
    return make()


def nothing():
    return None


def fails():
    return 1 / 0


def later():
    raise NotImplementedError("not yet")
"""


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """The current directory, which holds a module with tasks and data."""
    write_treebank(tmp_path / "data")
    (tmp_path / "own_tasks_here.py").write_text(MODULE)
    (tmp_path / "broken_tasks_here.py").write_text("1 / 0")
    (tmp_path / "lacking_tasks_here.py").write_text("import nowhere_at_all")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each not in ("", ".")])
    yield tmp_path
    for name in ("own_tasks_here", "broken_tasks_here", "lacking_tasks_here"):
        sys.modules.pop(name, None)


def forget() -> None:
    """Forgets what a new process would not know."""
    del sys.modules["own_tasks_here"]
    sys.path.remove(str(Path.cwd()))


def test_a_custom_task_is_trained_resumed_evaluated_and_predicts(here, capsys):
    options = ["--data-dir=data", "--out=run", "--epochs=1", "--names=other", "--shout=true"]
    assert main(["train", "--task=own_tasks_here:make", *options, *TINY]) == 0
    config = RunConfig.load("run/config.yaml")
    assert config.task == "own_tasks_here:make"
    assert config.task_options == {"names": "other", "shout": True}
    forget()
    assert main(["train", "--resume=run", "--epochs=2"]) == 0
    forget()
    assert main(["evaluate", "run"]) == 0
    assert "test: root accuracy" in capsys.readouterr().out
    forget()
    (here / "own_tasks_here.py").unlink()
    (here / "tree.txt").write_text("(3 (2 a) (3 film))\n")
    assert main(["predict", "run", "tree.txt"]) == 0
    assert "own_tasks_here" not in sys.modules
    assert main(["evaluate", "run"]) == 2
    assert "there is no module 'own_tasks_here'" in capsys.readouterr().err


def test_its_parameters_are_options_in_the_help(here, capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["train", "--task=own_tasks_here:make", "--help-all"])
    shown = " ".join(capsys.readouterr().out.split())
    assert re.search("options of the task own_tasks_here:make: --shout .*(default: False)", shown)
    assert "--names NAMES What the classes are called. (default: signs)" in shown


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("sst6", "unknown task 'sst6': expected one of .*did you mean 'sst5'"),
        ("own_tasks_here:", "unknown task 'own_tasks_here:': expected one of .*module:function"),
        (
            "own_tasks_here:mkae",
            "'mkae' in own_tasks_here does not exist.*did you mean 'own_tasks_here:make'",
        ),
        ("own_tasks_here:NAMES", "'NAMES' in own_tasks_here is not a function"),
        ("own_task_here:make", "no module 'own_task_here'; did you mean 'own_tasks_here'"),
        ("own_tasks_here.inner:make", "there is no module 'own_tasks_here.inner'"),
        ("broken_tasks_here:make", "broken_tasks_here cannot be imported: ZeroDivisionError: "),
        ("lacking_tasks_here:make", "cannot be imported: No module named 'nowhere_at_all'"),
        ("own_tasks_here:needs", "task own_tasks_here:needs needs the option 'path'"),
        (
            "own_tasks_here:clash",
            "has an option 'seed', but this command already has an option --seed",
        ),
        (
            "own_tasks_here:fails",
            r"cannot be created: ZeroDivisionError: division by zero \(.*own_tasks_here.py:36\)",
        ),
        ("own_tasks_here:later", r"NotImplementedError: not yet \(.*own_tasks_here.py:40\)"),
        ("own_tasks_here:nothing", "expected a graphsent.tasks.Task, got None"),
    ],
)
def test_invalid_tasks_are_rejected_before_anything_is_written(here, capsys, task, message):
    before = sorted(here.iterdir())
    status = status_of(["train", f"--task={task}", "--data-dir=data", "--out=run"])
    assert status == 2
    printed = capsys.readouterr()
    assert re.search(message, printed.err)
    assert len(printed.err.splitlines()) == 1
    assert [each for each in sorted(here.iterdir()) if each.name != "__pycache__"] == before


def test_config_check_reports_a_task_that_cannot_be_made(here, capsys):
    (here / "f.yaml").write_text("task: own_tasks_here:later\nmodel: treelstm\n")
    assert main(["config", "check", "f.yaml"]) == 2
    assert "f.yaml:1: the task own_tasks_here:later cannot be" in capsys.readouterr().err


def test_the_current_directory_is_searched_only_for_custom_tasks(here):
    with pytest.raises(SystemExit):
        main(["train", "--task=sst5", "--help-all"])
    assert str(here) not in sys.path
    with pytest.raises(DataError, match="there is no module 'own_tasks_here'"):
        get_task("own_tasks_here:make")


def test_a_custom_task_works_in_python(here, monkeypatch):
    monkeypatch.syspath_prepend(here)
    assert list(task_options("own_tasks_here:make")) == ["shout", "names"]
    with pytest.raises(DataError, match="unknown option 'n' of task own_tasks_here:make"):
        get_task("own_tasks_here:make", n="a")
    training = TrainingOptions(epochs=1, num_threads=1)
    config = RunConfig(
        "own_tasks_here:make", "nbow", {}, {"embedding_dim": 4}, "data", training=training
    )
    results = train(config, "run", echo=lambda line: None)
    assert results["task"] == "own_tasks_here:make"
