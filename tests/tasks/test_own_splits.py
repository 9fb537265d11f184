"""The task `own`: splits, held out of train or in files of their own, and folds."""

from __future__ import annotations

import json

import pytest
from own_files import own_examples, write_tsv

from graphsent.errors import DataError
from graphsent.tasks import get_task
from graphsent.tasks.own.splits import assign_splits


def words_of(data, split):
    return {" ".join(each.words) for each in data.splits[split]}


def test_dev_and_test_are_held_out(tsv):
    data = get_task("own", train=str(tsv)).load(tree_kind="words")
    splits = [words_of(data, split) for split in ("train", "dev", "test")]
    assert list(map(len, splits)) == [48, 6, 6]
    assert set.union(*splits) == {text for _, text in own_examples()}
    for split in ("train", "dev", "test"):
        labels = [each.label for each in data.splits[split]]
        assert labels.count("0") == labels.count("1")


def test_the_split_depends_on_its_seed_and_not_on_the_order(tsv, tmp_path):
    turned = write_tsv(tmp_path / "turned.tsv", own_examples()[::-1])
    first, again, other = (
        words_of(get_task("own", **options).load(tree_kind="words"), "dev")
        for options in (
            {"train": str(tsv)},
            {"train": str(turned)},
            {"train": str(tsv), "split_seed": 1},
        )
    )
    assert first == again
    assert first != other


def test_the_split_never_changes(tsv):
    # Users' results depend on it.
    data = get_task("own", train=str(tsv), split_seed=3).load(tree_kind="words")
    lines = {split: [place.line for place in data.places[split]] for split in ("dev", "test")}
    assert lines == {"dev": [5, 13, 14, 22, 34, 50], "test": [9, 17, 25, 32, 42, 54]}
    data = get_task("own", train=str(tsv), fold=2, split=0).load(splits=["test"], tree_kind="words")
    assert [place.line for place in data.places["test"]] == [2, 18, 23, 32, 43, 60]


def test_the_same_text_falls_on_one_side(tmp_path):
    rows = [(label, form) for label, text in own_examples() for form in (text, text.upper() + " !")]
    rows += [("neg", "A good  film"), ("pos", "café"), ("neg", "cafe\u0301")]
    data = get_task("own", train=str(write_tsv(tmp_path / "a", rows))).load(tree_kind="words")
    letters = [
        {"".join(filter(str.isalnum, text.casefold())) for text in words_of(data, split)}
        for split in ("train", "dev", "test")
    ]
    assert not letters[0] & letters[1]
    assert not letters[0] & letters[2]
    assert not letters[1] & letters[2]
    assert sum(map(len, data.splits.values())) == len(rows)


def test_a_text_that_is_repeated_more_often_than_the_share_stays_in_train():
    digests = [*[b"a"] * 8, b"b", b"c"]
    found = assign_splits(digests, ["pos"] * 10, {"dev": 0.1})
    assert found == [*["train"] * 8, "dev", "train"]


@pytest.mark.parametrize("labels", [["pos", "neg"], ["neg", "pos"]])
def test_a_text_with_several_labels_counts_for_the_first_one(labels):
    digests = [b"a", b"a", *(bytes([each]) for each in b"bcdefg")]
    found = assign_splits(digests, [*labels, "neg", *["pos"] * 5], {"dev": 0.3})
    assert found == [*["train"] * 3, "dev", "dev", *["train"] * 3]


def test_held_out_examples_are_held_out_again(tsv):
    data = get_task("own", train=str(tsv), split_seed=3).load(tree_kind="words")
    task = get_task("own", train=str(tsv))
    task.held_out = json.loads(json.dumps(data.held_out))
    assert task.load(tree_kind="words").splits == data.splits
    lines = task.held_out["held_out_of_train"][0]["dev"]
    assert [place.line for place in data.places["dev"]] == lines
    write_tsv(tsv, own_examples()[1:])
    again = get_task("own", train=str(tsv))
    again.held_out = data.held_out
    with pytest.raises(
        DataError, match=r"my\.tsv has changed since the run held out some of its lines"
    ):
        again.load(tree_kind="words")
    again.held_out = {"held_out_of_train": data.held_out["held_out_of_train"] * 2}
    with pytest.raises(DataError, match="the run's saved splits are of 2 files, not 1"):
        again.load(tree_kind="words")
    for damaged in ([{"dev": [3]}], [{"sha256": "0", "dev": 3}], ["0"], 3, None):
        again.held_out = {"held_out_of_train": damaged}
        with pytest.raises(DataError, match="the run's saved splits are damaged"):
            again.load(tree_kind="words")


def test_splits_in_separate_files(tsv, tmp_path):
    dev = write_tsv(tmp_path / "dev.tsv", own_examples()[:4])
    data = get_task("own", train=str(tsv), dev=str(dev)).load(tree_kind="words")
    assert [len(data.splits[split]) for split in ("train", "dev", "test")] == [54, 4, 6]
    (tmp_path / "a.txt").write_bytes(tsv.read_bytes())
    (tmp_path / "b.txt").write_bytes(dev.read_bytes())
    files = {"pos": str(tmp_path / "a.txt"), "neg": str(tmp_path / "b.txt")}
    data = get_task("own", train=files, dev=str(dev), test=str(dev)).load(tree_kind="words")
    assert len(data.splits["train"]) == 64
    assert data.held_out is None
    assert data.places["train"][61] == (tmp_path / "b.txt", 2)


def test_folds_of_train(tsv, tmp_path):
    texts = []
    for fold in range(5):
        task = get_task("own", train=str(tsv), fold=fold, num_folds=5)
        data = task.load(tree_kind="words")
        assert [len(data.splits[split]) for split in ("train", "dev", "test")] == [44, 4, 12]
        labels = [each.label for each in data.splits["test"]]
        assert labels.count("0") == labels.count("1")
        texts += words_of(data, "test")
        assert data.source.describe()["splits"]["test"]["held_out_of_train"] == 0.2
        again = get_task("own", **task.options)
        again.held_out = json.loads(json.dumps(data.held_out))
        assert again.load(tree_kind="words").splits == data.splits
    assert sorted(texts) == sorted(text for _, text in own_examples())
    dev = write_tsv(tmp_path / "dev.tsv", own_examples()[:4])
    data = get_task("own", train=str(tsv), dev=str(dev), fold=0).load(tree_kind="words")
    assert [len(data.splits[split]) for split in ("train", "dev", "test")] == [54, 4, 6]


def test_folds_of_texts_without_letters(tmp_path):
    signs = ["😀", "😁", "😂", "🤣", "😃", "😄", "😅", "😆"]
    rows = [(str(i % 2), f"{one} {other}") for one in signs for i, other in enumerate(signs)]
    train = write_tsv(tmp_path / "signs.tsv", rows)
    texts = []
    for fold in range(4):
        data = get_task("own", train=str(train), fold=fold, num_folds=4).load(tree_kind="words")
        assert len(data.splits["test"]) == 16
        texts += words_of(data, "test")
    assert sorted(texts) == sorted(text for _, text in rows)


def test_data_without_a_test_split(tsv, tmp_path):
    dev = write_tsv(tmp_path / "dev.tsv", own_examples()[:4])
    task = get_task("own", train=str(tsv), dev=str(dev), split=0)
    assert task.available == ("train", "dev")
    assert len(task.load(splits=("train",), tree_kind="words").splits["train"]) == 60
    with pytest.raises(DataError, match="there is no test split: the data have train and dev"):
        task.load(tree_kind="words")
    with pytest.raises(DataError, match="unknown split 'trial'"):
        task.load(splits=("trial",), tree_kind="words")


@pytest.mark.parametrize("streamed", [False, True])
def test_splits_of_pairs_and_of_sentences_do_not_mix(tsv, tmp_path, streamed):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("label\ttext1\ttext2\npos\ta\tb\n")
    expected = r"pairs\.tsv:2: expected a sentence as in the other splits, got a pair of sentences"
    task = get_task("own", train=str(tsv), dev=str(pairs), split=0)

    def stream(**options):
        return [[*examples()] for examples in task.stream(**options).splits.values()]

    read = stream if streamed else task.load
    with pytest.raises(DataError, match=expected):
        read(splits=("train", "dev"), tree_kind="words")


def test_too_little_for_a_test_split(tmp_path):
    rows = [("pos", "x"), ("neg", "y")]
    train, dev = (str(write_tsv(tmp_path / name, rows)) for name in ("train.tsv", "dev.tsv"))
    task = get_task("own", train=train, dev=dev)
    with pytest.raises(DataError, match=r" as test: add --test FILE, .* do without \(--split 0\)$"):
        task.load(tree_kind="words")


def test_nothing_is_held_out_of_a_stream(tsv):
    whole = get_task("own", train=str(tsv), split=0).load(splits=("train",), tree_kind="words")
    task = get_task("own", train=str(tsv))
    stream = task.stream(splits=("train",), tree_kind="words")
    assert list(stream.splits["train"]()) == whole.splits["train"]
    assert task.available == ("train",)


def test_scores_are_held_out_whatever_they_are(tmp_path):
    train = write_tsv(tmp_path / "train.tsv", [(f"{i}.5", f"text {i}") for i in range(30)])
    task = get_task("own", train=str(train), regression=True)
    assert task.goal == "regression"
    counts = task.load(tree_kind="words").source.counts
    assert counts == {"train": 24, "dev": 3, "test": 3}
