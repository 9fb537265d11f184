"""Reading from shards: equal examples and equal batches, in bounded memory."""

from __future__ import annotations

import copy
import errno
import os
import pickle
import random
import tracemalloc
import weakref
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from shard_examples import WORDS, dependency_trees, pairs, sentences, trees

from graphsent.models import model_class
from graphsent.sentences import Sentence
from graphsent.shards import ShardSet, ShardsFailed, depth_of, examples, size_of
from graphsent.shards.shard import Block, Shard
from graphsent.tasks import build_vocabulary, count_words
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

# Name of the model, its options, examples.
CASES = {
    "nbow": ("nbow", {}, sentences),
    "nbow, trees": ("nbow", {}, trees),
    "nbow, dependency trees": ("nbow", {}, dependency_trees),
    "kimcnn": ("kimcnn", {"maps": 2}, sentences),
    "sequence": ("sequence", {"hidden": 3}, sentences),
    "binary treelstm": (
        "treelstm",
        {"hidden": 3},
        lambda count, rng: trees(count, rng, most_children=2),
    ),
    "n-ary treelstm": ("treelstm", {"hidden": 3}, trees),
    "child-sum treelstm": ("treelstm", {"hidden": 3, "cell": "childsum"}, dependency_trees),
    "arnn": ("arnn", {"hidden": 3}, dependency_trees),
    "treenet": ("treenet", {"hidden": 3}, trees),
    "treenet, dependency trees": ("treenet", {"hidden": 3}, dependency_trees),
    "bitreelstm": ("bitreelstm", {"hidden": 3}, trees),
    "apdcnn": ("apdcnn", {}, trees),
    "pairs": ("arnn-relatedness", {"hidden": 3, "comparison": 3}, pairs),
}


def build(name, vocab, options):
    cls = model_class(name)
    if name == "apdcnn":
        return cls(vocab, 3, 4)
    return cls(vocab, 5 if "relatedness" in name else 3, 4, **options)


def stored(model, kept, shard_size=16, **about):
    return ShardSet("toy", about, shard_size=shard_size).open(lambda: iter(kept), model.collate)


def assert_same_batches(first, second):
    assert type(first) is type(second)
    for one, other in zip(first, second, strict=True):
        if isinstance(one, torch.Tensor):
            assert torch.equal(torch.nan_to_num(one), torch.nan_to_num(other))
        elif isinstance(one, tuple):  # the sentences of pairs
            assert_same_batches(one, other)
        elif one is None:  # features that the model does not read
            assert other is None
        else:
            assert torch.equal(torch.stack(one.edges()), torch.stack(other.edges()))
            for frame in ("ndata", "edata"):
                for name, values in getattr(one, frame).items():
                    assert torch.equal(values, getattr(other, frame)[name])


@pytest.mark.parametrize("case", CASES)
def test_batches_are_those_of_memory(case, monkeypatch):
    name, options, make = CASES[case]
    kept = make(50, random.Random(0))
    read = stored(build(name, Vocabulary([]), options), make(50, random.Random(0)))
    model = build(name, Vocabulary(WORDS[::-1]), options)
    assert len(read) == 50
    for order in (range(20), [49, 3, 3, 17, -1, 16, 15]):
        expected = model.collate([kept[index] for index in order])
        assert_same_batches(model.collate([read[index] for index in order]), expected)
        read.number_words(model.vocab)
        with monkeypatch.context() as patch:
            patch.setattr(Block, "words_of", Mock(side_effect=AssertionError("words are read")))
            assert_same_batches(model.collate([read[index] for index in order]), expected)
        read.number_words(Vocabulary([]))


@pytest.mark.parametrize("case", CASES)
def test_examples_are_equal_in_the_form_that_the_model_reads(case):
    name, options, make = CASES[case]
    kept = make(40, random.Random(1))
    model = build(name, Vocabulary([]), options)
    read = stored(model, kept)
    shape = getattr(model, "shape_tree", lambda tree: tree)
    assert list(read) == read[:] == [shape(each) for each in kept]
    assert read[35:3:-7] == [shape(each) for each in kept[35:3:-7]]
    assert [size_of(each) for each in kept] == read.sizes().tolist()
    assert [depth_of(each) for each in kept] == read.depths().tolist()
    with pytest.raises(IndexError, match="example 40 of 40"):
        read[40]
    for each in (read[0], read[39]):
        other = pickle.loads(pickle.dumps(copy.deepcopy(each)))
        assert other == each
        if case != "pairs":
            assert type(other) in (Tree, DependencyTree, Sentence), "a copy is of a public class"


def test_what_is_read_is_what_it_seems():
    tree = trees(1, random.Random(2))[0]
    read = stored(build("nbow", Vocabulary([]), {}), [tree])[0]
    assert isinstance(read, Tree)
    assert (read.words, read.labels, read.tokens) == (tree.words, tree.labels, tree.tokens)
    assert (str(read), hash(read), read.num_nodes) == (str(tree), hash(tree), tree.num_nodes)
    assert np.array_equal(read.spans, tree.spans)
    with pytest.raises(AttributeError, match="immutable"):
        read.labels = ()


def test_dependency_trees_omit_what_no_model_reads():
    tree = DependencyTree(["a", "film"], [1, -1], relations=["det", "root"], metadata={"id": "1"})
    read = stored(build("arnn", Vocabulary([]), {"hidden": 3}), [tree])[0]
    assert read == DependencyTree(["a", "film"], [1, -1])
    assert (read.relations, read.lemmas, read.metadata) == (("", ""), ("", ""), {})


def test_words_are_counted_as_in_memory():
    kept = sentences(60, random.Random(3))
    read = stored(build("nbow", Vocabulary([]), {}), kept)
    assert list(read.word_counts.items()) == list(count_words(kept).items())
    assert build_vocabulary(read, read, min_count=3) == build_vocabulary(kept, kept, min_count=3)
    assert build_vocabulary(read, lower=True) == build_vocabulary(kept, lower=True)


def test_long_sentences_and_many_labels():
    long = Tree.from_string("(0 " * 300 + "x" + ")" * 300)
    wide = Tree.from_string(
        "(1 " + "".join(f"(L{number} y{number})" for number in range(40_000)) + ")"
    )
    model = build("treelstm", Vocabulary([]), {"hidden": 3, "cell": "childsum"})
    assert stored(model, [long, wide, long])[:] == [long, wide, long]


def test_writing_shards_keeps_few_examples_in_memory():
    alive, most = weakref.WeakSet(), 0

    def make():
        nonlocal most
        rng = random.Random(4)
        for _ in range(3000):
            tree = trees(1, rng)[0]
            alive.add(tree)
            most = max(most, len(alive))
            yield tree

    model = build("treelstm", Vocabulary([]), {"hidden": 3})
    read = ShardSet("toy", {}, shard_size=1000).open(make, model.collate)
    assert len(read) == 3000
    assert most < 600


def test_reading_keeps_some_blocks(monkeypatch):
    monkeypatch.setattr(examples, "BLOCK_SIZE", 10)
    monkeypatch.setattr(examples, "_BLOCKS_KEPT", 3)
    read = stored(
        build("nbow", Vocabulary([]), {}), sentences(200, random.Random(5)), shard_size=95
    )
    blocks = []
    block_of = Shard.block

    def block(self, begin, end):
        blocks.append((begin, end))
        return block_of(self, begin, end)

    monkeypatch.setattr(Shard, "block", block)
    monkeypatch.setattr(Shard, "check", Mock())
    for index in (0, 9, 94, 95, 0):
        read[index]
    assert blocks == [(0, 10), (90, 95), (0, 10)]
    blocks.clear()
    for _ in range(2):
        list(read)
    assert blocks[-21:] == [(row, min(row + 10, 95)) for row in range(0, 95, 10)] * 2 + [(0, 10)]
    read.keep(40)  # they may come from five blocks
    blocks.clear()
    for _ in range(2):
        for index in range(25, 65):
            read[index]
    assert len(blocks) == 5
    read.keep(10**12)
    blocks.clear()
    for _ in range(2):
        list(read)
    assert len(blocks) == 21
    assert Shard.check.call_count == 3, "a shard is checked once"


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(examples, "BLOCK_SIZE", 8)
    monkeypatch.setattr(examples, "_BLOCKS_KEPT", 2)
    model = build("treelstm", Vocabulary([]), {"hidden": 3})
    read = stored(model, trees(400, random.Random(6)), shard_size=100)
    num_open = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    tracemalloc.start()
    try:
        for index in range(16):
            read[index].words  # noqa: B018
        before = tracemalloc.get_traced_memory()[0]
        for index in range(400):
            read[index].words  # noqa: B018
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()
    if num_open:
        assert len(os.listdir("/proc/self/fd")) <= num_open


def test_shards_that_are_changed_or_removed_while_they_are_read(monkeypatch):
    read = stored(build("nbow", Vocabulary([]), {}), sentences(9, random.Random(7)))
    path = read._shards[0].path
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", Mock(side_effect=OSError(errno.EMFILE, "Too many open files")))
        with pytest.raises(ShardsFailed, match=r"000000.safetensors: Too many open files"):
            read[3]
    assert path.exists()
    os.truncate(path, path.stat().st_size // 2)
    with monkeypatch.context() as patch:  # a directory of another user
        patch.setattr(Path, "unlink", Mock(side_effect=PermissionError))
        with pytest.raises(ShardsFailed, match=r"000000.safetensors: .*truncated"):
            read[3]
    with pytest.raises(ShardsFailed, match=r"000000.safetensors: .*truncated.* restarted"):
        read[3]
    for each in path.parent.iterdir():
        each.unlink()
    with pytest.raises(
        ShardsFailed, match=r"000000.safetensors: No such file .* removed meanwhile"
    ):
        read[3]
