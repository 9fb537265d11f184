"""Evaluate a trained model on a split of its task, or on another file of your own data.

Examples:
  graphsent evaluate runs/a --split test
  graphsent evaluate runs/a --split dev --data-dir DATA
  graphsent evaluate runs/a --json figures.json
  graphsent evaluate runs/a --confusion confusion.svg --errors 10 --errors-file errors.csv
      draw the confusion matrix and list the most confident errors
  graphsent evaluate runs/a --page page.html
      write a page to browse and search all predictions and filter them by errors
  graphsent evaluate runs/own --test more.tsv
      evaluate a model of your own data on another labelled file
  graphsent evaluate runs/cr
      evaluate all runs of train --folds or --seeds, with mean and standard deviation
"""

from __future__ import annotations

from typing import Any

from graphsent.cli.arguments.shared import add_device, add_encoder, add_engine
from graphsent.cli.declared import constant

__all__ = ["add_arguments"]

_SPLITS = constant("graphsent.tasks:SPLITS")


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    for name in ("--label-column", "--text-column"):
        parser.hints[name] = ": a run reads the columns that it was trained with"
    parser.hints["--encoding"] = ": a file is read in the encoding of the run"
    parser.add_argument(
        "run", type=str, metavar="RUN", help="Run directory, or directory of several runs."
    )
    parser.add_argument(
        "--split", choices=_SPLITS, default="test", help="Split to evaluate on (default: test)."
    )
    parser.add_argument(
        "--test",
        type=str,
        metavar="FILE",
        help="Evaluate a model of your own data on this labelled file, which is read as the files "
        "of the run are: with the same columns, encoding and labels.",
    )
    parser.add_argument(
        "--test-trees",
        type=str,
        nargs="+",
        action="extend",
        metavar="FILE",
        help="File with the trees of the sentences of --test, as for graphsent train; two files "
        "for pairs.",
    )
    parser.add_argument(
        "--data-dir",
        type=str,
        metavar="DIR",
        help="Data directory (default: the one used in training).",
    )
    add_engine(parser)
    add_device(parser)
    parser.add_argument(
        "--confusion",
        type=str,
        metavar="FILE",
        help="Draw the confusion matrix to this .svg or .png file.",
    )
    parser.add_argument("--errors", type=int, metavar="N", help="List the N most confident errors.")
    parser.add_argument(
        "--errors-file", type=str, metavar="FILE", help="Write all errors to this CSV file."
    )
    parser.add_argument(
        "--page", type=str, metavar="FILE", help="Write all predictions to this HTML page."
    )
    add_encoder(parser)
    parser.add_argument(
        "--json", type=str, metavar="FILE", help="Also write the metrics to this JSON file."
    )
