"""Draw a tree with its own labels or with a model's predictions, or write a page of all trees.

--out FILE.html writes a self-contained page of a model's predictions for all trees of the file,
which can be searched, filtered by errors and explored in a browser. In lines of label<TAB>tree and
in comments "# label = ...", as written by graphsent parse, the label is that of the root.

Examples:
  graphsent draw trees.txt --out tree.svg
  graphsent draw trees.txt --direction sibling --out sibling.svg
  graphsent draw trees.txt --number 4 --model runs/a --out tree.png
  graphsent draw trees.txt --model runs/a --gold --probabilities --out tree.svg
  graphsent draw trees.txt --model runs/a --out page.html
  graphsent draw trees.conllu --model runs/arnn --weights --out attention.svg
  graphsent draw --tree '(3 (2 A) (3 (3 lovely) (2 film)))' --out tree.svg
"""

from __future__ import annotations

from typing import Any

from graphsent.cli.arguments.shared import add_encoder, add_model_class
from graphsent.cli.declared import constant

__all__ = ["add_arguments"]

_DIRECTIONS = constant("graphsent.graphs.fields:DIRECTIONS")


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "file",
        type=str,
        nargs="?",
        metavar="FILE",
        help="Bracketed trees, or CoNLL-U if named *.conllu; - is standard input (default: -).",
    )
    parser.add_argument(
        "--tree", type=str, metavar="TREE", help="A bracketed tree, instead of FILE."
    )
    parser.add_argument(
        "--out",
        "-o",
        type=str,
        metavar="FILE",
        required=True,
        help="Output file: .png, .svg or .html.",
    )
    parser.add_argument(
        "--number", type=int, help="Number of the tree in the file, from 1 (default: 1)."
    )
    parser.add_argument(
        "--model", type=str, metavar="RUN", help="Run or model directory to predict labels with."
    )
    parser.add_argument(
        "--weights",
        action="store_true",
        help="With --model: draw edges as wide as their weights, by attention or shares in heads.",
    )
    parser.add_argument(
        "--gold",
        action="store_true",
        help="With --model: compare with the gold labels of the tree, and frame errors.",
    )
    parser.add_argument(
        "--probabilities",
        action="store_true",
        help="With --model: show the probability of each predicted label.",
    )
    parser.add_argument(
        "--direction",
        choices=_DIRECTIONS,
        help="Draw the graph that models read, with edges in this direction, instead of the tree.",
    )
    add_encoder(parser)
    add_model_class(parser)
    parser.add_argument("--title", type=str, help="Title of the picture or page.")
