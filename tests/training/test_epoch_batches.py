"""Batches of an epoch: every example once, in random order, grouped by size or depth if asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytorch_lightning import Trainer
from toy_treebank import silent

from graphsent.models import TreeLSTMClassifier
from graphsent.pairs import TreePair
from graphsent.sentences import Sentence
from graphsent.tasks import get_task
from graphsent.training import (
    TrainingError,
    TrainingModule,
    TrainingOptions,
    TreeDataModule,
    train,
)
from graphsent.training.batching import BATCHINGS, batch_sampler
from graphsent.trees import Candidate, ParseList, Tree
from graphsent.vocabulary import Vocabulary

LEAF, PAIR = Tree.from_string("(1 a)"), Tree.from_string("(1 (1 a) (1 b))")
CHAIN = Tree.from_string("(1 (1 (1 (1 a))))")
WIDE = Tree.from_string("(1 (1 a) (1 b) (1 c) (1 d) (1 e))")
SENTENCES = [Sentence(["a"] * length) for length in range(9)]
TREES = [LEAF, PAIR, CHAIN, WIDE] * 6


def batches_of(examples, batching, *, batch_size=4, seed=0, epoch=0):
    sampler = batch_sampler(examples, batching, batch_size, seed)
    sampler.set_epoch(epoch)
    batches = list(sampler)
    assert len(batches) == len(sampler)
    return batches


@given(
    st.sampled_from(BATCHINGS),
    st.integers(0, 40),
    st.integers(1, 9),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_every_example_once_an_epoch(batching, size, batch_size, seed, epoch):
    examples = [TREES[index % len(TREES)] for index in range(size)]
    batches = batches_of(examples, batching, batch_size=batch_size, seed=seed, epoch=epoch)
    assert sorted(index for batch in batches for index in batch) == list(range(size))
    full = size // batch_size
    assert sorted(map(len, batches), reverse=True)[:full] == [batch_size] * full


@pytest.mark.parametrize("batching", BATCHINGS)
def test_an_epoch_depends_on_seed_and_number_alone(batching):
    first = batches_of(TREES, batching, seed=1, epoch=2)
    assert first == batches_of(TREES, batching, seed=1, epoch=2)
    assert first != batches_of(TREES, batching, seed=1, epoch=3)
    assert first != batches_of(TREES, batching, seed=2, epoch=2)


@pytest.mark.parametrize(
    ("batching", "sizes"),
    [("size", {1: 6, 3: 6, 4: 6, 6: 6}), ("depth", {1: 6, 2: 12, 4: 6})],
)
def test_examples_of_equal_size_or_depth_are_batched_together(batching, sizes):
    def key(index: int) -> int:
        tree = TREES[index]
        return tree.num_nodes if batching == "size" else int(tree.depths.max()) + 1

    batches = [sorted(map(key, batch)) for batch in batches_of(TREES, batching, batch_size=3)]
    assert all(batch[0] == batch[-1] for batch in batches)  # 3 divides the number of each
    found = dict(zip(*np.unique(np.concatenate(batches), return_counts=True), strict=True))
    assert found == sizes
    # Neither in order, nor always in the same batches.
    assert batches != sorted(batches)
    mates = [
        {tuple(sorted(batch)) for batch in batches_of(TREES, batching, batch_size=3, epoch=epoch)}
        for epoch in (0, 1)
    ]
    assert mates[0] != mates[1]


@pytest.mark.parametrize("batching", ["size", "depth"])
def test_sentences_count_words(batching):
    batches = batches_of(SENTENCES, batching, batch_size=3)
    assert sorted(map(sorted, batches)) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_a_pair_has_the_size_of_both_and_the_depth_of_the_deeper():
    pairs = [
        TreePair(LEAF, CHAIN),
        TreePair(PAIR, PAIR),
        TreePair(CHAIN, WIDE),
        TreePair(WIDE, WIDE),
    ]
    by_size = batches_of(pairs, "size", batch_size=2)  # sizes 5, 6, 10, 12
    by_depth = batches_of(pairs, "depth", batch_size=2)  # depths 4, 2, 4, 2
    assert sorted(map(sorted, by_size)) == [[0, 1], [2, 3]]
    assert sorted(map(sorted, by_depth)) == [[0, 2], [1, 3]]


def test_an_n_best_list_has_the_size_of_all_and_the_depth_of_the_deepest():
    lists = [
        ParseList(tuple(Candidate(tree, 0.0) for tree in trees))
        for trees in ([LEAF, CHAIN], [PAIR, PAIR, PAIR], [CHAIN, CHAIN], [LEAF, PAIR])
    ]
    by_size = batches_of(lists, "size", batch_size=2)  # sizes 5, 9, 8, 4
    by_depth = batches_of(lists, "depth", batch_size=2)  # depths 4, 2, 4, 2
    assert sorted(map(sorted, by_size)) == [[0, 3], [1, 2]]
    assert sorted(map(sorted, by_depth)) == [[0, 2], [1, 3]]


@pytest.mark.parametrize("batching", ["size", "depth"])
def test_runs_with_such_batches_repeat(configure, tmp_path, batching):
    config = configure(epochs=2, batching=batching, batch_size=7)
    first, second = (train(config, tmp_path / name, echo=silent) for name in "ab")
    losses = [[entry["loss"] for entry in run["history"]] for run in (first, second)]
    assert losses[0] == losses[1]


def test_a_trainer_that_would_replace_the_batches_is_rejected():
    options = TrainingOptions()
    model = TreeLSTMClassifier(vocab=Vocabulary(["a", "b"]), num_classes=5, hidden=3)
    trainer = Trainer(
        overfit_batches=1,
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    with pytest.raises(TrainingError, match="overfit_batches is not supported"):
        trainer.fit(
            TrainingModule(model, get_task("sst5"), options),
            datamodule=TreeDataModule(model, TREES, TREES, options),
        )
