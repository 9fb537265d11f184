"""Judge a trained model on a split of its task.

Examples:
  graphsent evaluate runs/a --split test
  graphsent evaluate runs/a --split dev --data-dir DATA
  graphsent evaluate runs/a --json figures.json
"""

from __future__ import annotations

import json
from typing import Any

from graphsent._files import atomic_path
from graphsent.cli.formatting import figures
from graphsent.cli.own_tasks import import_from_here
from graphsent.cli.usage import check_target
from graphsent.propagation import ENGINES
from graphsent.tasks import SPLITS
from graphsent.training import RunDirectory, evaluate, load_model

__all__ = ["add_arguments", "run"]


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    parser.add_argument("run", type=str, metavar="RUN", help="Run directory.")
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
    run = RunDirectory(arguments.run)
    check_target(arguments.json, "--json", run.files())
    config = run.open()
    import_from_here(config.task)
    model = load_model(arguments.run)
    model.engine = arguments.engine
    task, data = config.load_data(arguments.data_dir, (arguments.split,), model.label_names)
    print(f"data: {data.source.summary()}")
    values = evaluate(model, task, data.splits[arguments.split])
    print(f"{arguments.split}: {figures(values)}")
    if arguments.json:
        content = {
            "run": arguments.run,
            "split": arguments.split,
            "corpus": data.source.describe(),
            "metrics": values,
        }
        with atomic_path(arguments.json) as temporary:
            temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
