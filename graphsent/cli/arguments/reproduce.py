"""Run the tables of the papers anew, and report what came out beside what they report.

Finished runs are kept as small files in --out, so that the same command continues where an earlier
one ended: after Ctrl-C, or on another day or machine. A run whose configuration or data have
changed is made again. The report is written beside them, to docs/results.md and docs/results.json
by default, and has all tables whichever were asked for.

Test data are looked at here alone: settings are to be compared by `graphsent train`, on dev.

Examples:
  graphsent reproduce --list
      the tables, and how much of each is there
  graphsent reproduce dcnn-trec --data-dir DATA
      what is missing of a table
  graphsent reproduce all --data-dir DATA --jobs 2 --budget 600
      runs that fit in ten hours, two side by side; those that count most come first
  graphsent reproduce treelstm --data-dir DATA --fast
      a quarter of the epochs and two seeds or folds, to runs/results-fast: it says so
  graphsent config show treelstm-sst5
      settings, and how they differ from the paper's
  graphsent reproduce --report
      the report of what is there, after a change of what tables or configurations say
  graphsent reproduce --report --into README.md
      also the main results, between the lines <!-- results --> and <!-- end of results -->
  graphsent reproduce --check --data-dir DATA
      repeats a finished run, chosen at random; fails if chance does not explain the difference
"""

from __future__ import annotations

from typing import Any

__all__ = ["FAST_OUT", "OUT", "add_arguments"]

OUT = "docs/results"
FAST_OUT = "runs/results-fast"
_WORK = "runs/reproduce"


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    add = parser.add_argument
    add("tables", type=str, nargs="*", metavar="TABLE", help="Names of tables; all for all.")
    add("--list", action="store_true", help="List tables; with TABLE its configurations.")
    add("--report", action="store_true", help="Write the report of what is there; needs no data.")
    text = "Also write the main results into FILE, between <!-- results --> and its end."
    add("--into", type=str, metavar="FILE", help=text)
    add("--check", action="store_true", help="Repeat a finished run of TABLE (default: of all).")
    add("--fast", action="store_true", help="A smaller version, which says so.")
    add("--seeds", type=str, default="0-4", help="Of tasks without folds (default: 0-4).")
    add("--jobs", type=int, default=1, help="Runs side by side, one thread each (default: 1).")
    add("--budget", type=float, metavar="MINUTES", help="Begin no run that does not fit in them.")
    add("--out", type=str, help=f"Finished runs (default: {OUT}; with --fast: {FAST_OUT}).")
    add("--work", type=str, default=_WORK, help=f"Runs under way (default: {_WORK}).")
    add("--data-dir", type=str, help="Corpora (default: GRAPHSENT_DATA).")
    add("--parses-dir", type=str, help="Trees, as for graphsent train.")
    text = "Word vectors (default: GRAPHSENT_VECTORS, else vectors/ in or beside the corpora)."
    add("--vectors-dir", type=str, help=text)
    text = "Encoder of contextual features (default: GRAPHSENT_ENCODER)."
    add("--encoder", type=str, metavar="DIR", help=text)
