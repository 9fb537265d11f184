"""Evaluate a trained model on a split of its task.

Examples:
  graphsent evaluate runs/a --split test
  graphsent evaluate runs/a --split dev --data-dir DATA
  graphsent evaluate runs/a --json figures.json
  graphsent evaluate runs/a --confusion confusion.svg --errors 10 --errors-file errors.csv
      the confusion matrix, and the errors in which the model is most confident
  graphsent evaluate runs/a --page page.html
      a page to browse all predictions, search them, and filter them by mistakes
  graphsent evaluate runs/cr
      all runs of train --folds or --seeds, their mean and deviation
"""

from __future__ import annotations

from typing import Any

from graphsent.cli.declared import constant
from graphsent.cli.usage import add_encoder

__all__ = ["add_arguments"]

_ENGINES = constant("graphsent.propagation:ENGINES")
_SPLITS = constant("graphsent.tasks:SPLITS")


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    parser.add_argument("run", type=str, metavar="RUN", help="Run directory, or one of several.")
    parser.add_argument("--split", choices=_SPLITS, default="test", help="Default: test.")
    parser.add_argument(
        "--data-dir", type=str, help="Data directory (default: the one of the training)."
    )
    parser.add_argument(
        "--engine", choices=_ENGINES, default="auto", help="How cells propagate (default: auto)."
    )
    parser.add_argument(
        "--confusion", type=str, metavar="FILE", help="Draw the confusion matrix: .svg or .png."
    )
    parser.add_argument(
        "--errors", type=int, metavar="N", help="List the N most confident errors of the model."
    )
    parser.add_argument(
        "--errors-file", type=str, metavar="FILE", help="Write all errors to this CSV file."
    )
    parser.add_argument(
        "--page", type=str, metavar="FILE", help="Write all predictions to this HTML page."
    )
    add_encoder(parser)
    parser.add_argument("--json", type=str, metavar="FILE", help="Write the figures there, too.")
