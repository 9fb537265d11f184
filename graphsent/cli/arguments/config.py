"""List, show and copy the configurations that come with graphsent, or check one of your own.

  list [WORD ...]  names of configurations, all or those with these words in them
  show NAME        a configuration as train --config takes it
  copy NAME FILE   the same in a file, to be changed, with the files it reads where they are here,
                   or by their names if they are not
  check FILE ...   everything that is wrong with files for train --config, with lines

What is shown or copied is complete: every setting of the run, its defaults written out; --brief
leaves defaults out. The config.yaml of a run is such a file, too.

Examples:
  graphsent config list treelstm
  graphsent config show treelstm-sst5
  graphsent config copy treelstm-sst5 my.yaml --data-dir DATA
  graphsent config check my.yaml
  graphsent train --config my.yaml --out runs/mine
"""

from __future__ import annotations

from typing import Any

__all__ = ["ACTIONS", "add_arguments"]

ACTIONS = ("list", "show", "copy", "check")


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    add = parser.add_argument
    add("action", choices=ACTIONS, help="What to do.")
    add("names", type=str, nargs="*", metavar="FILE", help="Names of configurations, or files.")
    add("--brief", action="store_true", help="Leave out what has its default.")
    add("--data-dir", type=str, help="Corpora (default: GRAPHSENT_DATA, else the embedded ones).")
    add("--parses-dir", type=str, help="Trees, as for graphsent train.")
    text = "Word vectors (default: GRAPHSENT_VECTORS, else vectors/ in or beside the corpora)."
    add("--vectors-dir", type=str, help=text)
    text = "Encoder of contextual features (default: GRAPHSENT_ENCODER)."
    add("--encoder", type=str, metavar="DIR", help=text)
