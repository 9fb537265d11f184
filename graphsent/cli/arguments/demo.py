"""Train a Tree-LSTM and a bag of words on the embedded treebank, and look at the result.

Prints their test accuracies side by side, saves the Tree-LSTM, predicts a few test sentences and
draws one tree with the predicted sentiment of every phrase. At the end the model that comes with
graphsent, which knows English film reviews, takes sentences that you type, if there is a terminal.

Example:
  graphsent demo --out runs/demo
"""

from __future__ import annotations

from typing import Any

__all__ = ["add_arguments"]


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--out", type=str, default="runs/demo", help="Directory to write to.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of everything random.")
