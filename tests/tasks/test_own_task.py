"""The task `own`: labels, what it reads, streams, and its descriptions."""

from __future__ import annotations

import pickle

import pytest
from own_files import own_examples, write_tsv

from graphsent.errors import DataError
from graphsent.sentences import Sentence
from graphsent.tasks import get_task
from graphsent.trees import DependencyTree


def test_labels_are_those_of_the_file(tsv):
    task = get_task("own", train=str(tsv))
    data = task.load(tree_kind="words")
    assert task.label_names == ("neg", "pos")
    assert set(data.splits["train"]) >= {Sentence(["a", "good", "film"], "1")}
    assert {each.label for each in data.splits["train"]} == {"0", "1"}


def test_the_task_can_be_sent_to_another_process(tsv):
    task = get_task("own", train=str(tsv))
    data = task.load(tree_kind="words")
    sent = pickle.loads(pickle.dumps(task))
    assert sent.label_names == task.label_names
    assert sent.load(tree_kind="words").splits == data.splits


def test_numeric_labels_are_sorted(tmp_path):
    rows = [(label, f"text {label}") for label in ("10", "9", "-1", "2")] * 5
    assert get_task("own", train=str(write_tsv(tmp_path / "a", rows))).label_names == (
        "-1",
        "2",
        "9",
        "10",
    )
    same = [(label, f"text {label}") for label in ("1.0", "01", "1.00", "1")] * 5
    labels = get_task("own", train=str(write_tsv(tmp_path / "b", same))).label_names
    assert labels == ("01", "1", "1.0", "1.00")


def test_only_numeric_labels_are_ordered(tsv, tmp_path):
    rows = [(label, f"text {label}") for label in ("10", "9")] * 5
    assert get_task("own", train=str(write_tsv(tmp_path / "a", rows))).ordered_classes
    assert not get_task("own", train=str(tsv)).ordered_classes


def test_a_text_in_which_the_tokenizer_finds_no_words(tmp_path):
    path = write_tsv(tmp_path / "my.tsv", [*own_examples(), ("pos", "&nbsp;")])
    task = get_task("own", train=str(path))
    task.tokenizer = "tweet"
    with pytest.raises(DataError, match=r"my\.tsv:61: the text '&nbsp;' has no words"):
        task.load(tree_kind="words")


def test_a_label_that_is_not_in_train(tsv, tmp_path):
    dev = write_tsv(tmp_path / "dev.tsv", [("pos", "good"), ("negg", "bad")])
    with pytest.raises(DataError, match=r"dev\.tsv:2: unknown label 'negg': .* 'neg'"):
        get_task("own", train=str(tsv), dev=str(dev)).load(tree_kind="words")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no examples: expected labelled sentences"),
        ([("a b", "x")], "all 1 examples have the label 'a b': expected at least two labels"),
        (
            [("pos", "x"), ("neg", "y")],
            "too few distinct examples of each label to hold out 0.1 of them as dev: add --dev",
        ),
        (
            [(f"class {i % 30}", f"text {i}") for i in range(120)],
            r"examples of each label to hold out 0.1 of them as dev: .* hold out more \(--split\)",
        ),
        (
            [(text, label) for label, text in own_examples()],
            "60 different labels in 60 examples, .* name the right column with --label-column",
        ),
        ([(str(i / 7), "x") for i in range(30)], "30 different labels .* add --regression"),
        ([(str(i or "a"), "x") for i in range(30)], "30 different labels .* the right column"),
    ],
)
def test_nothing_to_learn(tmp_path, rows, message):
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, text in rows))
    with pytest.raises(DataError, match=message):
        get_task("own", train=str(path)).load(tree_kind="words")


@pytest.mark.parametrize(
    ("examples", "labels", "are_classes"), [(20, 10, True), (20, 11, False), (19, 19, True)]
)
def test_labels_that_may_be_classes(tmp_path, examples, labels, are_classes):
    rows = [(f"label {i % labels}", f"text {i}") for i in range(examples)]
    task = get_task("own", train=str(write_tsv(tmp_path / "a", rows)))
    if are_classes:
        assert len(task.label_names) == labels
    else:
        with pytest.raises(DataError, match="11 different labels in 20 examples"):
            _ = task.label_names


def test_labels_of_pairs_in_dev(tmp_path):
    train, dev = tmp_path / "train.tsv", tmp_path / "dev.tsv"
    rows = ["label\ttext1\ttext2", "pos\ta\tb", "neg\tc\td"]
    for path, lines in ((train, rows), (dev, rows[:2])):
        path.write_text("\n".join([*lines, ""]))
    assert not get_task("own", train=str(train), dev=str(train), split=0).checked().problems
    (problem,) = get_task("own", train=str(train), dev=str(dev), split=0).checked().problems
    assert problem.startswith("dev: all 1 examples have the label 'pos': expected several")


def test_another_file_is_tokenized_as_the_data_are(tsv, tmp_path):
    other = tmp_path / "other.tsv"
    other.write_text("pos\tgood, really\n")
    task = get_task("own", train=str(tsv))
    task.tokenizer = "whitespace"
    assert task.read(other) == [Sentence(["good,", "really"], "1")]


def test_a_stream_is_of_one_kind(tmp_path):
    """In memory, a model of words also reads sentences without labelled phrases among others."""
    word = "{}\t{}\t_\t_\t_\t_\t{}\t_\t_\t{}\n"
    path = tmp_path / "my.conllu"
    path.write_text(
        "".join(
            f"# label = {label}\n"
            + word.format(1, f"film{number}", 0, "_")
            + word.format(2, "works", 1, "Label=pos" if number < 2 else "_")
            + "\n"
            for number, label in enumerate(["pos", "neg"] * 2)
        )
    )
    task = get_task("own", train=str(path), split=0.0)
    kinds = [type(each) for each in task.load(splits=("train",), tree_kind="words").splits["train"]]
    assert kinds == [DependencyTree] * 2 + [Sentence] * 2
    message = (
        r"my\.conllu:9: expected a dependency tree with labelled phrases as before, got a sentence "
        "without labelled phrases: with --stream, the examples of a split must be of one kind"
    )
    with pytest.raises(DataError, match=message):
        list(task.stream(splits=("train",), tree_kind="words").splits["train"]())


def test_it_streams_what_it_loads(tsv):
    task = get_task("own", train=str(tsv), dev=str(tsv), test=str(tsv))
    data, stream = task.load(tree_kind="words"), task.stream(tree_kind="words")
    for split, examples in data.splits.items():
        assert list(stream.splits[split]()) == examples


def test_descriptions_in_the_log_and_results(tsv):
    source = get_task("own", train=str(tsv)).load(tree_kind="words").source
    assert source.summary() == (
        "train 48 of my.tsv, dev 6 held out of train, test 6 held out of train; 2 labels in train: "
        "neg 24, pos 24"
    )
    source.labels["train"].pop("neg")
    assert source.summary().endswith("; 1 label in train: pos 24")
    described = source.describe()["splits"]
    assert described["dev"]["labels"] == {"neg": 3, "pos": 3}
    assert described["dev"]["held_out_of_train"] == 0.1
    assert len(described["train"]["files"][0]["sha256"]) == 64


def test_scores_are_described_by_their_range(tmp_path):
    rows = [("9", "a film"), ("-2", "a play"), ("10.5", "a book"), ("9", "a song")]
    train, dev = write_tsv(tmp_path / "train.tsv", rows), write_tsv(tmp_path / "dev.tsv", rows[:2])
    task = get_task("own", train=str(train), dev=str(dev), regression=True, split=0)
    source = task.load(splits=("train", "dev"), tree_kind="words").source
    assert source.summary() == (
        "train 4 of train.tsv, dev 2 of dev.tsv; scores from -2 to 10.5 in train"
    )
    described = source.describe()["splits"]
    assert (described["train"]["scores"], described["dev"]["scores"]) == ([-2, 10.5], [-2, 9])
    assert "labels" not in described["train"]
    assert [file["path"] for file in described["dev"]["files"]] == [str(dev)]
