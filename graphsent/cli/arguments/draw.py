"""Draw a tree, with its own labels or the classes that a model predicts; or a page of all trees.

A page, --out FILE.html, shows what a model predicts for all trees of the file, to be searched,
filtered by mistakes and looked into. It needs nothing but a browser.

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

from graphsent.cli.declared import constant
from graphsent.cli.usage import add_encoder, add_model_class

__all__ = ["add_arguments"]

_DIRECTIONS = constant("graphsent.graphs.fields:DIRECTIONS")


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "file",
        type=str,
        nargs="?",
        help="Bracketed trees, or CoNLL-U if named .conllu; - (the default) is standard input.",
    )
    parser.add_argument("--tree", type=str, help="A bracketed tree, instead of a file.")
    parser.add_argument(
        "--out", "-o", type=str, required=True, help="File to write: .png, .svg or .html."
    )
    parser.add_argument(
        "--number", type=int, help="Which tree of the file (default: 1, the first)."
    )
    parser.add_argument(
        "--model", type=str, metavar="RUN", help="Run or model directory that predicts the labels."
    )
    parser.add_argument(
        "--weights",
        action="store_true",
        help="Draw edges as thick as the model weighs them: by attention, or by shares in heads.",
    )
    parser.add_argument(
        "--gold",
        action="store_true",
        help="With --model: compare with the labels of the tree, and frame those that differ.",
    )
    parser.add_argument(
        "--probabilities",
        action="store_true",
        help="With --model: write the probability of each label.",
    )
    parser.add_argument(
        "--direction",
        choices=_DIRECTIONS,
        help="Draw the graph of the tree whose edges run that way, as models read it.",
    )
    add_encoder(parser)
    add_model_class(parser)
    parser.add_argument("--title", type=str, help="A line above the picture.")
