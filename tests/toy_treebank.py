"""A tiny treebank for tests of training: the class of a sentence depends on one word and on `not`."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

WORDS = {"superb": 4, "good": 3, "plain": 2, "dull": 1, "awful": 0}
SIZES = {"train": 60, "dev": 20, "test": 20}


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


@pytest.fixture(scope="session")
def toy_data(tmp_path_factory) -> Path:
    return write_treebank(tmp_path_factory.mktemp("toy") / "data")
