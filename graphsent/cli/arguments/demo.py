"""Train a Tree-LSTM and a bag of words on the embedded treebank, and compare them.

Prints their test accuracies side by side, saves the Tree-LSTM, predicts a few test sentences and
draws one tree with the predicted sentiment of every phrase. In a terminal, you can then type
sentences for the bundled model, which was trained on English film reviews.

Example:
  graphsent demo --out runs/demo
"""

from __future__ import annotations

from typing import Any

__all__ = ["add_arguments"]


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "--out",
        type=str,
        metavar="DIR",
        default="runs/demo",
        help="Output directory (default: runs/demo).",
    )
    parser.add_argument("--seed", type=int, default=0, help="Random seed (default: 0).")
