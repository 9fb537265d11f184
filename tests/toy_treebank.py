"""A tiny treebank to train on: the class of a sentence depends on one word and on `not`."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

from graphsent.training import RunConfig, TrainingOptions

ADAM = {
    "optimizer": "adam",
    "lr": 0.02,
    "embedding_optimizer": "same",
    "embedding_lr": 0.02,
    "weight_decay": 0.0,
}
# A tiny model, as command-line flags.
TINY = ["--hidden=6", "--embedding-dim=6", "--num-threads=1"]
WORDS = {"superb": 4, "good": 3, "plain": 2, "dull": 1, "awful": 0}
SIZES = {"train": 60, "dev": 20, "test": 20}
GOOD_PARSE = "(ROOT (S (NP (DT the) (NN {0})) (VP (VBZ runs))))"
BAD_PARSE = "(ROOT (S (DT the) (VP (NN {0}) (VBZ runs))))"


def sentence(rng: random.Random) -> str:
    word = rng.choice(list(WORDS))
    label, phrase = WORDS[word], f"({WORDS[word]} {word})"
    if rng.random() < 0.5:
        label = 4 - label
        phrase = f"({label} (2 not) {phrase})"
    return f"({label} (2 (2 the) (2 film)) ({label} (2 is) {phrase}))"


def write_treebank(directory: Path, seed: int = 0) -> Path:
    """Writes the files of the embedded corpus `sentiment` into a data directory."""
    rng = random.Random(seed)
    corpus = directory / "sentiment"
    corpus.mkdir(parents=True)
    for split, size in SIZES.items():
        text = "".join(sentence(rng) + "\n" for _ in range(size))
        (corpus / f"{split}.txt").write_text(text, encoding="utf-8")
    return directory


def write_nbest(directory: Path) -> Path:
    """Writes the n-best lists of task `rerank`: the first of two parses is right in a third."""
    for name, number in (("train", 60), ("heldout", 10)):
        blocks = []
        for place in range(number):
            good, bad = (text.format(f"{name}{place}") for text in (GOOD_PARSE, BAD_PARSE))
            first, second = (good, bad) if place % 3 == 0 else (bad, good)
            blocks.append(
                f"# sent_id = {place}\ngold\t{good}\ncand\t2\t{first}\ncand\t1\t{second}\n"
            )
        path = directory / f"wsj.nbest.{name}.gz"
        path.write_bytes(gzip.compress("\n".join(blocks).encode()))
    return directory


def tiny_config(data_dir: Path, **training: Any) -> RunConfig:
    """A model that trains in a fraction of a second; further arguments are training options."""
    return RunConfig(
        "sst5",
        "treelstm",
        model_options={"embedding_dim": 8, "hidden": 8, "dropout": 0.2},
        data_dir=str(data_dir),
        training=TrainingOptions(**{"epochs": 2, "num_threads": 1, **training}),
    )


def silent(line: str) -> None:
    """Swallows the output of a run."""
