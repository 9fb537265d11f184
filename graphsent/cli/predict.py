"""Predict the class of every phrase of bracketed trees.

Trees may be labelled or not, and of any shape that the model takes. One result a tree:
  text    class, its probability and the sentence
  jsonl   a JSON object with probabilities of all nodes
  trees   the tree with predicted classes as labels

Examples:
  graphsent predict runs/a trees.txt
  echo '(S (NP (DT The) (NN film)) (VP (VBZ is) (ADJP (JJ dull))))' | graphsent predict runs/a
  graphsent predict runs/a trees.txt --format jsonl | jq .name
"""

from __future__ import annotations

import json
from typing import Any

from graphsent.cli.trees_in import trees_from
from graphsent.training import load_model

__all__ = ["add_arguments", "run"]

_FORMATS = ("text", "jsonl", "trees")
_AT_ONCE = 1024  # trees between two writes


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    parser.add_argument("run", type=str, metavar="RUN", help="Run or model directory.")
    parser.add_argument(
        "file", type=str, nargs="?", default="-", help="Bracketed trees; - is standard input."
    )
    parser.add_argument(
        "--format", choices=_FORMATS, default="text", help="Of the output (default: text)."
    )
    parser.add_argument(
        "--batch-size", type=int, default=64, help="Trees computed at once (default: 64)."
    )


def run(arguments: Any) -> None:
    """Writes a line for each tree."""
    model = load_model(arguments.run)
    trees = trees_from(arguments.file)
    for begin in range(0, len(trees), _AT_ONCE):
        part = trees[begin : begin + _AT_ONCE]
        for prediction in model.predict(part, arguments.batch_size):
            print(_line(prediction, arguments.format))


def _line(prediction: Any, line_format: str) -> str:
    if line_format == "jsonl":
        return json.dumps(prediction.to_dict(), ensure_ascii=False)
    if line_format == "trees":
        return str(prediction.to_tree())
    probability = float(prediction.probabilities[prediction.root, prediction.root_label])
    sentence = " ".join(prediction.tree.words)
    return f"{prediction.root_name}\t{probability:.3f}\t{sentence}"
