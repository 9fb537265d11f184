"""Classify or score sentences or pairs; with models of trees, classify every phrase.

Input:
  raw text  one sentence per line. Models that read words tokenize it as in training; models that
            read trees parse it with the parser they were trained with, or with --parser
  trees     with or without labels, of any shape that the model takes: in brackets, or in CoNLL-U
            if the file is named *.conllu or standard input looks like it. A bracketed tree may
            continue on indented lines. A line is a tree if it is exactly one bracketed tree, an
            error if it begins as one but its brackets do not match, and raw text otherwise; --input
            overrides this. (not good) is raw text, (NN film) and (3 film) are trees: a label has no
            lower-case letter or is the name of a class. A label and a tab before a tree, as written
            by graphsent parse, are skipped
  tables    *.csv, *.tsv or *.jsonl, with or without labels; one column is read, or two for pairs,
            one row per input. A *.tsv without a header holds label<TAB>sentence. With
            --text-column, standard input is a table, of CSV or JSON lines
Arguments that contain a space are sentences or trees themselves. Without RUN (the first argument is
a sentence or a file), the bundled model predicts the sentiment of English sentences.

Output, one result per sentence or tree:
  text      the class, its probability and the sentence; for sentences given as arguments, also the
            probabilities of all classes and the unknown words
  json      an array of objects, with the probabilities of all nodes; jsonl: one object per line
  brackets  the tree with predicted class names as labels, spaces written as underscores and
            brackets escaped; dependency trees as CoNLL-U; trees is a synonym
  svg, png  a picture in the file --out; the second input is drawn in NAME-2.svg, and so on
  html      one page to browse, search and filter all predictions, in the file --out

Regression models output the score and the sentence, as text or json.

Models of pairs read two files whose first inputs form a pair, then their second inputs, and so on;
or a table with two columns, found by their names as in training, or given by --text-column, twice.
They output the score, or the class and its probability, and both sentences, as text or json.

The parse-reranker model reads n-best lists (graphsent.trees.nbest describes the format) and writes
the chosen tree of each; json adds the scores. It stops at a malformed list.

Input is streamed in order. Bad input, such as an empty line or a tree whose brackets do not match,
is reported by line on standard error, and the rest is processed. In its place the output has an
empty line, or in json and jsonl an object with "line" and "error", so that output and input stay
aligned. Empty lines that separate multi-line trees are not inputs. At the end, the numbers of bad
inputs and of unknown words are printed on standard error; the exit status is 1 if any input was
bad.

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
  graphsent predict runs/pairs pairs.csv --text-column question --text-column duplicate
  graphsent predict runs/a shards/ --ray --workers 8 --format jsonl --out predictions/
"""

from __future__ import annotations

from typing import Any

from graphsent.cli.declared import constant
from graphsent.cli.usage import (
    add_device,
    add_encoder,
    add_encoding,
    add_model_class,
    add_ray,
    add_text_column,
)

__all__ = ["FORMATS", "add_arguments"]

_ENGINES = constant("graphsent.propagation:ENGINES")
FORMATS = ("text", "json", "jsonl", "brackets", "trees", "svg", "png", "html")
_INPUTS = constant("graphsent.cli.trees_in:INPUTS")


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    add = parser.add_argument
    add(
        "run",
        type=str,
        nargs="?",
        metavar="RUN",
        help="Run or model directory (default: the bundled model).",
    )
    text = "Input file, two for pairs; or sentences; - is standard input (default: -)."
    add("inputs", type=str, nargs="*", metavar="FILE", help=text)
    add(
        "--format",
        choices=FORMATS,
        help="Output format (default: by the suffix of --out, else text).",
    )
    add("--out", "-o", type=str, metavar="FILE", help="Output file, written atomically.")
    add("--input", choices=_INPUTS, default="auto", help="Content of the lines (default: auto).")
    add_text_column(parser)
    add_encoding(parser)
    add(
        "--parser",
        type=str,
        metavar="NAME",
        help="Parser of raw text for models that read trees, such as spacy:MODEL (default: the "
        "parser that the model was trained with); see graphsent parse --help.",
    )
    add("--strict", action="store_true", help="Stop at the first bad input.")
    add(
        "--unknown",
        action="store_true",
        help="List unknown words and their counts on standard error.",
    )
    add("--batch-size", type=int, default=64, help="Inputs per batch (default: 64).")
    add("--engine", choices=_ENGINES, default="auto", help="Propagation engine (default: auto).")
    add_device(parser)
    add_ray(parser)
    add_encoder(parser)
    add_model_class(parser)
