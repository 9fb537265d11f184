"""The sentiment tasks: labels, selection of trees, finding the corpus, reports."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from itertools import chain

import pytest

from graphsent.errors import DataError
from graphsent.models.kimcnn import KimCNN
from graphsent.tasks import TASKS, get_task
from graphsent.trees import Tree, TreeError
from graphsent.vocabulary import Vocabulary

LINES = {
    "train": (
        "(3 (2 a) (4 (3 lovely) (2 film)))\n(2 (1 not) (2 that))\n(1 (0 dire) (2 (2 so) (2 it)))\n"
    ),
    "dev": "(0 (1 bad) (2 film))\n",
    "test": "(4 fine)\n(2 it)\n",
}


@pytest.fixture
def sst_dir(tmp_path):
    (tmp_path / "sst").mkdir()
    for split, text in LINES.items():
        (tmp_path / "sst" / f"{split}.txt").write_text(text, encoding="utf-8")
    return tmp_path


def labels(trees):
    return [tree.labels for tree in trees]


def test_five_classes_are_the_labels_of_the_treebank(sst_dir):
    data = get_task("sst5").load(sst_dir)
    assert {split: list(map(str, trees)) for split, trees in data.splits.items()} == {
        split: text.splitlines() for split, text in LINES.items()
    }
    assert len(get_task("sst5").label_names) == 5


def test_two_classes_mask_neutral_phrases_and_drop_neutral_sentences(sst_dir):
    task = get_task("sst2")
    assert task.label_names == ("negative", "positive")
    data = task.load(sst_dir)
    assert labels(data.splits["train"]) == [("1", "", "1", "1", ""), ("0", "0", "", "", "")]
    assert labels(data.splits["test"]) == [("1",)]


def test_neutral_phrases_as_a_third_class(sst_dir):
    task = get_task("sst2", neutral="class")
    assert task.label_names == ("negative", "neutral", "positive")
    train = task.load(sst_dir, ["train"]).splits["train"]
    assert labels(train) == [("2", "1", "2", "2", "1"), ("0", "0", "1", "1", "1")]


@pytest.mark.parametrize(
    ("neutral", "root", "inner"), [("mask", "", ("0", "")), ("class", "1", ("0", "1"))]
)
def test_phrases_of_neutral_sentences(sst_dir, neutral, root, inner):
    task = get_task("sst2", neutral=neutral, neutral_roots="phrases")
    data = task.load(sst_dir)
    assert labels(data.splits["train"])[1] == (root, *inner)
    assert data.source.counts == {"train": 3, "dev": 1, "test": 1}  # neutral ones are not evaluated
    assert "train 3, published: 8,544" in data.source.summary()


@pytest.mark.parametrize("option", ["neutral", "neutral_roots"])
def test_treatments_of_neutral_phrases_are_checked(option):
    with pytest.raises(DataError, match=f"unknown {option} 'masked': expected one of "):
        get_task("sst2", **{option: "masked"})


@pytest.mark.parametrize("name", ["sst5", "sst2"])
def test_tasks_can_be_recreated_from_name_and_options(name):
    task = get_task(name)
    assert repr(get_task(task.name, **task.options)) == repr(task)
    options = {"neutral": "class", "neutral_roots": "drop"}
    assert get_task("sst2", neutral="class").options == options
    assert repr(get_task("sst5")) == "get_task('sst5')"


def test_only_the_wanted_splits_are_read(sst_dir):
    (sst_dir / "sst" / "train.txt").write_text("broken", encoding="utf-8")
    assert list(get_task("sst5").load(sst_dir, ["test"]).splits) == ["test"]


def test_the_corpus_is_reported(sst_dir):
    source = get_task("sst5").load(sst_dir, ["train", "dev"]).source
    assert source.summary() == (
        "Stanford Sentiment Treebank (train 3, published: 8,544, dev 1, published: 1,101) "
        f"from {sst_dir / 'sst'}"
    )
    described = json.loads(json.dumps(source.describe()))
    assert described["name"] == "sst"
    assert set(described["splits"]) == {"train", "dev"}
    dev = described["splits"]["dev"]
    assert dev["examples"] == 1
    assert dev["path"] == str(sst_dir / "sst" / "dev.txt")
    assert dev["sha256"] == hashlib.sha256(LINES["dev"].encode()).hexdigest()


def test_the_embedded_layout_is_found_too(sst_dir):
    (sst_dir / "sst").rename(sst_dir / "sentiment")
    source = get_task("sst5").load(sst_dir).source
    assert source.corpus.name == "sentiment"
    assert source.summary() == (
        "embedded synthetic sentiment treebank (train 3, dev 1, test 2) "
        f"from {sst_dir / 'sentiment'}"
    )


def test_the_real_corpus_is_preferred(sst_dir, repository):
    (sst_dir / "sentiment").symlink_to(repository / "data" / "sentiment")
    assert get_task("sst5").load(sst_dir).source.corpus.name == "sst"


def test_a_missing_corpus_lists_what_was_looked_for(sst_dir):
    (sst_dir / "sst" / "dev.txt").unlink()
    message = (
        f"no corpus for this task in {sst_dir}: Stanford Sentiment Treebank: no sst/dev.txt; "
        "embedded synthetic sentiment treebank: no sentiment/train.txt, sentiment/dev.txt, "
        "sentiment/test.txt"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        get_task("sst5").load(sst_dir)


WRONG = {
    "another label": ("(3 a)\n(S (2 b) (3 c))\n", "tree 2: expected labels from 0 to 4.*got 'S'$"),
    "no trees": ("\n", "no examples for task sst5$"),
}


@pytest.mark.parametrize("case", WRONG)
def test_files_of_another_kind(sst_dir, case):
    text, message = WRONG[case]
    path = sst_dir / "sst" / "train.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}: {message}"):
        get_task("sst5").load(sst_dir)


def test_broken_trees_are_named_by_the_reader(sst_dir):
    path = sst_dir / "sst" / "dev.txt"
    path.write_text("(3 (2 a)\n", encoding="utf-8")
    with pytest.raises(TreeError, match=f"{re.escape(str(path))}:1"):
        get_task("sst5").load(sst_dir)


def test_wrong_names(sst_dir):
    with pytest.raises(DataError, match=f"unknown task 'sst3': expected one of {', '.join(TASKS)}"):
        get_task("sst3")
    with pytest.raises(DataError, match="unknown option 'neutral' of task sst5: it has no options"):
        get_task("sst5", neutral="mask")
    with pytest.raises(DataError, match=r"unknown option 'n' of task sst2: .* one of neutral"):
        get_task("sst2", n=1)
    with pytest.raises(DataError, match="unknown neutral 'drop': expected one of mask, class"):
        get_task("sst2", neutral="drop")
    with pytest.raises(DataError, match=r"sst5: unknown split 'trial': .* train, dev, test"):
        get_task("sst5").load(sst_dir, ["trial"])


def test_the_embedded_treebank_is_read_without_a_directory(monkeypatch):
    monkeypatch.delenv("GRAPHSENT_DATA", raising=False)
    data = get_task("sst5").load()
    assert data.source.counts == {"train": 3000, "dev": 500, "test": 1000}
    for trees in data.splits.values():
        assert {tree.labels[0] for tree in trees} == set("01234")
        assert "" not in chain.from_iterable(labels(trees))


@pytest.mark.data
def test_the_real_treebank(data_dir):
    data = get_task("sst5").load(data_dir)
    assert "published" not in data.source.summary()
    counts = Counter(chain.from_iterable(labels(data.splits["train"])))
    assert [counts[str(label)] for label in range(5)] == [8245, 34362, 219788, 44194, 11993]
    assert all(isinstance(tree, Tree) for tree in data.splits["dev"])


@pytest.mark.data
@pytest.mark.parametrize("neutral", ["mask", "class"])
def test_the_real_binary_task(data_dir, neutral):
    task = get_task("sst2", neutral=neutral)
    data = task.load(data_dir, ["dev", "test"])
    assert "published" not in data.source.summary()
    roots = [Counter(tree.labels[0] for tree in data.splits[split]) for split in ("dev", "test")]
    positive = str(len(task.label_names) - 1)
    assert roots == [{"0": 428, positive: 444}, {"0": 912, positive: 909}]


@pytest.mark.data
@pytest.mark.parametrize(("neutral_roots", "phrases"), [("drop", 67_349), ("phrases", 77_616)])
def test_labelled_phrases_of_the_real_treebank(data_dir, neutral_roots, phrases):
    task = get_task("sst2", neutral_roots=neutral_roots)
    train = task.load(data_dir, ["train"]).splits["train"]
    vocab = Vocabulary(["film"])
    model = KimCNN(vocab, 2, 4, maps=1)
    assert len(model.training_examples(train)) == phrases
    sentences = KimCNN(vocab, 2, 4, maps=1, phrases=False).training_examples(train)
    assert len(sentences) == 6920
