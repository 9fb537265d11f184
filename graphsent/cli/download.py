"""Download the corpora of tasks from their publishers."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from graphsent.cli.usage import UsageError
from graphsent.tasks.download import download

__all__ = ["run"]


def run(arguments: Any) -> None:
    """Downloads the corpora, and prints where they are."""
    data_dir = arguments.data_dir or os.environ.get("GRAPHSENT_DATA")
    if not data_dir:
        raise UsageError("--data-dir DIR is missing, and GRAPHSENT_DATA is not set")
    progress = sys.stderr.isatty()
    for task in arguments.tasks:
        download(task, data_dir, from_dir=arguments.from_dir, progress=progress)
    if os.environ.get("GRAPHSENT_DATA") != data_dir:
        print(f"to use them: --data-dir {Path(data_dir)}, or GRAPHSENT_DATA={Path(data_dir)}")
