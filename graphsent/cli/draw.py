"""Draw a tree, with its own labels or the classes that a model predicts.

Examples:
  graphsent draw trees.txt --out tree.svg
  graphsent draw trees.txt --index 4 --model runs/a --out tree.png
  echo '(3 (2 A) (3 (3 lovely) (2 film)))' | graphsent draw --out tree.svg
"""

from __future__ import annotations

from typing import Any

from graphsent.errors import DataError

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "Draw a tree."


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "file", type=str, nargs="?", default="-", help="Bracketed trees; - is standard input."
    )
    parser.add_argument("--out", type=str, required=True, help="File to write, .png or .svg.")
    parser.add_argument("--index", type=int, default=0, help="Which tree of the file, from 0.")
    parser.add_argument(
        "--model", type=str, metavar="RUN", help="Run or model directory that predicts the labels."
    )
    parser.add_argument("--title", type=str, help="A line above the picture.")


def run(arguments: Any) -> None:
    """Writes the picture."""
    from graphsent.cli.trees_in import trees_from
    from graphsent.graphs import draw_tree

    trees = trees_from(arguments.file)
    if not 0 <= arguments.index < len(trees):
        raise DataError(f"--index {arguments.index}: there are {len(trees)} trees, from 0")
    tree, classes = trees[arguments.index], None
    if arguments.model is not None:
        from graphsent.training import load_model

        prediction = load_model(arguments.model).predict([tree])[0]
        tree, classes = prediction.to_tree(), prediction.label_names
    draw_tree(tree, classes=classes, title=arguments.title, path=arguments.out)
    print(f"wrote {arguments.out}")
