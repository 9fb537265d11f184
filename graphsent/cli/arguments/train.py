r"""Train a model and keep the one that is best on dev.

The run directory holds the configuration, the best model, a checkpoint to resume from, logs and
results.json. Ctrl-C is safe at any time.

Examples:
  graphsent train --task sst5 --model treelstm --test --out runs/a
      on the embedded synthetic treebank; --test evaluates the best model on test, too
  graphsent train --task sst5 --model treelstm --data-dir DATA --vectors glove.txt --out runs/b
      on DATA/sst/{train,dev,test}.txt
  graphsent train --train my.tsv --model kimcnn --out runs/own
      on your own data, here label<TAB>sentence; dev and test are held out of it
  graphsent train --resume runs/b
      continue after the last complete epoch
  graphsent train --model nbow --help-all
      with all options, also those of that model

More examples:
  graphsent train --class pos=good.txt --class neg=bad.txt --model nbow --out runs/files
  graphsent train --train train.csv --dev dev.csv --test test.csv --text-column review \
      --label-column stars --model sequence --out runs/csv
  graphsent train --task sst2 --model nbow --optimizer adam --lr 0.001 --embedding-optimizer same \
      --embedding-lr 0.001 --epochs 20 --patience 3 --out runs/c
  graphsent train --task trec --model dcnn --data-dir DATA --vectors glove.txt --projection 48 \
      --lower --min-count 2 --out runs/e
      on vectors mapped to 48 dimensions; words in lower case, rare ones without a vector as <unk>
  graphsent train --task trec --model treelstm --parser benepar:DIRECTORY --out runs/p
      on questions without trees; predict then takes raw text
  graphsent train --task trec --model kimcnn --data-dir DATA --encoder ENCODER --finetune-encoder \
      --epochs 1 --out runs/tuned
      on features of an encoder in the directory ENCODER, which is trained, too; without
      --finetune-encoder its features are computed once
  graphsent train --config runs/b/config.yaml --seed 1 --out runs/d
      the same again with another seed
  graphsent train --task mytasks:make --model kimcnn --out runs/mine
      on a task of your own: the function `make` of mytasks.py here, or of an installed module
  graphsent train --task sst5 --model my_models:Mine --hidden 100 --out runs/mine
      a model of your own, with its own options: the class `Mine` of my_models.py
  graphsent train --task cr --model kimcnn --data-dir DATA --folds all --out runs/cr
      cross-validation; --seeds 0-4 trains with several seeds, on any task; repeat it to continue
  graphsent train --task twitter --model nbow --stream --data-dir DATA --out runs/large
      on a corpus that may be larger than memory, from shards on disk
  graphsent train --task sst5 --model treelstm --trees balanced --out runs/balanced
      the same words under balanced trees: does the parse help?
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

from graphsent.cli.declared import MISSING, constant, options, parameters
from graphsent.cli.learners import Learner, model_named, task_named
from graphsent.cli.own_data import add_own_data, is_asked_for
from graphsent.cli.usage import UsageError, descriptions, flag
from graphsent.tokenizers import TOKENIZERS

__all__ = ["COMMON", "DEFAULT_MODEL", "add_arguments"]

DEFAULT_MODEL = "treelstm"
# What --help shows.
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
    """Declares the arguments; those of the model and the task depend on which ones they are."""
    chosen = _peek(parser.arguments)
    model = model_named(chosen.model)
    add = parser.add_argument
    add("--config", type=str, metavar="FILE", help="Settings as in the config.yaml of a run.")
    tasks = ", ".join(sorted(_TASKS))
    add("--task", type=str, help=f"What to learn: {tasks}; or module:function of your own.")
    models = ", ".join(sorted(_MODELS))
    text = f"{models}; or module:Class of your own (default: {DEFAULT_MODEL})."
    add("--model", type=str, help=text)
    add("--data-dir", type=str, help="Corpora (default: GRAPHSENT_DATA, else the embedded ones).")
    add("--tree-kind", choices=_INPUT_KINDS, help="Default: what the model was made for.")
    add(
        "--parses-dir",
        type=str,
        help="Trees that the corpus lacks (default: GRAPHSENT_PARSES, else parses/ in or beside "
        "the data directory).",
    )
    add(
        "--trees",
        choices=_SHAPES,
        help="Trees of this shape in place of the parser's, as a control.",
    )
    add(
        "--vectors",
        type=str,
        nargs="+",
        metavar="FILE",
        help="Word vectors: .npz, GloVe or word2vec text, word2vec .bin, each also .gz; several "
        "are joined.",
    )
    add(
        "--lower-fallback",
        type=bool,
        help="Whether a word not known as written is looked up in lower case (default: true).",
    )
    _add_inputs(parser)
    add(
        "--tokenizer",
        choices=tuple(TOKENIZERS),
        help="How a model of words divides raw text for predict (default: that of the task).",
    )
    add(
        "--parser",
        type=str,
        metavar="NAME",
        help="Parses sentences that have no trees, once, as spacy:MODEL or benepar:DIRECTORY; it "
        "is saved with the model. See graphsent parse --help.",
    )
    add(
        "--stream",
        action="store_true",
        help="Read examples from shards on disk, which are made first if need be, instead of "
        "keeping them in memory. Shards lie in $GRAPHSENT_CACHE/shards (~/.cache/graphsent/shards) "
        "and may be removed when no run reads them.",
    )
    add("--out", type=str, metavar="RUN", help="Run directory to make.")
    add("--overwrite", action="store_true", help="Replace the run in --out.")
    add("--resume", type=str, metavar="RUN", help="Run to continue, perhaps for more --epochs.")
    is_own_data = chosen.task in (None, "own")
    if not is_own_data:  # otherwise it may name a file, too
        add("--test", action="store_true", help="Evaluate the best model on test at the end.")
    add("--no-test", action="store_true", help="Do not evaluate it on a given --test FILE.")
    add(
        "--folds",
        type=str,
        metavar="N",
        help="Several runs, one for each fold of the task: all, 0-4, 0,2,5.",
    )
    add("--seeds", type=str, metavar="N", help="Several runs, one for each seed: 0-4, or 0,2,5.")
    of_task = parser.add_argument_group(
        "your own data" if is_own_data else f"options of the task {chosen.task}"
    )
    _add_model(parser, chosen, model)
    if is_own_data:
        add_own_data(of_task, judges=True)
    else:
        _add_task(parser, of_task, chosen, model)


def _add_model(parser: Any, chosen: argparse.Namespace, model: Learner) -> None:
    """Declares the options of the model, and those of training with its defaults."""
    of_model = parser.add_argument_group(f"options of the model {chosen.model}")
    training = parser.add_argument_group("training")
    defaults = model.defaults["training_defaults"]
    for option in options("graphsent.training.options:TrainingOptions"):
        default = defaults.get(option.name, option.default)
        training.add_argument(
            flag(option.name),
            **({"choices": option.choices} if option.choices else {"type": option.type}),
            help=f"{option.help} (default: {default})",
        )
    task = chosen.task or "own"
    of_task = parameters(_TASKS[task]) if task in _TASKS else {}
    # An option that both have, such as `fold`, is the task's; that of the model is for --config.
    declared = {name: each for name, each in model.options.items() if name not in of_task}
    if model.is_own:
        _check_flags(parser, f"model {chosen.model}", declared)
        parser.hints.update((flag(name), hint) for name, hint in model.hidden.items())
    defaults = model.defaults["task_defaults"].get(chosen.task, {})
    _add_options(of_model, declared, model.documents, defaults)


def _add_task(parser: Any, group: Any, chosen: argparse.Namespace, model: Learner) -> None:
    """Declares the options of a task; one of a user's own is imported."""
    task = task_named(chosen.task)
    if task.is_own:  # those of the package's tasks are checked by tests
        _check_flags(parser, f"task {chosen.task}", task.options)
    defaults = model.defaults["task_option_defaults"].get(chosen.task, {})
    _add_options(group, task.options, task.documents, defaults)


def _check_flags(parser: Any, whose: str, names: Iterable[str]) -> None:
    for name in names:
        if flag(name) in parser.options:
            raise UsageError(
                f"the {whose} has an option {name!r}, but {flag(name)} is an "
                "option of this command already: expected another name"
            )


def _add_inputs(parser: Any) -> None:
    for option in options("graphsent.training.inputs:InputOptions"):
        switch = {"nargs": "?", "const": True} if option.type is bool else {}
        kind = {"choices": option.choices} if option.choices else {"type": option.type, **switch}
        text = f"{option.help} (default: {_text(option.default)})"
        parser.add_argument(flag(option.name), **kind, help=text)


def _text(default: Any) -> Any:
    return str(default).lower() if isinstance(default, bool) else default or "none"


def _peek(arguments: list[str]) -> argparse.Namespace:
    """The task and model that are asked for, before the other arguments can be understood."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for name in ("--config", "--task", "--model"):
        parser.add_argument(name, nargs="?")
    chosen, _ = parser.parse_known_args(arguments)
    if chosen.config:
        from graphsent.training import RunConfig

        config = RunConfig.load(chosen.config)
        chosen.task = chosen.task or config.task
        chosen.model = chosen.model or config.model
    if is_asked_for(arguments):
        chosen.task = chosen.task or "own"
        if chosen.task in _TASKS and chosen.task != "own":
            raise UsageError(
                "--train and --class are for your own data, but the task is "
                f"{chosen.task}: expected one of the two"
            )
    chosen.model = chosen.model or DEFAULT_MODEL
    return chosen


def _add_options(
    group: Any,
    declared: Mapping[str, tuple[Any, Any]],
    documents: list[str],
    defaults: Mapping[str, Any],
) -> None:
    """Adds a flag for each parameter, described by the first of some docstrings that has it."""
    texts = {
        name: each for text in reversed(documents) for name, each in descriptions(text).items()
    }
    for name, (kind, default) in declared.items():
        default = defaults.get(name, default)
        required = default is MISSING
        help_ = f"{texts.get(name, '')} ({'required' if required else f'default: {default}'})"
        if name == "embedding_dim":
            help_ += " With --vectors it is theirs."
        plain = str if required or default is None else type(default)
        group.add_argument(flag(name), type=kind or plain, help=help_.lstrip())
