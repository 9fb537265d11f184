"""Trains tiny models with Trainers of two processes and of one, and writes the results.

Argument: the output directory. Processes are forked, which is faster than spawning.
"""

from __future__ import annotations

import random
import sys
import warnings
from pathlib import Path

import torch
from pytorch_lightning import Callback, Trainer
from strategies import random_tree

from graphsent.models import ARNNRelatedness, TreeLSTMClassifier
from graphsent.pairs import TreePair
from graphsent.tasks import get_task
from graphsent.training import TrainingModule, TrainingOptions, TreeDataModule
from graphsent.trees import DependencyTree, parse_trees
from graphsent.vocabulary import Vocabulary

WORDS = [f"w{number}" for number in range(12)]
VOCABULARY = Vocabulary(WORDS)
BATCH = 6  # of all processes together
TRAIN, DEV = 25, 11  # neither divides it: the last batch has one tree


def trees(size: int, seed: int) -> list:
    rng = random.Random(seed)
    labels = ("0", "1", "2", "3", "4")
    return [random_tree(rng, rng.randint(2, 9), 2, labels=labels, words=WORDS) for _ in range(size)]


def short(size: int, seed: int) -> list:
    """Mostly distinct single words, so that a process may have a batch without children."""
    most = 3 * size // 4
    words = [parse_trees(f"({i % 5} w{i % 12})")[0] for i in range(most)]
    return words + trees(size - most, seed)


def pairs(size: int, seed: int) -> list:
    rng = random.Random(seed)
    chains = [
        DependencyTree(rng.choices(WORDS, k=3), [-1, 0, rng.randint(0, 1)]) for _ in range(2 * size)
    ]
    return [TreePair(chains[2 * i], chains[2 * i + 1], rng.uniform(1, 5)) for i in range(size)]


class Spare(TreeLSTMClassifier):
    """With a part that no step uses."""

    def __init__(self, *arguments, **options) -> None:
        super().__init__(*arguments, **options)
        self.spare = torch.nn.Linear(2, 2)


# Name -> task, model, its sizes and options, examples, training options.
CASES = {
    "shuffled": ("sst5", TreeLSTMClassifier, (6, 6), {"dropout": 0.0}, trees, {}),
    "size": (
        "sst5",
        TreeLSTMClassifier,
        (6, 6),
        {"dropout": 0.0, "sparse_embedding": True},
        trees,
        {"batching": "size", "max_grad_norm": 0.5},
    ),
    "pairs": (
        "sick",
        ARNNRelatedness,
        (6, 6, 6),
        {"dropout": 0.0},
        pairs,
        {"batching": "depth", "average": 2.0},
    ),
    "fixed words": (
        "sst5",
        TreeLSTMClassifier,
        (6, 6),
        {"dropout": 0.0, "sparse_embedding": True},
        trees,
        {"embedding_lr": 0.0},
    ),
    "unused parts": (
        "sst5",
        Spare,
        (6, 6),
        {"dropout": 0.0, "sparse_embedding": True},
        short,
        {"max_grad_norm": 0.5},
    ),
}


class PlainDescent(TrainingModule):
    """Uses plain gradient descent, which does not amplify rounding errors."""

    def configure_optimizers(self):
        super().configure_optimizers()  # which also decides what is learned
        return torch.optim.SGD(self.model.parameters(), lr=0.1)


class Watch(Callback):
    """Writes the batch of each step, the metrics of each epoch, and the final weights."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seen: list[list[list[str]]] = []
        self.first_draws: list[float] = []
        self.figures: list[dict[str, float]] = []

    def on_train_epoch_start(self, trainer, module) -> None:
        self.seen.append([])

    def on_train_batch_start(self, trainer, module, batch, batch_idx) -> None:
        if batch_idx == 0:
            state = torch.get_rng_state()
            self.first_draws.append(float(torch.rand(())))
            torch.set_rng_state(state)

    def on_train_epoch_end(self, trainer, module) -> None:
        self.figures.append({name: float(each) for name, each in trainer.callback_metrics.items()})

    def on_train_end(self, trainer, module) -> None:
        own = {"seen": self.seen, "first_draws": self.first_draws}
        ranks = [own] * trainer.world_size
        if trainer.world_size > 1:
            torch.distributed.all_gather_object(ranks, own)
        if trainer.is_global_zero:
            content = {"ranks": ranks, "steps": trainer.global_step, "figures": self.figures}
            torch.save({**content, "weights": module.model.state_dict()}, self.path)


def run(name: str, processes: int, path: Path) -> None:
    task_name, model_class, sizes, model_options, make, training = CASES[name]
    torch.manual_seed(1)
    task = get_task(task_name)
    model = model_class(VOCABULARY, 5, *sizes, **model_options)
    options = TrainingOptions(batch_size=BATCH // processes, **training)
    watch, collate = Watch(path), model.collate
    train = make(TRAIN, 2)

    def watched(examples):
        if model.training:
            watch.seen[-1].append([train.index(each) for each in examples])
        return collate(examples)

    model.collate = watched
    trainer = Trainer(
        max_epochs=2,
        accelerator="cpu",
        devices=processes,
        **({"strategy": "ddp_fork_find_unused_parameters_true"} if processes > 1 else {}),
        callbacks=[watch],
        logger=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=False,
        num_sanity_val_steps=0,
    )
    module = PlainDescent(model, task, options)
    trainer.fit(module, datamodule=TreeDataModule(model, train, make(DEV, 3), options))


if __name__ == "__main__":
    warnings.simplefilter("error")
    for message in (".*LeafSpec", ".*does not have many workers", ".*No device id is provided"):
        warnings.filterwarnings("ignore", message)
    torch.set_num_threads(1)
    for count in (2, 1):  # fork before any threads are started
        for case in CASES:
            run(case, count, Path(sys.argv[1], f"{case}-{count}.pt"))
