"""Reproduce the papers' tables, and report the results beside the published figures.

Finished runs are kept as small files in --out, so the same command continues where an earlier one
stopped: after Ctrl-C, or on another day or machine. A run whose configuration or data changed is
repeated. Of commands that run side by side, none repeats a run that another is executing or has
finished. The report always covers all tables; it is written beside --out, by default to
docs/results.md and docs/results.json.

This command evaluates on test data: compare settings on dev instead, with `graphsent train`.

Examples:
  graphsent reproduce --list
      list the tables, and how many runs of each are finished
  graphsent reproduce dcnn-trec --data-dir DATA
      run what is missing from a table
  graphsent reproduce treelstm-sst5 --data-dir DATA --seeds 0-9
      run what is missing of ten runs of one configuration
  graphsent reproduce all --data-dir DATA --jobs 2 --budget 600
      run as much as fits in ten hours, two runs in parallel, the most important first
  graphsent reproduce contextual --data-dir DATA --encoder DIR --device cuda --jobs 4
      the runs of a table on a GPU, four at a time
  graphsent reproduce treelstm --data-dir DATA --fast
      a quarter of the epochs and two seeds or folds; the report in runs/results-fast says so
  graphsent config show treelstm-sst5
      show the settings, and how they differ from the paper's
  graphsent reproduce --report
      rewrite the report from finished runs, after editing tables or configurations
  graphsent reproduce --report --into README.md
      also write the main results between the lines <!-- results --> and <!-- end of results -->
  graphsent reproduce --check --data-dir DATA
      repeat a random finished run; fails if chance does not explain the difference
"""

from __future__ import annotations

from typing import Any

from graphsent.cli.arguments.shared import add_device, add_places

__all__ = ["FAST_OUT", "OUT", "add_arguments"]

OUT = "docs/results"
FAST_OUT = "runs/results-fast"
_WORK = "runs/reproduce"


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    add = parser.add_argument
    text = "Tables or configurations to reproduce, or all."
    add("tables", type=str, nargs="*", metavar="TABLE", help=text)
    add("--list", action="store_true", help="List the tables, or the configurations of each TABLE.")
    add(
        "--report",
        action="store_true",
        help="Only write the report of finished runs; needs no data.",
    )
    text = "Also write the main results into FILE, between <!-- results --> and its end marker."
    add("--into", type=str, metavar="FILE", help=text)
    add(
        "--check",
        action="store_true",
        help="Repeat a random finished run of TABLE (default: of any).",
    )
    add("--fast", action="store_true", help="Run a reduced version, labelled as such.")
    add("--seeds", type=str, default="0-4", help="Seeds, for tasks without folds (default: 0-4).")
    add("--jobs", type=int, default=1, help="Parallel runs (default: 1).")
    add(
        "--budget",
        type=float,
        metavar="MINUTES",
        help="Time limit; runs not expected to finish within it are not started.",
    )
    add(
        "--out",
        type=str,
        metavar="DIR",
        help=f"Directory of finished runs (default: {OUT}; with --fast: {FAST_OUT}).",
    )
    add(
        "--work",
        type=str,
        metavar="DIR",
        default=_WORK,
        help=f"Directory of unfinished runs (default: {_WORK}).",
    )
    add_device(parser)
    add("--data-dir", type=str, metavar="DIR", help="Data directory (default: $GRAPHSENT_DATA).")
    add_places(parser)
