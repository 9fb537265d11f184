"""Train a Tree-LSTM and a bag of words on the embedded treebank, and compare them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphsent.cli.usage import UsageError
from graphsent.graphs import draw_tree
from graphsent.pretrained import load
from graphsent.tasks import get_task
from graphsent.tasks.data_dir import embedded_data_dir
from graphsent.training import (
    RunConfig,
    RunDirectory,
    RunSet,
    TrainingOptions,
    load_model,
    train,
)

__all__ = ["run"]

_SHOWN = 5  # sentences with printed predictions
_LONGEST = 14  # words in such a sentence
_EXAMPLES = ("A film of great charm.", "A dull, lifeless mess.", "The plot is not bad, but thin.")


def run(arguments: Any) -> None:
    """Runs the demonstration."""
    out = Path(arguments.out)
    results = {}
    configs = _configs(arguments.seed)
    if RunDirectory(out).config.is_file() or RunSet(out).exists:
        raise UsageError(f"--out: {out} is a run: expected a demonstration or a new directory")
    for config in configs.values():
        _check_own(RunDirectory(out / config.model), config)
    for name, config in configs.items():
        print(f"\n{name}")
        results[name] = train(
            config, out / config.model, overwrite=True, progress=sys.stderr.isatty()
        )
    print(f"\n{'test accuracy':16}{'sentences':>12}{'phrases':>12}{'training':>12}")
    for name, result in results.items():
        root, phrase = (result["test"][f"{units}_accuracy"] for units in ("root", "phrase"))
        seconds = result["training_seconds"]
        print(f"{name:16}{root:>12.1%}{phrase:>12.1%}{seconds:>10.0f} s")
    _show(out)
    _ask()


def _check_own(run: RunDirectory, config: RunConfig) -> None:
    """Checks that a run to be overwritten is an earlier demonstration."""
    run.check_free(overwrite=True)
    if run.is_begun:
        found = run.open()
        names = ("task", "model", "data_dir")
        if any(getattr(found, name) != getattr(config, name) for name in names):
            raise UsageError(
                f"--out: {run.path} holds another run: expected a demonstration or a new directory"
            )


def _configs(seed: int) -> dict[str, RunConfig]:
    data_dir = str(embedded_data_dir())
    shared: dict[str, Any] = {
        "optimizer": "adam",
        "embedding_optimizer": "same",
        "weight_decay": 0.0,
        "num_threads": 1,  # matrices are too small for more threads to help
        "seed": seed,
    }
    tree = TrainingOptions(epochs=7, lr=0.005, embedding_lr=0.005, **shared)
    words = TrainingOptions(epochs=12, lr=0.005, embedding_lr=0.005, **shared)
    sizes = {"embedding_dim": 64, "hidden": 64, "dropout": 0.1}
    return {
        "Tree-LSTM": RunConfig(
            "sst5", "treelstm", model_options=sizes, data_dir=data_dir, training=tree
        ),
        "bag of words": RunConfig("sst5", "nbow", data_dir=data_dir, training=words),
    }


def _show(out: Path) -> None:
    model = load_model(out / "treelstm")
    trees = get_task("sst5").load(embedded_data_dir(), splits=("test",)).splits["test"]
    shown = _varied(trees)
    predictions = model.predict(shown)
    print("\nsome test sentences (predicted, gold):")
    for tree, prediction in zip(shown, predictions, strict=True):
        gold = model.label_names[int(tree.labels[0])]
        print(f"  {prediction.root_name:>13}  {gold:>13}  {' '.join(tree.words)}")
    best = max(predictions, key=lambda prediction: len(set(prediction.labels.tolist())))
    wrote = f"{out / 'treelstm' / 'model'} (the model)"
    picture = out / "tree.svg"
    try:
        draw_tree(best.to_tree(), title="predicted sentiment of every phrase", path=picture)
        wrote += f" and {picture} (a picture)"
    except (ImportError, OSError) as error:  # matplotlib or its fonts are missing
        print(f"graphsent demo: cannot draw the picture: {error}", file=sys.stderr)
    print(f"\nwrote {wrote}")


def _ask() -> None:
    """Shows predictions of the bundled model; in a terminal, also for sentences that are typed."""
    model = load()
    print("\nthe bundled model of English sentiment:")
    for text in _EXAMPLES:
        print(f"  {model.predict([text])[0].root_name:>13}  {text}")
    while sys.stdin.isatty() and (text := _typed()):
        for name, probability in model.predict([text])[0].ranked:
            print(f"  {name:>13}  {probability:.3f}")


def _typed() -> str:
    """Reads a sentence from the terminal; empty at the end."""
    try:
        return input("your sentence (empty to quit): ").strip()
    except EOFError:
        return ""


def _varied(trees: Sequence[Any]) -> list[Any]:
    """One sentence of moderate length per root class, with the most distinct labels."""
    short = [tree for tree in trees if len(tree.words) <= _LONGEST]
    ranked = sorted(short, key=lambda tree: -len(set(tree.labels)))  # stable
    first_of_class = {tree.labels[0]: tree for tree in reversed(ranked)}
    return [first_of_class[label] for label in sorted(first_of_class)][:_SHOWN]
