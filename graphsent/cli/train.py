r"""Train a model and keep the one that is best on dev.

The run directory holds the configuration, the best model, a checkpoint to resume from, logs for
TensorBoard and as CSV, and results.json. Ctrl-C is safe at any time.

Examples:
  graphsent train --task sst5 --model treelstm --out runs/a
      on the embedded synthetic treebank
  graphsent train --task sst5 --model treelstm --data-dir DATA --vectors glove.txt --out runs/b
      on DATA/sst/{train,dev,test}.txt
  graphsent train --task sst2 --model nbow --optimizer adam --lr 0.001 --embedding-optimizer same \
      --embedding-lr 0.001 --epochs 20 --patience 3 --out runs/c
  graphsent train --config settings.yaml --out runs/d
      options by name (with _) from a file; flags after it win
  graphsent train --resume runs/b
      go on after the last complete epoch
"""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

from graphsent.errors import DataError
from graphsent.training.options import TrainingOptions

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "Train a model."

# Name, type, help. They go to the model as they are; those not given are left to its defaults.
_MODEL_OPTIONS: tuple[tuple[str, Any, str], ...] = (
    ("hidden", int, "Length of a node's hidden state."),
    ("embedding_dim", int, "Length of a word vector; with --vectors it is theirs."),
    ("cell", str, "treelstm: nary (binary trees) or childsum (any trees)."),
    ("leaf", str, "treelstm with nary: gated or affine leaves."),
    ("dropout", float, "Dropout before the output layer."),
    ("embedding_dropout", float, "Dropout on word vectors."),
)


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--config", action="config", help="File of options in YAML.")
    parser.add_argument("--task", type=str, help="Such as sst5; a wrong name lists all.")
    parser.add_argument("--model", type=str, help="Such as treelstm; a wrong name lists all.")
    parser.add_argument("--out", type=str, help="Run directory to make.")
    parser.add_argument("--resume", type=str, metavar="RUN", help="Run directory to go on with.")
    parser.add_argument("--overwrite", action="store_true", help="Replace a run in --out.")
    parser.add_argument("--no-test", action="store_true", help="Do not judge it on test.")
    parser.add_argument(
        "--data-dir", type=str, help="Data directory (default: GRAPHSENT_DATA, else embedded)."
    )
    parser.add_argument(
        "--vectors",
        type=list[str],
        nargs="+",
        default=[],
        metavar="FILE",
        help="Word vectors: .npz, GloVe or word2vec text, word2vec .bin, each also .gz; several "
        "are joined.",
    )
    parser.add_argument("--neutral", type=str, help="sst2: mask neutral phrases, or a class.")
    for name, kind, text in _MODEL_OPTIONS:
        parser.add_argument(_flag(name), type=kind, help=text)
    for field in dataclasses.fields(TrainingOptions):
        text, choices = field.metadata["help"], field.metadata["choices"]
        if choices:
            text += f" One of {', '.join(choices)}."
        parser.add_argument(
            _flag(field.name), type=type(field.default), default=field.default, help=text
        )


def run(arguments: Any) -> None:
    """Trains, or resumes."""
    from graphsent.cli.formatting import figures
    from graphsent.training import resume, train

    options = {"test": not arguments.no_test, "progress": sys.stderr.isatty()}
    out = arguments.resume or arguments.out
    try:
        if arguments.resume:
            results = resume(out, **options)
        else:
            results = train(_config(arguments), out, overwrite=arguments.overwrite, **options)
    except KeyboardInterrupt:
        print(f"\nInterrupted. Go on with: graphsent train --resume {out}", file=sys.stderr)
        raise
    print(f"best epoch {results['best_epoch']}, dev: {figures(results['dev'])}")
    if "test" in results:
        print(f"test: {figures(results['test'])}")
    print(f"wrote {out}: model/, results.json, config.yaml, logs/")


def _config(arguments: Any) -> Any:
    from graphsent.training import RunConfig

    for name in ("task", "model", "out"):
        if getattr(arguments, name) is None:
            raise DataError(f"--{name} is missing (or --resume RUN to go on with a run)")
    model_options = {name: getattr(arguments, name) for name, _, _ in _MODEL_OPTIONS}
    fields = dataclasses.fields(TrainingOptions)
    return RunConfig(
        task=arguments.task,
        task_options={} if arguments.neutral is None else {"neutral": arguments.neutral},
        model=arguments.model,
        model_options={name: value for name, value in model_options.items() if value is not None},
        data_dir=arguments.data_dir,
        vectors=tuple(arguments.vectors),
        training=TrainingOptions(
            **{field.name: getattr(arguments, field.name) for field in fields}
        ),
    )


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
