"""Judge a trained model on a split of its task.

Examples:
  graphsent evaluate runs/a --split test
  graphsent evaluate runs/a --split dev --data-dir DATA
  graphsent evaluate runs/a --json figures.json
  graphsent evaluate runs/cr
      all runs of train --folds or --seeds, their mean and deviation
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from graphsent._files import atomic_path
from graphsent.cli.formatting import figures
from graphsent.cli.own_tasks import import_from_here
from graphsent.cli.several import table
from graphsent.cli.usage import check_target
from graphsent.propagation import ENGINES
from graphsent.tasks import SPLITS
from graphsent.training import RunDirectory, RunSet, evaluate, load_model, summary

__all__ = ["add_arguments", "run"]


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    parser.add_argument("run", type=str, metavar="RUN", help="Run directory, or one of several.")
    parser.add_argument("--split", choices=SPLITS, default="test", help="Default: test.")
    parser.add_argument(
        "--data-dir", type=str, help="Data directory (default: the one of the training)."
    )
    parser.add_argument(
        "--engine", choices=ENGINES, default="auto", help="How cells propagate (default: auto)."
    )
    parser.add_argument("--json", type=str, metavar="FILE", help="Write the figures there, too.")


def run(arguments: Any) -> None:
    """Prints the figures."""
    run_set = RunSet(arguments.run)
    if run_set.exists:
        paths = [run_set.path / name for name in run_set.open().configs()]
    else:
        paths = [RunDirectory(arguments.run).path]
    kept = [file for path in paths for file in RunDirectory(path).files()]
    check_target(arguments.json, "--json", [*kept, run_set.config, run_set.results])
    judged = [_judge(path, arguments) for path in paths]
    content = judged[0]
    if run_set.exists:
        split = arguments.split
        named = [
            {"name": path.name, split: each["metrics"]}
            for path, each in zip(paths, judged, strict=True)
        ]
        found = {split: summary([each["metrics"] for each in judged])}
        print(table(named, found))
        content = {"runs": judged, "summary": found}
    if arguments.json:
        with atomic_path(arguments.json) as temporary:
            temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _judge(path: Path, arguments: Any) -> dict[str, Any]:
    """The figures of one run, which it prints."""
    run = RunDirectory(path)
    config = run.open()
    import_from_here(config.task)
    model = load_model(path)
    model.engine = arguments.engine
    task, data = config.load_data(
        arguments.data_dir, (arguments.split,), model.label_names, held_out=run.read_splits()
    )
    print(f"data: {data.source.summary()}")
    values = evaluate(model, task, data.splits[arguments.split])
    print(f"{arguments.split}: {figures(values)}")
    return {
        "run": str(path),
        "split": arguments.split,
        "corpus": data.source.describe(),
        "metrics": values,
    }
