r"""Train a model and keep the one that is best on dev.

The run directory holds the configuration, the best model, a checkpoint to resume from, logs for
TensorBoard and as CSV, and results.json. Ctrl-C is safe at any time.

Examples:
  graphsent train --task sst5 --model treelstm --out runs/a
      on the embedded synthetic treebank
  graphsent train --task sst5 --model treelstm --data-dir DATA --vectors glove.txt --out runs/b
      on DATA/sst/{train,dev,test}.txt
  graphsent train --train my.tsv --model kimcnn --out runs/own
      on your own data, here label<TAB>sentence; dev and test are held out of it
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
      on features of an encoder in the directory ENCODER, which is trained too; without
      --finetune-encoder its features are computed once
  graphsent train --config runs/b/config.yaml --seed 1 --out runs/d
      the same again with another seed
  graphsent train --task mytasks:make --model kimcnn --out runs/mine
      on a task of your own: the function `make` of mytasks.py here, or of an installed module
  graphsent train --task cr --model kimcnn --data-dir DATA --folds all --out runs/cr
      cross-validation; --seeds 0-4 trains with several seeds, on any task; the same command goes on
  graphsent train --task twitter --model nbow --stream --data-dir DATA --out runs/large
      on a corpus that may be larger than memory, from shards on disk
  graphsent train --resume runs/b
      go on after the last complete epoch
  graphsent train --task sst5 --model treelstm --trees balanced --out runs/balanced
      the same words under balanced trees: does the parse help?
  graphsent train --model nbow --help
      with the options of that model
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import sys
from collections.abc import Iterable, Mapping
from typing import Any, get_type_hints

from graphsent.cli.own_data import add_own_data, is_asked_for, with_own_data
from graphsent.cli.own_tasks import import_from_here
from graphsent.cli.several import asked, table
from graphsent.cli.usage import UsageError, descriptions, flag
from graphsent.models import MODELS, model_class
from graphsent.tasks import INPUT_KINDS, TASKS, task_maker, task_options
from graphsent.tokenizers import TOKENIZERS
from graphsent.training import (
    RunConfig,
    RunDirectory,
    RunSet,
    TrainingOptions,
    resume,
    resume_runs,
    train,
    train_runs,
)
from graphsent.training.config import default_training
from graphsent.training.figures import figures
from graphsent.training.inputs import InputOptions
from graphsent.training.setting import model_options, task_defaults, task_option_defaults
from graphsent.trees import SHAPES

__all__ = ["add_arguments", "run"]

_MODEL = "treelstm"
_SWITCHES = ("stream", "overwrite", "no_test", "debug")
_OF_CORPORA = ("data_dir", "parses_dir")
_OF_ENCODERS = {"encoder_pooling": "encoder", "encoder_lr": "finetune_encoder"}
_WITH_RESUME = ("resume", "epochs", "encoder", "no_test", "debug")


def add_arguments(parser: Any) -> None:
    """Declares the arguments; those of the model and the task depend on which ones they are."""
    chosen = _peek(parser.arguments)
    add = parser.add_argument
    add("--config", type=str, metavar="FILE", help="Settings as in the config.yaml of a run.")
    tasks = ", ".join(sorted(TASKS))
    add("--task", type=str, help=f"What to learn: {tasks}; or module:function of your own.")
    add("--model", type=str, help=f"{', '.join(sorted(MODELS))} (default: {_MODEL}).")
    add("--data-dir", type=str, help="Corpora (default: GRAPHSENT_DATA, else the embedded ones).")
    add("--tree-kind", choices=INPUT_KINDS, help="Default: what the model was made for.")
    add(
        "--parses-dir",
        type=str,
        help="Trees that the corpus lacks (default: GRAPHSENT_PARSES, else parses/ in or beside "
        "the data directory).",
    )
    add(
        "--trees",
        choices=SHAPES,
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
    add("--resume", type=str, metavar="RUN", help="Run to go on with, perhaps to more --epochs.")
    add("--no-test", action="store_true", help="Do not judge the model on test.")
    add(
        "--folds",
        type=str,
        metavar="N",
        help="Several runs, one for each fold of the task: all, 0-4, 0,2,5.",
    )
    add("--seeds", type=str, metavar="N", help="Several runs, one for each seed: 0-4, or 0,2,5.")
    is_own_data = chosen.task in (None, "own")
    of_task = parser.add_argument_group(
        "your own data" if is_own_data else f"options of the task {chosen.task}"
    )
    group = parser.add_argument_group(f"options of the model {chosen.model}")
    defaults = task_defaults(chosen.model, chosen.task)
    _add_parameters(group, model_class(chosen.model), model_options(chosen.model), defaults)
    group = parser.add_argument_group("training")
    types, defaults = get_type_hints(TrainingOptions), default_training(chosen.model)
    for option in dataclasses.fields(TrainingOptions):
        choices = option.metadata["choices"]
        group.add_argument(
            flag(option.name),
            **({"choices": choices} if choices else {"type": types[option.name]}),
            help=f"{option.metadata['help']} (default: {getattr(defaults, option.name)})",
        )
    if is_own_data:
        add_own_data(of_task)
    else:
        import_from_here(chosen.task)
        options = task_options(chosen.task)
        for name in options:  # of a task of a user's; the others are checked by tests
            if flag(name) in parser.options:
                raise UsageError(
                    f"the task {chosen.task} has an option {name!r}, but {flag(name)} is an "
                    "option of this command already: expected another name"
                )
        defaults = task_option_defaults(chosen.model, chosen.task)
        _add_parameters(of_task, task_maker(chosen.task), options, defaults)


def _add_inputs(parser: Any) -> None:
    types = get_type_hints(InputOptions)
    for option in dataclasses.fields(InputOptions):
        choices, default = option.metadata["choices"], _text(option.default)
        switch = {"nargs": "?", "const": True} if types[option.name] is bool else {}
        parser.add_argument(
            flag(option.name),
            **({"choices": choices} if choices else {"type": types[option.name], **switch}),
            help=f"{option.metadata['help']} (default: {default})",
        )


def _text(default: Any) -> Any:
    return str(default).lower() if isinstance(default, bool) else default or "none"


def run(arguments: Any) -> None:
    """Trains, or resumes."""
    # Flags without a value are False when they are absent; 0 is a value.
    given = {
        name: value
        for name, value in vars(arguments).items()
        if value is not None and (value or name not in _SWITCHES)
    }
    given = with_own_data(given)
    options = {"test": not arguments.no_test, "progress": sys.stderr.isatty()}
    if arguments.resume:
        for name in given:
            if name not in _WITH_RESUME:
                raise UsageError(
                    f"--resume takes all but --epochs and --encoder from its run, not {flag(name)}"
                )
        _resume(arguments, options)
        return
    if not arguments.out:
        raise UsageError("--out RUN is missing (or --resume RUN to go on with a run)")
    options["overwrite"] = arguments.overwrite
    several = asked(given)
    config = _config(given)
    for name in _OF_CORPORA if config.task == "own" else ():
        if name in given:
            raise UsageError(f"{flag(name)} is for published corpora: your own data are files")
    import_from_here(config.parser)
    for name, needed in _OF_ENCODERS.items():
        if name in given and not getattr(config.inputs, needed):
            raise UsageError(f"{flag(name)} goes with {flag(needed)}")
    if "shuffle_window" in given and not config.stream:
        raise UsageError("--shuffle-window goes with --stream: in memory all are shuffled")
    if several:
        _show_all(train_runs(config, arguments.out, **several, **options), arguments.out)
    else:
        _show(train(config, arguments.out, **options), arguments.out)


def _resume(arguments: Any, options: dict[str, Any]) -> None:
    out = arguments.resume
    runs = RunSet(out)
    if not runs.exists:
        config = RunDirectory(out).open()
        import_from_here(config.task, config.parser)
        _show(resume(out, epochs=arguments.epochs, encoder=arguments.encoder, **options), out)
        return
    if arguments.epochs is not None or arguments.encoder is not None or arguments.no_test:
        raise UsageError(f"{out} holds several runs: --resume takes all options from them")
    config = runs.open().config
    import_from_here(config.task, config.parser)
    _show_all(resume_runs(out, progress=options["progress"]), out)


def _show(results: Mapping[str, Any], out: str) -> None:
    print(f"best epoch: {results['best_epoch']}, dev {figures(results['dev'])}")
    if "test" in results:
        print(f"test: {figures(results['test'])}")
    print(f"wrote {out}: model, results.json, config.yaml, logs, last.ckpt")


def _show_all(results: Mapping[str, Any], out: str) -> None:
    print(table(results["runs"], results["summary"]))
    print(f"wrote {out}: results.json, runs.yaml, and a directory for each run")


def _peek(arguments: list[str]) -> argparse.Namespace:
    """The task and model that are asked for, before the other arguments can be understood."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for name in ("--config", "--task", "--model"):
        parser.add_argument(name, nargs="?")
    chosen, _ = parser.parse_known_args(arguments)
    if chosen.config:
        config = RunConfig.load(chosen.config)
        chosen.task = chosen.task or config.task
        chosen.model = chosen.model or config.model
    if is_asked_for(arguments):
        chosen.task = chosen.task or "own"
        if chosen.task in TASKS and chosen.task != "own":
            raise UsageError(
                "--train and --class are for your own data, but the task is "
                f"{chosen.task}: expected one of the two"
            )
    chosen.model = chosen.model or _MODEL
    return chosen


def _add_parameters(
    group: Any, function: Any, names: Iterable[str], defaults: Mapping[str, Any] | None = None
) -> None:
    """Adds a flag for some parameters of a function or class, described by its docstring."""
    types = _types(function)
    texts = descriptions(function)
    for name in names:
        default = inspect.signature(function).parameters[name].default
        default = (defaults or {}).get(name, default)
        required = default is inspect.Parameter.empty
        text = f"{texts.get(name, '')} ({'required' if required else f'default: {default}'})"
        if name == "embedding_dim":
            text += " With --vectors it is theirs."
        kind = types.get(name, str if required or default is None else type(default))
        group.add_argument(flag(name), type=kind, help=text.lstrip())


def _types(function: Any) -> dict[str, Any]:
    try:
        return get_type_hints(function.__init__ if inspect.isclass(function) else function)
    except NameError:  # of a user's own, imported for type checkers alone
        return {}


def _config(given: dict[str, Any]) -> RunConfig:
    """The configuration: what the file says, and the flags over it."""
    values: dict[str, Any] = {"model": _MODEL}
    if "config" in given:
        values = RunConfig.load(given["config"]).to_dict()
    if "task" not in given and "task" not in values:
        if "train" not in given:
            tasks = ", ".join(sorted(TASKS))
            raise UsageError(
                f"--task is missing: expected one of {tasks}; or --train FILE for data of your own"
            )
        given = {**given, "task": "own"}
    for name, options in (("task", "task_options"), ("model", "model_options")):
        if given.get(name, values.get(name)) != values.get(name):
            values[options] = {}  # of another task or model
            values.pop("tokenizer", None)
    values.update((name, given[name]) for name in _names(RunConfig) if name in given)
    parts = {
        "task_options": task_options(values["task"]),
        "model_options": model_options(values["model"]),
        "inputs": _names(InputOptions),
        "training": _names(TrainingOptions),
    }
    for part, names in parts.items():
        chosen = {name: given[name] for name in names if name in given}
        values[part] = {**values.get(part, {}), **chosen}
    if "vectors" in given or "encoder" in given:
        values["model_options"].pop("embedding_dim", None)
    return RunConfig.from_dict(values)


def _names(cls: type) -> list[str]:
    return [field.name for field in dataclasses.fields(cls)]
