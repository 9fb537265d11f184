"""Download the corpora of tasks from where they are published.

Every file is checked by its SHA-256. What was downloaded is kept in the cache (GRAPHSENT_CACHE,
else ~/.cache/graphsent), and a download that was interrupted goes on. Without a network, --from-dir
takes the files from a directory: as they are published, archives too, or another data directory.

Examples:
  graphsent download mr subj cr --data-dir DATA
  graphsent download sst5 --data-dir DATA --from-dir ~/Downloads
  GRAPHSENT_DATA=DATA graphsent train --task mr --fold 0 --model kimcnn --out runs/mr
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from graphsent.cli.usage import UsageError
from graphsent.tasks.download import download
from graphsent.tasks.sources import SOURCES

__all__ = ["add_arguments", "run"]


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    tasks = ", ".join(sorted(SOURCES))
    parser.add_argument("tasks", type=str, nargs="+", metavar="TASK", help=f"Of {tasks}.")
    parser.add_argument("--data-dir", type=str, help="Where to put them (default: GRAPHSENT_DATA).")
    parser.add_argument(
        "--from-dir", type=str, metavar="DIR", help="Copy from there, without a network."
    )


def run(arguments: Any) -> None:
    """Downloads, and says where to."""
    data_dir = arguments.data_dir or os.environ.get("GRAPHSENT_DATA")
    if not data_dir:
        raise UsageError("--data-dir DIR is missing, and GRAPHSENT_DATA is not set")
    progress = sys.stderr.isatty()
    for task in arguments.tasks:
        download(task, data_dir, from_dir=arguments.from_dir, progress=progress)
    if os.environ.get("GRAPHSENT_DATA") != data_dir:
        print(f"to use them: --data-dir {Path(data_dir)}, or GRAPHSENT_DATA={Path(data_dir)}")
