r"""Inspect and validate data before training on them.

Reads your own data, given with the options of train, or the corpus of a task. Reports the number of
examples and labels per split, sentence lengths, tree depths and numbers of children, words missing
from train or from the word vectors, and texts that are duplicated within or across splits. Every
bad line of your own data is listed (only the first of many that are bad for the same reason; --json
has all), and other problems, such as equal scores or a dev split of one class; the exit status is 1
if there are any.

Examples:
  graphsent debug-data --train my.tsv
  graphsent debug-data --class pos=good.txt --class neg=bad.txt --vectors glove.txt
  graphsent debug-data --train train.csv --test test.csv --text-column review --label-column stars
  graphsent debug-data --task sst5 --data-dir DATA --json sst5.json
  graphsent debug-data --task sick --target entailment
"""

from __future__ import annotations

from typing import Any

from graphsent.cli.arguments.shared import add_data_dir
from graphsent.cli.declared import constant
from graphsent.cli.learners import add_options, check_flags, task_named
from graphsent.cli.own_data import add_own_data
from graphsent.tokenizers import TOKENIZERS

__all__ = ["add_arguments"]

_INPUT_KINDS = constant("graphsent.tasks:INPUT_KINDS")


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    add = parser.add_argument
    add("--task", type=str, help="Task whose corpus to inspect, or module:function.")
    add_data_dir(parser)
    add("--parses-dir", type=str, metavar="DIR", help="Parse trees, as for graphsent train.")
    text = "Form in which to read the sentences of --task (default: words)."
    add("--tree-kind", choices=_INPUT_KINDS, help=text)
    add(
        "--vectors",
        type=str,
        nargs="+",
        action="extend",
        metavar="FILE",
        help="Word vectors, as for graphsent train.",
    )
    add(
        "--tokenizer",
        choices=tuple(TOKENIZERS),
        help="Tokenizer of raw text (default: that of the task).",
    )
    add("--json", type=str, metavar="FILE", help="Also write the report to this JSON file.")
    task = parser.peek("--task").task
    if task and task != "own":
        learner = task_named(task)
        check_flags(parser, f"task {task}", learner.options)
        group = parser.add_argument_group(f"options of the task {task}")
        add_options(group, learner.options, learner.documents)
    add_own_data(parser.add_argument_group("your own data"), without=parser.options)
