r"""Look at data before a model is trained on them.

Takes your own data, with the options of train, or the corpus of a task. Reports examples and labels
of each split, lengths, depth of trees and children of their nodes, words that train or the vectors
lack, and texts that are repeated within a split or occur in two. Every bad line of your own data is
named; the exit status is 1 if there are any.

Examples:
  graphsent debug-data --train my.tsv
  graphsent debug-data --class pos=good.txt --class neg=bad.txt --vectors glove.txt
  graphsent debug-data --train train.csv --test test.csv --text-column review --label-column stars
  graphsent debug-data --task sst5 --data-dir DATA --json sst5.json
"""

from __future__ import annotations

from typing import Any

from graphsent.cli.declared import constant
from graphsent.cli.own_data import add_own_data
from graphsent.tokenizers import TOKENIZERS

__all__ = ["add_arguments"]

_INPUT_KINDS = constant("graphsent.tasks:INPUT_KINDS")


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    add = parser.add_argument
    add("--task", type=str, help="A task with a corpus, or module:function, with its defaults.")
    add("--data-dir", type=str, help="Corpora (default: GRAPHSENT_DATA, else the embedded ones).")
    add("--parses-dir", type=str, help="Trees that the corpus lacks, as for train.")
    add(
        "--tree-kind", choices=_INPUT_KINDS, default="words", help="Of the corpus (default: words)."
    )
    add("--vectors", type=str, nargs="+", metavar="FILE", help="Word vectors, as for train.")
    add(
        "--tokenizer",
        choices=tuple(TOKENIZERS),
        help="How raw text is divided into words (default: that of the task).",
    )
    add("--json", type=str, metavar="FILE", help="Write the figures there, too.")
    add_own_data(parser.add_argument_group("your own data"))
