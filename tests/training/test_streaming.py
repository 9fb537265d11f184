"""Runs from shards agree with runs in memory, also resumed and with several processes."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from pytorch_lightning import Trainer
from test_resume import signal_at
from toy_treebank import TINY, silent, tiny_config, write_treebank

from graphsent.cli import main
from graphsent.errors import DataError
from graphsent.models import TreeLSTMClassifier
from graphsent.sentences import Sentence
from graphsent.shards import ShardSet
from graphsent.shards.shard import Shard
from graphsent.tasks import get_task
from graphsent.training import (
    RunConfig,
    RunDirectory,
    TrainingError,
    TrainingInterrupted,
    TrainingModule,
    TrainingOptions,
    TreeDataModule,
    evaluate,
    load_model,
    resume,
    train,
)
from graphsent.training.batching import BATCHINGS, EpochBatches, batch_sampler
from graphsent.trees import Tree
from graphsent.vocabulary import Vocabulary


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    """A cache directory for shards only."""
    directory = tmp_path / "cache"
    monkeypatch.setattr("graphsent.shards.store.cache_directory", lambda: directory)
    return directory


def assert_same_runs(first, second, paths) -> None:
    losses = [[entry["loss"] for entry in run["history"]] for run in (first, second)]
    assert losses[0] == losses[1]
    assert (first["dev"], first["test"]) == (second["dev"], second["test"])
    weights, others = (load_model(path).state_dict() for path in paths)
    assert weights.keys() == others.keys()
    assert all(torch.equal(weights[name], others[name]) for name in weights)
    assert first["corpus"] == second["corpus"]


@pytest.mark.parametrize("batching", ["shuffled", "size", "depth"])
def test_a_window_over_all_examples_equals_a_run_in_memory(configure, tmp_path, batching):
    config = configure(batching=batching, batch_size=7)
    paths = [tmp_path / name for name in "ab"]
    runs = [
        train(replace(config, stream=stream), path, echo=silent)
        for stream, path in zip((False, True), paths, strict=True)
    ]
    assert_same_runs(*runs, paths)


@pytest.mark.parametrize(
    ("task", "model", "options"),
    [
        ("trec", "nbow", {}),
        ("trec", "recnn", {"hidden": 4, "trees": "balanced"}),
        ("trec", "kimcnn", {"maps": 4}),
        ("trec", "sequence", {"hidden": 4}),
        ("trec", "treelstm", {"hidden": 4}),
        ("trec", "arnn", {"hidden": 4}),
        ("sick", "arnn-relatedness", {"hidden": 4, "comparison": 4}),
    ],
)
def test_the_same_for_sentences_and_parses(tmp_path, repository, monkeypatch, task, model, options):
    monkeypatch.setitem(ShardSet.__init__.__kwdefaults__, "shard_size", 300)
    training = {"epochs": 1, "num_threads": 1, "batch_size": 50}
    trees = {"trees": options["trees"]} if "trees" in options else {}
    options = {name: value for name, value in options.items() if name not in trees}
    config = RunConfig.from_dict(
        {
            "task": task,
            "model": model,
            **trees,
            "model_options": {"embedding_dim": 6, **options},
            "data_dir": str(repository / "data"),
            "training": training,
        }
    )
    paths = [tmp_path / name for name in "ab"]
    runs = [
        train(replace(config, stream=stream), path, echo=silent)
        for stream, path in zip((False, True), paths, strict=True)
    ]
    assert_same_runs(*runs, paths)


def test_an_interrupted_run_resumes_to_the_same_results(configure, tmp_path, monkeypatch):
    config = replace(configure(epochs=3, shuffle_window=20, batch_size=4), stream=True)
    paths = [tmp_path / name for name in "ab"]
    whole = train(config, paths[0], echo=silent)
    with monkeypatch.context() as patch:
        signal_at(patch, "training_step", 20)
        with pytest.raises(TrainingInterrupted):
            train(config, paths[1], echo=silent)
    assert_same_runs(whole, resume(paths[1], echo=silent), paths)


def test_a_smaller_window_is_another_order_of_the_same(configure, tmp_path):
    config = replace(configure(shuffle_window=20), stream=True)
    runs = [train(config, tmp_path / name, echo=silent) for name in "ab"]
    assert_same_runs(*runs, [tmp_path / name for name in "ab"])
    memory = train(configure(), tmp_path / "c", echo=silent)
    assert memory["history"][0]["loss"] != runs[0]["history"][0]["loss"]


@pytest.mark.parametrize("size", [1, 40, 1000])
@pytest.mark.parametrize("window", [1, 33, 300, 2000])
@pytest.mark.parametrize("keyed", [False, True])
def test_windows_have_every_example_once(size, window, keyed):
    keys = np.random.default_rng(0).integers(0, 5, size) if keyed else None
    shares = []
    for rank in range(3):
        sampler = EpochBatches(size, 4, 1, keys=keys, window=window, num_processes=3, rank=rank)
        batches = list(sampler)
        assert len(batches) == len(sampler)
        assert sum(len(batch) for batch in batches if batch.weight) <= size
        shares.append([index for batch in batches if batch.weight for index in batch])
    together = [index for share in shares for index in share]
    assert sorted(together) == list(range(size))  # disjoint and complete


def test_a_window_is_drawn_from_all_over():
    sampler = EpochBatches(10_000, 10, 0, window=1000)
    batches = list(sampler)
    first = np.concatenate(batches[:100])
    assert len(np.unique(first // 1000)) > 6  # of ten
    touched = {int(index) // 62 for index in first}  # blocks of 62
    assert len(touched) <= 1000 // 62 + 3
    assert max(abs(np.diff(batches[0]))) > 100
    sampler.set_epoch(1)
    assert list(sampler) != batches


@pytest.mark.parametrize(
    ("size", "window", "most"),
    [
        (2000, 1000, 250),  # each block once
        (2003, 1000, 251),
        (2000, None, 250),
        (2000, 100, 2 * 334),  # windows whose stretches span two blocks
        (2000, 1, 2000),
    ],
)
def test_an_epoch_reads_blocks_once(monkeypatch, size, window, most):
    monkeypatch.setattr("graphsent.shards.examples.BLOCK_SIZE", 8)
    monkeypatch.setattr("graphsent.training.batching.BLOCK_SIZE", 8)
    sentences = [Sentence([f"w{number}"], "0") for number in range(size)]
    found = ShardSet("toy", {}, shard_size=400).open(lambda: iter(sentences), lambda chunk: None)
    blocks = []
    block_of = Shard.block
    monkeypatch.setattr(Shard, "block", lambda *place: blocks.append(place) or block_of(*place))
    read = [
        found[index].words[0]
        for share in batch_sampler(found, "shuffled", 10, 0, window=window)
        for index in share
    ]
    assert sorted(read) == sorted(f"w{number}" for number in range(size))
    assert len(blocks) <= most


@pytest.mark.parametrize("batching", BATCHINGS)
def test_batches_of_shards_are_those_in_memory(batching):
    shapes = ["(1 a)", "(1 (1 a) (1 b))", "(1 (1 (1 (1 a))))", "(1 (1 a) (1 b) (1 c) (1 d) (1 e))"]
    trees = [Tree.from_string(shape) for shape in shapes] * 2
    found = ShardSet("toy", {}, shard_size=3).open(lambda: iter(trees), lambda chunk: None)
    kept, read = (list(batch_sampler(each, batching, 3, 0)) for each in (trees, found))
    assert read == kept


def test_labels_in_order_are_mixed():
    sampler = EpochBatches(10_000, 50, 0, window=1000)
    share = [np.mean(np.array(batch) < 5000) for batch in sampler]
    assert np.mean([0.2 < each < 0.8 for each in share]) > 0.02
    assert np.std(share) < 0.3


def test_a_task_of_a_notebook_may_change_without_notice(toy_data, tmp_path, monkeypatch):
    notebook = ModuleType("some_notebook")
    monkeypatch.setitem(sys.modules, "some_notebook", notebook)
    code = """
from graphsent.tasks import sst

class Own(sst.SentimentTask):
    pass

def own():
    task = sst.sst5()
    task.__class__ = Own
    return task
"""
    exec(compile(code, "<cell 1>", "exec"), vars(notebook))
    config = replace(tiny_config(toy_data, epochs=1), task="some_notebook:own", stream=True)
    with pytest.raises(TrainingError, match="shards are those of the present Own, which is not"):
        train(config, tmp_path / "run", echo=silent)
    assert train(replace(config, stream=False), tmp_path / "run", echo=silent)["finished"]


def test_a_changed_file_has_shards_of_its_own(tmp_path, cache):
    data = write_treebank(tmp_path / "data")
    config = replace(tiny_config(data, epochs=1), stream=True)
    train(config, tmp_path / "a", echo=silent)
    assert len(list((cache / "shards").iterdir())) == 3
    config = replace(config, model_options={**config.model_options, "hidden": 5, "dropout": 0.0})
    train(config, tmp_path / "b", echo=silent)
    assert len(list((cache / "shards").iterdir())) == 3  # of the same form
    with (data / "sentiment" / "train.txt").open("a") as file:
        file.write("(4 superb)\n")
    with pytest.raises(TrainingError, match="the corpus changed"):
        resume(tmp_path / "a", epochs=2, echo=silent)
    results = train(config, tmp_path / "c", echo=silent)
    assert results["corpus"]["splits"]["train"]["examples"] == 61
    config = replace(config, model="treenet", model_options={"hidden": 4, "embedding_dim": 4})
    train(config, tmp_path / "d", echo=silent)
    assert len(list((cache / "shards").iterdir())) == 3 + 1 + 3


def test_two_processes_of_lightning_read_disjoint_shares(toy_data):
    task = get_task("sst5")
    stream = task.stream(toy_data)
    model = TreeLSTMClassifier(Vocabulary([]), 5, 4, 4)
    found = ShardSet("toy", {}).open(stream.splits["train"], model.collate)
    kept = task.load(toy_data).splits["train"]
    seen = []
    for rank in range(2):
        sampler = batch_sampler(found, "depth", 5, 0, window=30, num_processes=2, rank=rank)
        seen.append([str(found[index]) for batch in sampler for index in batch])
    assert sorted(seen[0] + seen[1]) == sorted(map(str, kept))


def test_under_a_custom_trainer(toy_data):
    task = get_task("sst5")
    stream = task.stream(toy_data)
    splits = {
        split: ShardSet(split, {}).open(
            examples, TreeLSTMClassifier(Vocabulary([]), 5, 4, 4).collate
        )
        for split, examples in stream.splits.items()
    }
    model = TreeLSTMClassifier(Vocabulary.from_counts(splits["train"].word_counts), 5, 4, 4)
    options = TrainingOptions(epochs=1)
    trainer = Trainer(
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of Lightning about loaders and logging
        trainer.fit(
            TrainingModule(model, task, options),
            datamodule=TreeDataModule(model, splits["train"], splits["dev"], options),
        )
    test = task.load(toy_data, splits=("test",)).splits["test"]
    assert evaluate(model, task, splits["test"]) == evaluate(model, task, test)


def test_phrases_of_trees_are_rejected(toy_data, tmp_path):
    config = RunConfig(
        "sst5", "kimcnn", model_options={"maps": 2}, data_dir=str(toy_data), stream=True
    )
    with pytest.raises(
        TrainingError, match=r"--stream: kimcnn learns from the labelled phrases.*--loss-nodes root"
    ):
        train(config, tmp_path / "run", echo=silent)
    assert not (tmp_path / "run").exists()


def test_phrases_after_many_single_words_are_rejected(tmp_path):
    words = [f"({number % 5} word{number})\n" for number in range(300)]
    trees = "(3 (2 a) (4 good))\n(1 (2 a) (0 bad))\n"
    for name, text in (("train", "".join(words) + trees), ("dev", trees)):
        (tmp_path / name).write_text(text)
    files = {split: str(tmp_path / split) for split in ("train", "dev")}
    config = RunConfig("own", "kimcnn", task_options=files, stream=True)
    with pytest.raises(TrainingError, match="kimcnn learns from the labelled phrases"):
        train(config, tmp_path / "run", echo=silent)


def test_whole_sentences_of_trees(toy_data, tmp_path):
    """As the message about phrases advises, and with the results of memory."""
    results = []
    for stream in (True, False):
        config = tiny_config(toy_data, epochs=1, loss_nodes="root")
        options = {"maps": 2, "embedding_dim": 6}
        config = replace(config, model="kimcnn", model_options=options, stream=stream)
        results.append(train(config, tmp_path / str(stream), echo=silent))
    for name in ("loss", "dev_root_accuracy"):
        assert results[0]["history"][0][name] == results[1]["history"][0][name]


def test_a_broken_file_is_a_data_error(tmp_path):
    data = write_treebank(tmp_path / "data")
    with (data / "sentiment" / "dev.txt").open("a") as file:
        file.write("(9 superb)\n")
    config = replace(tiny_config(data, epochs=1), stream=True)
    with pytest.raises(DataError, match=r"dev\.txt: tree 21: expected labels from 0 to 4"):
        train(config, tmp_path / "a", echo=silent)


def test_the_command(toy_data, tmp_path, cache, capsys):
    arguments = ["train", "--task=sst5", f"--data-dir={toy_data}", f"--out={tmp_path / 'run'}"]
    assert main([*arguments, *TINY, "--epochs=1", "--stream", "--shuffle-window=30"]) == 0
    out = capsys.readouterr().out
    assert f"train: 60 examples in shards, 0.0 MB in {cache / 'shards' / 'sst5-train-'}" in out
    config = RunConfig.load(tmp_path / "run" / "config.yaml")
    assert config.stream
    assert config.training.shuffle_window == 30
    assert main(["train", f"--resume={tmp_path / 'run'}", "--epochs=2"]) == 0
    assert main(["evaluate", str(tmp_path / "run")]) == 0
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, "--shuffle-window=30", "--overwrite"])
    assert "--shuffle-window needs --stream" in capsys.readouterr().err


def test_a_cache_that_cannot_be_written(toy_data, tmp_path, cache, capsys):
    cache.write_text("a file")
    arguments = ["train", "--task=sst5", f"--data-dir={toy_data}", f"--out={tmp_path / 'run'}"]
    assert main([*arguments, *TINY, "--stream"]) == 1
    assert "cannot keep shards in" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_user_files(tmp_path, capsys):
    for split, count in (("train", 30), ("dev", 10), ("test", 10)):
        lines = [f"{'good' if i % 2 else 'bad'}\tfilm {i % 7} is {i % 2}\n" for i in range(count)]
        (tmp_path / f"{split}.tsv").write_text("".join(lines))
    files = [f"--{split}={tmp_path / split}.tsv" for split in ("train", "dev", "test")]
    options = ["--model=nbow", "--embedding-dim=6", "--epochs=1", "--num-threads=1"]
    for name, stream in (("a", []), ("b", ["--stream"])):
        out = f"--out={tmp_path / name}"
        assert main(["train", *files, *options, out, *stream]) == 0
    assert "train: 30 examples in shards" in capsys.readouterr().out
    first, second = (RunDirectory(tmp_path / name).read_results() for name in "ab")
    assert first["history"][0]["loss"] == second["history"][0]["loss"]
    assert first["test"] == second["test"]
    assert main(["train", f"--resume={tmp_path / 'b'}", "--epochs=2"]) == 0
    stream = [*options, "--stream", f"--out={tmp_path / 'c'}"]
    assert main(["train", files[0], *stream]) == 2
    assert "--stream holds nothing out of train: add --dev FILE" in capsys.readouterr().err
    assert main(["train", *files[:2], "--fold=0", *stream]) == 2
    assert "so it has no folds" in capsys.readouterr().err
    assert main(["train", *files[:2], *stream]) == 0
    printed = capsys.readouterr().out
    assert "train: 30 examples in shards" in printed
    assert "there is no test split" in printed
    assert "test" not in RunDirectory(tmp_path / "c").read_results()
    assert main(["evaluate", str(tmp_path / "c")]) == 2
    assert "there is no test split" in capsys.readouterr().err
    for flag in ("--split=0.2", "--test"):
        with pytest.raises(SystemExit, match="2"):
            main(["train", *files[:2], flag, *stream])
        assert f"{flag.partition('=')[0]} has no effect: " in capsys.readouterr().err
