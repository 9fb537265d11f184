"""Predict the class of every phrase of parse trees, or a score, or how two sentences relate.

Trees are bracketed, or in CoNLL-U if their file is named .conllu or standard input looks like it;
labelled or not, and of any shape that the model takes. A bracketed tree may continue in indented
lines. Raw text, one sentence per line, is accepted, too: models of words divide it with the
tokenizer chosen in training; models of trees parse it with the parser that they were trained with,
or with --parser. A line is a tree if it is exactly one, an error if it begins as a tree whose
brackets do not match, and raw text otherwise; --input overrides this. Of a table, *.csv or *.jsonl,
one column is read, a row as a line. Arguments with a blank in
them are sentences or trees themselves. Without a RUN, that is if the first argument is a sentence
or a file, the model that comes with graphsent predicts the sentiment of sentences in English. One
result per tree or sentence:
  text      class, its probability and the sentence; of sentences that are arguments also the
            probabilities of all classes, and the words that the model does not know
  json      an array of objects, with the probabilities of all nodes; jsonl: an object a line
  brackets  the tree, whose labels are the names of the predicted classes, with underscores for
            blanks and escapes for brackets; of dependency trees CoNLL-U; trees means the same
  svg, png  a picture, in the file that --out names; of the second input NAME-2.svg, and so on
  html      one page of all, to browse, search and filter, in the file that --out names

A regression model gives the score and the sentence, as text or json.

A model of pairs takes two files: their first trees form a pair, then their second ones, and so on.
One result per pair: score, or class and its probability, and both sentences, as text or json.

The model parse-reranker reads n-best lists, as graphsent.trees.nbest describes them, and writes the
chosen tree of each, with json also the scores. It stops at a malformed list.

Input is processed piece by piece, in order. What cannot be read, such as an empty line
or a tree whose brackets do not match, is reported by line on standard error; the rest is processed.
In its place the output has an empty line, or in jsonl an object with "line" and "error", so that
results and inputs stay in step. Empty lines that divide trees of several lines are no inputs. At
the end standard error says how many inputs were bad, and how many words the model does not know;
the exit status is 1 if an input was bad.

Examples:
  graphsent predict "A film of great charm." "Too long by far."
  graphsent predict runs/a trees.txt
  echo '(S (NP (DT The) (NN film)) (VP (VBZ is) (ADJP (JJ dull))))' | graphsent predict runs/a
  graphsent predict runs/a trees.txt --format jsonl | jq .name
  graphsent predict runs/own reviews.csv --text-column review --out predicted.jsonl
  echo "Where's the Louvre?" | graphsent predict runs/dcnn
  echo "A moving film." | graphsent predict runs/a --parser benepar:DIRECTORY
  graphsent predict runs/rerank wsj.nbest.heldout.gz > chosen.trees
  graphsent predict runs/a "(S (NP (DT The) (NN film)) (VP (VBZ is) (JJ dull)))" --out tree.svg
  graphsent predict runs/sick first.conllu second.conllu
  graphsent predict runs/a shards/ --ray --workers 8 --format jsonl --out predictions/
"""

from __future__ import annotations

from typing import Any

from graphsent.cli.declared import constant
from graphsent.cli.usage import add_encoder, add_model_class, add_ray, add_text_column

__all__ = ["FORMATS", "add_arguments"]

_ENGINES = constant("graphsent.propagation:ENGINES")
FORMATS = ("text", "json", "jsonl", "brackets", "trees", "svg", "png", "html")
_INPUTS = constant("graphsent.cli.trees_in:INPUTS")


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    add = parser.add_argument
    add("run", type=str, nargs="?", metavar="RUN", help="Run or model directory.")
    text = "What to read, two for pairs; or sentences. - is standard input, the default."
    add("inputs", type=str, nargs="*", metavar="FILE", help=text)
    add(
        "--format",
        choices=FORMATS,
        help="Of the output (default: as the name of --out ends, or text).",
    )
    add("--out", "-o", type=str, metavar="FILE", help="Write to a file, whole or not at all.")
    add("--input", choices=_INPUTS, default="auto", help="What the lines are (default: auto).")
    add_text_column(parser)
    add(
        "--parser",
        type=str,
        metavar="NAME",
        help="Parses raw text for a model of trees, as spacy:MODEL (default: what parsed the trees "
        "that it was trained on); see graphsent parse --help.",
    )
    add("--strict", action="store_true", help="Stop at the first input that is bad.")
    add(
        "--unknown",
        action="store_true",
        help="List the words that the model does not know on standard error, with their counts.",
    )
    add("--batch-size", type=int, default=64, help="Inputs computed at once (default: 64).")
    add("--engine", choices=_ENGINES, default="auto", help="How cells propagate (default: auto).")
    add_ray(parser)
    add_encoder(parser)
    add_model_class(parser)
