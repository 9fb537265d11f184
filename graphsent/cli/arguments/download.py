"""Download the corpora of tasks from their publishers.

Every download is verified by its SHA-256. Downloads are cached ($GRAPHSENT_CACHE, else
~/.cache/graphsent), and an interrupted download is resumed. Without a network, --from-dir takes the
files from a local directory: the published files or archives, or another data directory. A file of
which only the archive's SHA-256 is known is then copied unchecked, which is reported.

Examples:
  graphsent download mr subj cr --data-dir DATA
  graphsent download sst5 --data-dir DATA --from-dir ~/Downloads
  GRAPHSENT_DATA=DATA graphsent train --task mr --fold 0 --model kimcnn --out runs/mr
"""

from __future__ import annotations

from typing import Any

from graphsent.cli.declared import keys

__all__ = ["add_arguments"]

_TASKS = keys("graphsent.tasks.sources:SOURCES")


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    tasks = ", ".join(sorted(_TASKS))
    parser.add_argument("tasks", type=str, nargs="+", metavar="TASK", help=f"Task: {tasks}.")
    parser.add_argument(
        "--data-dir",
        type=str,
        metavar="DIR",
        help="Target data directory (default: $GRAPHSENT_DATA).",
    )
    parser.add_argument(
        "--from-dir",
        type=str,
        metavar="DIR",
        help="Copy from this directory instead of downloading.",
    )
