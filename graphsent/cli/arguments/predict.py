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
            brackets escaped; dependency trees as CoNLL-U, with all else that their file
            holds; trees is a synonym
  svg, png  a picture in the file --out; the second input is drawn in NAME-2.svg, and so on
  html      one page to browse, search and filter all predictions, in the file --out

Regression models output the score and the sentence, as text or json.

Models of pairs read two files whose first inputs form a pair, then their second inputs, and so on,
with at most one tree per line; or a table with two columns of text, which have usual names such as
sentence1 and sentence2 or are named by --text-column, given twice. They output the score, or the
class and its probability, and both sentences, as text or json.

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
  graphsent predict runs/a texts/ --ray --workers 8 --format jsonl --out predictions/
"""

from __future__ import annotations

from typing import Any

from graphsent.cli.arguments.shared import add_inference

__all__ = ["FORMATS", "add_arguments"]

FORMATS = ("text", "json", "jsonl", "brackets", "trees", "svg", "png", "html")


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    text = "Output format (default: by the suffix of --out, else text)."
    parser.add_argument("--format", choices=FORMATS, help=text)
    text = "Input file, two for pairs; or sentences; - is standard input (default: -)."
    add_inference(parser, text, batch_size=64)
