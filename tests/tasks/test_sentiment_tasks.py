"""The sentiment tasks: labels, splits, vocabulary, metrics, and where corpora are found."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from graphsent.errors import DataError
from graphsent.tasks import build_vocabulary, get_task, resolve_data_dir
from graphsent.trees import TreeError

TREES = """\
(4 (2 a) (4 (4 superb) (2 film)))
(2 (2 a) (2 film))
(1 (0 awful) (2 (2 the) (3 end)))
"""


@pytest.fixture
def corpus(tmp_path):
    directory = tmp_path / "sst"
    directory.mkdir()
    for split in ("train", "dev", "test"):
        (directory / f"{split}.txt").write_text(TREES, encoding="utf-8")
    return tmp_path


def labels(task, corpus):
    return [tree.labels for tree in task.load(corpus).splits["train"]]


def test_five_classes_are_the_treebanks_own(corpus):
    assert labels(get_task("sst5"), corpus)[0] == ("4", "2", "4", "4", "2")
    assert len(labels(get_task("sst5"), corpus)) == 3


def test_two_classes_drop_neutral_sentences_and_mask_neutral_phrases(corpus):
    assert labels(get_task("sst2"), corpus) == [
        ("1", "", "1", "1", ""),
        ("0", "0", "", "", "1"),
    ]


def test_two_classes_with_a_neutral_class(corpus):
    task = get_task("sst2", neutral="class")
    assert labels(task, corpus) == [("2", "1", "2", "2", "1"), ("0", "0", "1", "1", "2")]
    metrics = task.metrics()
    # The neutral column would win everywhere; only negative and positive compete.
    logits = torch.tensor([[0.0, 9, 1], [1, 9, 0], [0, 9, 1], [0, 9, 1]])
    batch = SimpleNamespace(labels=torch.tensor([2, 0, 0, 1]), roots=torch.tensor([0, 3]))
    metrics.update(logits, batch)
    values = metrics.compute()
    assert values["phrase_accuracy"] == pytest.approx(2 / 3)
    assert values["root_accuracy"] == 1  # the root with the neutral label does not count


def test_accuracies_weigh_examples_not_batches():
    metrics = get_task("sst5").metrics()
    right = torch.eye(5)[[0, 1, 2]]
    metrics.update(right, SimpleNamespace(labels=torch.tensor([0, 1, 2]), roots=torch.tensor([0])))
    wrong = SimpleNamespace(labels=torch.tensor([4]), roots=torch.tensor([0]))
    metrics.update(right[:1], wrong)
    assert metrics.compute()["phrase_accuracy"] == pytest.approx(3 / 4)
    assert metrics.compute()["root_accuracy"] == pytest.approx(1 / 2)


def test_the_vocabulary_takes_known_words_of_other_splits(corpus, tmp_path):
    task = get_task("sst5")
    train = task.load(corpus).splits["train"][:1]
    other = task.load(corpus).splits["train"][2:]
    path = tmp_path / "v.txt"
    path.write_text("superb 1 0\nthe 0 1\n", encoding="utf-8")
    vocab, vectors = build_vocabulary(train, other, path)
    assert vocab.words == ("<unk>", "a", "superb", "film", "the")
    assert vectors.matrix[4].tolist() == [0, 1]
    assert build_vocabulary(train)[0].words == ("<unk>", "a", "superb", "film")


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ("(7 (2 a) (2 b))", DataError, r"train\.txt: tree 1: expected labels from 0 to 4.*'7'"),
        ("(2 (2 a) (2 b)", TreeError, r"train\.txt:1:1"),
        ("", DataError, r"train\.txt: no examples"),
    ],
)
def test_a_bad_corpus_is_explained(corpus, line, error, message):
    (corpus / "sst" / "train.txt").write_text(line, encoding="utf-8")
    with pytest.raises(error, match=message):
        get_task("sst5").load(corpus)


def test_missing_corpora_and_directories_are_listed(tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"no sst/train\.txt.*no sentiment/train\.txt"):
        get_task("sst5").load(tmp_path)
    with pytest.raises(DataError, match=r"not a directory: .*nowhere"):
        resolve_data_dir(tmp_path / "nowhere")
    monkeypatch.setenv("GRAPHSENT_DATA", str(tmp_path / "unset"))
    with pytest.raises(DataError, match="named by GRAPHSENT_DATA"):
        resolve_data_dir()
    monkeypatch.setenv("GRAPHSENT_DATA", str(tmp_path))
    assert resolve_data_dir() == tmp_path


def test_misspelt_tasks_options_and_splits_list_the_valid_ones(corpus):
    with pytest.raises(DataError, match=r"unknown task 'sst-5': expected one of .*sst2, sst5"):
        get_task("sst-5")
    with pytest.raises(DataError, match="unknown option 'neutrals' of the task sst2"):
        get_task("sst2", neutrals="mask")
    with pytest.raises(DataError, match="expected 'mask' or 'class'"):
        get_task("sst2", neutral="drop")
    with pytest.raises(DataError, match=r"unknown split 'eval'.*train, dev, test"):
        get_task("sst5").load(corpus, splits=("eval",))


def test_the_embedded_treebank_is_found_without_a_directory(monkeypatch):
    monkeypatch.delenv("GRAPHSENT_DATA", raising=False)
    source = get_task("sst5").load().source
    assert source.corpus.name == "sentiment"
    assert source.counts == {"train": 3000, "dev": 500, "test": 1000}
    assert len(source.describe()["splits"]["test"]["sha256"]) == 64


@pytest.mark.data
def test_published_counts(data_dir):
    for name, counts in {"sst5": (8544, 1101, 2210), "sst2": (6920, 872, 1821)}.items():
        source = get_task(name).load(data_dir).source
        assert tuple(source.counts.values()) == counts
        assert "published" not in source.summary()
