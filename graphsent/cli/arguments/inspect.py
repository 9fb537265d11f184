"""Look inside a convolutional model, or at how any model was trained.

  filters    the n-grams of a corpus that activate each filter over words most
  graph      the feature graph that pooling induces over a sentence (dcnn)
  attention  the weights of the positions of a sentence (apdcnn)
  curves     loss and dev figures of each epoch of a run (any model)

The output is a table on standard output, or a file whose suffix decides: a table (.txt, .csv,
.json; the whole graph in .json) or a picture (.png, .svg).

Sentences are raw text, one per line, bracketed trees, or CoNLL-U if named .conllu; attention needs
trees. Without a file filters look at dev and test of the run's task.

Examples:
  graphsent inspect runs/dcnn filters --top 5 --out filters.csv
  graphsent inspect runs/dcnn filters questions.txt --filters 1-8,20 --out filters.svg
  graphsent inspect runs/dcnn graph --sentence 'a film of great charm' --out graph.svg
  graphsent inspect runs/dcnn graph sentences.txt --number 3 --map 1 --row 2 --out feature.svg
  graphsent inspect runs/a curves --out curves.svg
  graphsent inspect runs/apdcnn attention trees.txt --number 3 --out attention.svg
"""

from __future__ import annotations

from typing import Any

from graphsent.cli.declared import constant
from graphsent.cli.usage import add_encoder, add_model_class

__all__ = ["add_arguments"]

_OPTIONS = constant("graphsent.cli.inspect:_OPTIONS")
_TOP = constant("graphsent.cli.inspect:_TOP")


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    add_encoder(parser)
    add_model_class(parser)
    add = parser.add_argument
    add("run", type=str, metavar="RUN", help="Run or model directory.")
    add("what", choices=tuple(_OPTIONS), help="What to look at.")
    add("file", type=str, nargs="?", help="Sentences or trees; - is standard input.")
    add("--out", "-o", type=str, metavar="FILE", help=".txt, .csv, .json, .png or .svg.")
    add("--title", type=str, help="A line above the picture.")
    add("--filters", type=str, help="Which filters, for instance 1-8,20 (default: all; 12 drawn).")
    add("--top", type=int, help=f"How many n-grams of each filter (default: {_TOP}).")
    add("--sentence", type=str, help="A sentence or bracketed tree, instead of a file.")
    add("--number", type=int, help="Which sentence of the file (default: 1, the first).")
    add("--map", type=int, help="What leads to this map of the last layer (with --row), from 1.")
    add("--row", type=int, help="What leads to this row of the last layer (with --map), from 1.")
