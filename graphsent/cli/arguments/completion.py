"""Print a shell script that completes commands, options, choices and file names.

Needs shtab: pip install 'graphsent[completion]'.

Examples:
  graphsent completion bash > ~/.local/share/bash-completion/completions/graphsent
  graphsent completion zsh > ~/.zfunc/_graphsent      # with fpath+=~/.zfunc before compinit
"""

from __future__ import annotations

from typing import Any

__all__ = ["add_arguments"]


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="Shell to complete in.")
