"""List, show and copy the configurations that come with graphsent, or check your own.

  list [WORD ...]  list configurations, or only those whose names contain all the words
  show NAME        print a configuration as train --config reads it
  copy NAME FILE   write a configuration to a new file for editing, with local paths for the data
                   files it reads, or their bare names if they are not found
  check FILE ...   report every error in files for train --config, by line

show and copy write out every setting of the run, including defaults; --brief omits defaults from
them. The config.yaml of a run has the same format.

Examples:
  graphsent config list treelstm
  graphsent config show treelstm-sst5
  graphsent config copy treelstm-sst5 my.yaml --data-dir DATA
  graphsent config check my.yaml
  graphsent train --config my.yaml --out runs/mine
"""

from __future__ import annotations

from typing import Any

from graphsent.cli.arguments.shared import add_data_dir, add_places

__all__ = ["ACTIONS", "add_arguments"]

# Action -> the options that it reads.
ACTIONS = {
    "list": (),
    "show": ("brief",),
    "copy": ("brief", "data_dir", "parses_dir", "vectors_dir", "encoder"),
    "check": (),
}


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    add = parser.add_argument
    add("action", choices=tuple(ACTIONS), help="Action, see above.")
    add("names", type=str, nargs="*", metavar="FILE", help="Names or files, see above.")
    add("--brief", action="store_true", help="Omit settings that have their default.")
    add_data_dir(parser)
    add_places(parser)
