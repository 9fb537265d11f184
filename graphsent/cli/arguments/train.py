r"""Train a model and keep the best one on dev.

The run directory holds the configuration, the best model, a checkpoint to resume from, logs and
results.json. It is safe to interrupt training with Ctrl-C at any time.

Examples:
  graphsent train --task sst5 --model treelstm --test --out runs/a
      train on the embedded synthetic treebank; --test also evaluates the best model on test
  graphsent train --task sst5 --model treelstm --data-dir DATA --vectors glove.txt --out runs/b
      train on DATA/sst/{train,dev,test}.txt
  graphsent train --train my.tsv --model kimcnn --out runs/own
      train on your own data, here label<TAB>sentence; dev and test are held out of it
  graphsent train --resume runs/b
      continue after the last complete epoch
  graphsent train --model nbow --help-all
      list all options, including those of the model

More examples:
  graphsent train --class pos=good.txt --class neg=bad.txt --model nbow --out runs/files
  graphsent train --train train.csv --dev dev.csv --test test.csv --text-column review \
      --label-column stars --model sequence --out runs/csv
  graphsent train --task sst2 --model nbow --optimizer adam --lr 0.001 --embedding-optimizer same \
      --embedding-lr 0.001 --epochs 20 --patience 3 --out runs/c
  graphsent train --task trec --model dcnn --data-dir DATA --vectors glove.txt --projection 48 \
      --lower --min-count 2 --out runs/e
      project vectors to 48 dimensions; lowercase words; map rare words without a vector to <unk>
  graphsent train --task trec --model treelstm --parser benepar:DIRECTORY --out runs/p
      parse the questions first; predict then parses raw text, too
  graphsent train --task trec --model kimcnn --data-dir DATA --encoder ENCODER --finetune-encoder \
      --epochs 1 --out runs/tuned
      use features of the encoder in the directory ENCODER and fine-tune it; without
      --finetune-encoder, its features are computed once
  graphsent train --config runs/b/config.yaml --seed 1 --out runs/d
      repeat a run with another seed
  graphsent train --task mytasks:make --model kimcnn --out runs/mine
      train on a custom task: the function `make` of ./mytasks.py or of an installed module
  graphsent train --task sst5 --model my_models:Mine --hidden 100 --out runs/mine
      train a custom model, with its own options: the class `Mine` of my_models.py
  graphsent train --task cr --model kimcnn --data-dir DATA --folds all --out runs/cr
      cross-validate; --seeds 0-4 trains with several seeds, on any task; repeat it to resume
  graphsent train --task twitter --model nbow --stream --data-dir DATA --out runs/large
      train on a corpus that may be larger than memory, from shards on disk
  graphsent train --task sst5 --model treelstm --trees balanced --out runs/balanced
      replace the parses by balanced trees, as a control
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import Any

from graphsent.cli.arguments.shared import add_data_dir
from graphsent.cli.declared import constant, options, parameters
from graphsent.cli.learners import Learner, add_options, check_flags, model_named, task_named
from graphsent.cli.own_data import add_own_data, is_asked_for
from graphsent.cli.usage import UsageError, flag
from graphsent.tokenizers import TOKENIZERS

__all__ = ["COMMON", "DEFAULT_MODEL", "add_arguments"]

DEFAULT_MODEL = "treelstm"
# Options shown by --help.
COMMON = (
    "task",
    "model",
    "train",
    "data_dir",
    "vectors",
    "out",
    "resume",
    "test",
    "epochs",
    "lr",
    "seed",
)
_INPUT_KINDS = constant("graphsent.tasks:INPUT_KINDS")
_MODELS = constant("graphsent.models:MODELS")
_SHAPES = constant("graphsent.trees:SHAPES")
_TASKS = constant("graphsent.tasks:TASKS")


def add_arguments(parser: Any) -> None:
    """Declares the arguments, including those of the chosen model and task."""
    chosen = _chosen(parser)
    model = model_named(chosen.model)
    add = parser.add_argument
    add(
        "--config",
        type=str,
        metavar="FILE",
        help="YAML file of settings, such as the config.yaml of a run.",
    )
    tasks = ", ".join(sorted(_TASKS))
    add("--task", type=str, help=f"Task: {tasks}; or a custom one as module:function.")
    models = ", ".join(sorted(_MODELS))
    text = f"Model: {models}; or a custom one as module:Class (default: {DEFAULT_MODEL})."
    add("--model", type=str, help=text)
    add_data_dir(parser)
    text = "Form in which to read sentences (default: the one that the model is made for)."
    add("--tree-kind", choices=_INPUT_KINDS, help=text)
    add(
        "--parses-dir",
        type=str,
        metavar="DIR",
        help="Parse trees of corpora that come without them (default: $GRAPHSENT_PARSES, else "
        "parses/ in or beside --data-dir).",
    )
    add(
        "--trees",
        choices=_SHAPES,
        help="Replace parse trees by trees of this shape, as a control.",
    )
    add(
        "--vectors",
        type=str,
        nargs="+",
        action="extend",
        metavar="FILE",
        help="Word vectors: .npz, GloVe or word2vec text, or word2vec .bin, optionally gzipped; "
        "the vectors of several files are concatenated.",
    )
    add(
        "--lower-fallback",
        type=bool,
        help="Whether to look up unknown words in lower case (default: true).",
    )
    _add_settings(parser, "graphsent.training.inputs:InputOptions", {})
    add(
        "--tokenizer",
        choices=tuple(TOKENIZERS),
        help="Tokenizer of raw text in predict, for models that read words (default: that of the "
        "task).",
    )
    add(
        "--parser",
        type=str,
        metavar="NAME",
        help="Parser for sentences without trees, such as spacy:MODEL or benepar:DIRECTORY; its "
        "trees are cached, and its name is saved with the model. See graphsent parse --help.",
    )
    add(
        "--stream",
        action="store_true",
        help="Read examples from shards on disk, written on first use, instead of keeping them in "
        "memory. Shards are stored in $GRAPHSENT_CACHE/shards (~/.cache/graphsent/shards) and may "
        "be deleted while no run reads them.",
    )
    add("--out", type=str, metavar="RUN", help="Run directory to create.")
    add("--overwrite", action="store_true", help="Replace the run in --out.")
    text = "Run to resume, optionally for more --epochs; repeat --test to evaluate it on test."
    add("--resume", type=str, metavar="RUN", help=text)
    is_own_data = chosen.task in (None, "own")
    if not is_own_data:  # otherwise --test may also name a file
        add("--test", action="store_true", help="Evaluate the best model on test at the end.")
    add("--no-test", action="store_true", help="Do not evaluate on a --test FILE that is given.")
    add(
        "--folds",
        type=str,
        metavar="N",
        help="Train one run per fold of the task: all, 0-4, or 0,2,5.",
    )
    add("--seeds", type=str, metavar="N", help="Train one run per seed: 0-4, or 0,2,5.")
    of_task = parser.add_argument_group(
        "your own data" if is_own_data else f"options of the task {chosen.task}"
    )
    _add_model(parser, chosen, model)
    if is_own_data:
        add_own_data(of_task, judges=True)
    else:
        _add_task(parser, of_task, chosen, model)


def _add_model(parser: Any, chosen: argparse.Namespace, model: Learner) -> None:
    """Declares the options of the model, and the training options with the model's defaults."""
    of_model = parser.add_argument_group(f"options of the model {chosen.model}")
    training = parser.add_argument_group("training")
    place = "graphsent.training.options:TrainingOptions"
    _add_settings(training, place, model.defaults["training_defaults"])
    task = chosen.task or "own"
    of_task = parameters(_TASKS[task]) if task in _TASKS else {}
    # If both have an option, such as `fold`, its flag is the task's; --config sets the model's.
    declared = {name: each for name, each in model.options.items() if name not in of_task}
    if model.is_own:
        check_flags(parser, f"model {chosen.model}", declared)
        parser.hints.update((flag(name), hint) for name, hint in model.hidden.items())
    defaults = model.defaults["task_defaults"].get(chosen.task, {})
    add_options(of_model, declared, model.documents, defaults)


def _add_task(parser: Any, group: Any, chosen: argparse.Namespace, model: Learner) -> None:
    """Declares the options of a task; a custom task is imported."""
    task = task_named(chosen.task)
    if task.is_own:  # for the package's own tasks, tests check this
        check_flags(parser, f"task {chosen.task}", task.options)
    defaults = model.defaults["task_option_defaults"].get(chosen.task, {})
    add_options(group, task.options, task.documents, defaults)


def _add_settings(group: Any, place: str, defaults: Mapping[str, Any]) -> None:
    """Declares the fields of a dataclass of settings, some with defaults of the model."""
    for option in options(place):
        kind: dict[str, Any] = {"type": option.type}
        if option.choices:
            kind = {"choices": option.choices}
        elif option.type is bool:
            kind = {"type": bool, "nargs": "?", "const": True}
        default = defaults.get(option.name, option.default)
        shown = str(default).lower() if option.type is bool else default
        text = f"{option.help} (default: {'none' if default == '' else shown})"
        group.add_argument(flag(option.name), **kind, help=text)


def _chosen(parser: Any) -> argparse.Namespace:
    """The task and model, which decide how the other arguments are parsed."""
    chosen = parser.peek("--config", "--task", "--model")
    if chosen.config:
        from graphsent.training import RunConfig

        _check_is_file(chosen.config)
        config = RunConfig.load(chosen.config)
        chosen.task = chosen.task or config.task
        chosen.model = chosen.model or config.model
    if is_asked_for(parser.arguments):
        chosen.task = chosen.task or "own"
        if chosen.task in _TASKS and chosen.task != "own":
            raise UsageError(
                "--train and --class are for your own data, but the task is "
                f"{chosen.task}: expected one of the two"
            )
    chosen.model = chosen.model or DEFAULT_MODEL
    return chosen


def _check_is_file(path: str) -> None:
    """Raises a UsageError if the path is only the name of a configuration of the package."""
    if os.path.exists(path):
        return
    from graphsent.reproduction import Catalogue

    if path in Catalogue().configurations:
        raise UsageError(
            "--config: expected a file, got the name of a configuration: copy it first, with "
            f"graphsent config copy {path} {path}.yaml"
        )
