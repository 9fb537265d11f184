"""Predict the class of every phrase of parse trees, or how related pairs of sentences are.

Trees are bracketed, or in CoNLL-U if their file is named .conllu; labelled or not, and of any shape
that the model takes. Models that read words alone also take a sentence a line, whose words are
divided by blanks. One result a tree or sentence:
  text    class, its probability and the sentence
  jsonl   a JSON object with probabilities of all nodes
  trees   the tree with predicted classes as labels

A model of relatedness takes two files, whose first trees are a pair, as are the second ones, and so
on. One result a pair: score and both sentences, as text or jsonl.

Examples:
  graphsent predict runs/a trees.txt
  echo '(S (NP (DT The) (NN film)) (VP (VBZ is) (ADJP (JJ dull))))' | graphsent predict runs/a
  graphsent predict runs/a trees.txt --format jsonl | jq .name
  echo 'Where is the Louvre ?' | graphsent predict runs/dcnn
  graphsent predict runs/sick first.conllu second.conllu
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from graphsent.cli.trees_in import sentences_from, trees_from
from graphsent.cli.usage import UsageError
from graphsent.errors import DataError
from graphsent.models import RelatednessModel, Sentence
from graphsent.propagation import ENGINES
from graphsent.training import load_model
from graphsent.trees import DependencyTree, to_conllu

__all__ = ["add_arguments", "run"]

_FORMATS = ("text", "jsonl", "trees")
_AT_ONCE = 1024  # inputs between two writes


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    parser.add_argument("run", type=str, metavar="RUN", help="Run or model directory.")
    parser.add_argument("file", type=str, nargs="?", default="-", help="- is standard input.")
    parser.add_argument(
        "second", type=str, nargs="?", help="The other sentences of pairs, for relatedness."
    )
    parser.add_argument(
        "--format", choices=_FORMATS, default="text", help="Of the output (default: text)."
    )
    parser.add_argument(
        "--batch-size", type=int, default=64, help="Inputs computed at once (default: 64)."
    )
    parser.add_argument(
        "--engine", choices=ENGINES, default="auto", help="How cells propagate (default: auto)."
    )


def run(arguments: Any) -> None:
    """Writes a line for each tree or pair."""
    if arguments.batch_size < 1:
        raise UsageError(f"--batch-size: expected at least 1, got {arguments.batch_size}")
    model = load_model(arguments.run)
    model.engine = arguments.engine
    lines = _scores if isinstance(model, RelatednessModel) else _classes
    for line in lines(model, arguments):
        print(line)


def _classes(model: Any, arguments: Any) -> Iterator[str]:
    if arguments.second is not None:
        raise UsageError(f"the model {model.name!r} reads single sentences, got two files")
    read = sentences_from if model.tree_kind == "words" else trees_from
    trees = read(arguments.file)
    if arguments.format == "trees" and any(isinstance(tree, Sentence) for tree in trees):
        raise UsageError("--format trees is for trees; classes of sentences are text or jsonl")
    for begin in range(0, len(trees), _AT_ONCE):
        part = trees[begin : begin + _AT_ONCE]
        for prediction in model.predict(part, arguments.batch_size):
            yield _class_line(prediction, arguments.format)


def _class_line(prediction: Any, line_format: str) -> str:
    if line_format == "jsonl":
        return json.dumps(prediction.to_dict(), ensure_ascii=False)
    if line_format == "trees":
        tree = prediction.to_tree()
        return to_conllu(tree) if isinstance(tree, DependencyTree) else str(tree)
    probability = float(prediction.probabilities[prediction.root, prediction.root_label])
    sentence = " ".join(prediction.tree.words)
    return f"{prediction.root_name}\t{probability:.3f}\t{sentence}"


def _scores(model: RelatednessModel, arguments: Any) -> Iterator[str]:
    if arguments.second is None:
        raise UsageError(
            f"the model {model.name!r} scores pairs of sentences: give a file of first and one of "
            "second sentences"
        )
    if arguments.format == "trees":
        raise UsageError("--format trees is for classes of nodes; scores are text or jsonl")
    first, second = trees_from(arguments.file), trees_from(arguments.second)
    if len(first) != len(second):
        raise DataError(
            f"{arguments.file} has {len(first)} trees and {arguments.second} {len(second)}: "
            "expected as many in both"
        )
    pairs = list(zip(first, second, strict=True))
    for begin in range(0, len(pairs), _AT_ONCE):
        part = pairs[begin : begin + _AT_ONCE]
        for pair, score in zip(part, model.predict(part, arguments.batch_size), strict=True):
            texts = [" ".join(tree.words) for tree in pair]
            if arguments.format == "jsonl":
                values = {"score": round(float(score), 6), "first": texts[0], "second": texts[1]}
                yield json.dumps(values, ensure_ascii=False)
            else:
                yield "\t".join((f"{score:.3f}", *texts))
