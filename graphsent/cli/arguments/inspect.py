"""Look inside a convolutional model, or at the learning curves of any run.

  filters    the n-grams of a corpus that most activate each filter over words
  graph      the feature graph that pooling induces over a sentence (dcnn)
  attention  the attention weights of the positions in a sentence (apdcnn)
  curves     the training loss and dev metrics of each epoch of a run (any model)

The output is a table on standard output, or a file whose suffix selects the format: a table (.txt,
.csv, .json; for graph, .json holds the whole graph) or a picture (.png, .svg).

FILE holds raw text, one sentence per line, bracketed trees, or CoNLL-U if named *.conllu; attention
needs trees. Without FILE, filters reads the dev and test splits of the run's task.

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

from graphsent.cli.arguments.shared import add_encoder, add_model_class

__all__ = ["OPTIONS", "TOP", "add_arguments"]

TOP = 5
_OF_SENTENCES = ("sentence", "number")
# What is shown -> the options that only some of them read.
OPTIONS = {
    "filters": ("filters", "top"),
    "graph": (*_OF_SENTENCES, "map", "row"),
    "attention": _OF_SENTENCES,
    "curves": (),
}


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    add_encoder(parser)
    add_model_class(parser)
    add = parser.add_argument
    add("run", type=str, metavar="RUN", help="Run or model directory.")
    add("what", choices=tuple(OPTIONS), help="What to show, see above.")
    add(
        "file", type=str, nargs="?", metavar="FILE", help="Sentences or trees; - is standard input."
    )
    add(
        "--out",
        "-o",
        type=str,
        metavar="FILE",
        help="Output file: .txt, .csv, .json, .png or .svg.",
    )
    add("--title", type=str, help="Title of the picture.")
    add("--filters", type=str, help="Filters, such as 1-8,20 (default: all; 12 in a picture).")
    add("--top", type=int, help=f"Number of n-grams per filter (default: {TOP}).")
    add("--sentence", type=str, help="A sentence or bracketed tree, instead of FILE.")
    add("--number", type=int, help="Number of the sentence in the file, from 1 (default: 1).")
    text = "With --row: show only the subgraph that leads to this map of the last layer, from 1."
    add("--map", type=int, help=text)
    text = "With --map: show only the subgraph that leads to this row of the last layer, from 1."
    add("--row", type=int, help=text)
