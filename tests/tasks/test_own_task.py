"""The task `own`: labels, splits, trees, and its descriptions."""

from __future__ import annotations

import json
import pickle

import pytest
from own_files import own_examples, write_trees, write_tsv

from graphsent.errors import DataError
from graphsent.sentences import Sentence
from graphsent.tasks import get_task
from graphsent.tasks.own.reader import OwnFile, read_examples
from graphsent.tasks.own.splits import assign_splits
from graphsent.trees import DependencyTree, Tree


@pytest.fixture
def tsv(tmp_path):
    return write_tsv(tmp_path / "my.tsv")


def words_of(data, split):
    return {" ".join(each.words) for each in data.splits[split]}


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


def test_a_text_in_which_the_tokenizer_finds_no_words(tmp_path):
    path = write_tsv(tmp_path / "my.tsv", [*own_examples(), ("pos", "&nbsp;")])
    task = get_task("own", train=str(path))
    task.tokenizer = "tweet"
    with pytest.raises(DataError, match=r"my\.tsv:61: the text '&nbsp;' has no words"):
        task.load(tree_kind="words")


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


def test_too_little_for_a_test_split(tmp_path):
    rows = [("pos", "x"), ("neg", "y")]
    train, dev = (str(write_tsv(tmp_path / name, rows)) for name in ("train.tsv", "dev.tsv"))
    task = get_task("own", train=train, dev=dev)
    with pytest.raises(DataError, match=r" as test: add --test FILE, .* do without \(--split 0\)$"):
        task.load(tree_kind="words")


def test_trees_beside_the_sentences(tsv, tmp_path):
    trees = str(write_trees(tmp_path / "trees.txt"))
    data = get_task("own", train=str(tsv), train_trees=[trees]).load()
    tree = data.splits["train"][0]
    assert isinstance(tree, Tree)
    assert tree.labels[0] in ("0", "1")
    assert set(tree.labels[1:]) == {""}
    write_trees(tmp_path / "trees.txt", own_examples()[:59])
    with pytest.raises(DataError, match=r"has only 59 trees, but .* has more sentences"):
        get_task("own", train=str(tsv), train_trees=[trees]).load()
    write_trees(tmp_path / "trees.txt", [*own_examples(), ("neg", "one too many")])
    with pytest.raises(DataError, match="has more trees than the 60 sentences"):
        get_task("own", train=str(tsv), train_trees=[trees]).load()
    write_trees(tmp_path / "trees.txt", own_examples()[::-1])
    with pytest.raises(DataError, match=r"trees\.txt:1: the tree is of 'a awful idea', but"):
        get_task("own", train=str(tsv), train_trees=[trees]).load()


@pytest.mark.parametrize(
    ("text", "of_tree", "difference"),
    [
        ("good film", "bad film", "'badfilm' and 'goodfilm'"),
        ("good film", "good films", "'dfilms' and 'dfilm'"),
        (
            "a very good film of the year",
            "a very good plan of it",
            "'ygoodplanofit' and 'ygoodfilmofthey'",
        ),
    ],
)
def test_where_a_tree_differs_from_its_sentence(tsv, tmp_path, text, of_tree, difference):
    other, trees = tmp_path / "other.tsv", tmp_path / "other.trees"
    other.write_text(f"pos\t{text}\n")
    trees.write_text(f"(S {' '.join(f'(W {word})' for word in of_tree.split())})\n")
    with pytest.raises(DataError, match=f": the first letters that differ are in {difference}$"):
        get_task("own", train=str(tsv)).read(other, [trees])


def test_pairs_have_two_files_of_trees(tmp_path):
    pairs, trees = tmp_path / "pairs.tsv", tmp_path / "trees.txt"
    pairs.write_text("label\ttext1\ttext2\npos\ta\tb\n")
    trees.write_text("(S (A a) (B b))\n")
    task = get_task("own", train=str(pairs), train_trees=[str(trees)])
    with pytest.raises(DataError, match="one file of trees for each of 2 text columns, got 1"):
        task.load()


def test_another_file_and_its_trees_as_parse_writes_them(tsv, tmp_path):
    other, trees = tmp_path / "other.tsv", tmp_path / "other.trees"
    other.write_text("pos\tgood film\nneg\tbad film\n")
    trees.write_text("pos\t(S (A good) (B film))\nneg\t\nneg\t(S (A bad) (B film))\n")
    task = get_task("own", train=str(tsv))
    expected = [Sentence(["good", "film"], "1"), Sentence(["bad", "film"], "0")]
    assert task.read(other) == expected
    found = task.read(other, [trees])
    assert list(map(str, found)) == ["(1 ( good) ( film))", "(0 ( bad) ( film))"]
    trees.write_text("(neg (pos good) (neg film))\n( (pos bad) (neg film))\n")
    assert list(map(str, task.read(other, [trees]))) == list(map(str, found))  # no phrase labels
    trees.write_bytes(b"pos\t(S (A good) (B film))\ncaf\xe9\t\nneg\t(S (A bad) (B film))\n")
    with pytest.raises(DataError, match=r"other\.trees:2:4: 0xE9 is not valid UTF-8"):
        task.read(other, [trees])
    trees.write_text("pos\t(S (A good) (B film))\nneg\t(S (A bad\n")
    with pytest.raises(DataError, match=r"other\.trees:2: the bracket .* is not closed"):
        task.read(other, [trees])


def test_another_file_and_its_dependency_trees(tsv, tmp_path):
    other, trees = tmp_path / "other.tsv", tmp_path / "other.conllu"
    other.write_text("pos\tgood film\n")
    word = "{}\t{}\t_\t_\t_\t_\t{}\t_\t_\t_\n"
    trees.write_text(word.format(1, "good", 2) + word.format(2, "film", 0) + "\n")
    (tree,) = get_task("own", train=str(tsv)).read(other, [trees])
    assert tree == DependencyTree(["good", "film"], [1, -1], labels=["", "1"])


def test_trees_are_in_the_encoding_of_the_data(tsv, tmp_path):
    other, trees = tmp_path / "other.tsv", tmp_path / "other.trees"
    other.write_text("pos\tschöner Film\n", encoding="latin-1")
    trees.write_text("(S (A schöner) (B Film))\n", encoding="latin-1")
    (tree,) = get_task("own", train=str(tsv), encoding="latin-1").read(other, [trees])
    assert list(tree.words) == ["schöner", "Film"]


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


def test_phrase_labels_count_if_they_are_sentence_labels(tmp_path):
    path = tmp_path / "a.txt"
    line = "({0} (x a) ({0} (y {2}) (z {3})))\n"
    path.write_text("".join(line.format(label, *text.split()) for label, text in own_examples()))
    task = get_task("own", train=str(path))
    tree = task.load().splits["train"][0]
    assert tree.labels[0] == tree.labels[2]
    assert tree.labels[0] in ("0", "1")
    assert tree.labels[1] == tree.labels[3] == ""


def test_options_without_effect(tsv):
    with pytest.raises(DataError, match="--dev-trees needs the sentences, --dev FILE"):
        get_task("own", train=str(tsv), dev_trees=["trees.txt"])
    with pytest.raises(DataError, match="labels are for classification"):
        get_task("own", train=str(tsv), regression=True, labels=["1", "2"])


def test_a_model_of_trees_needs_trees(tsv, tmp_path):
    with pytest.raises(DataError, match=r"my\.tsv holds sentences, .*--train-trees FILE"):
        get_task("own", train=str(tsv)).load()
    trees = str(write_trees(tmp_path / "trees.txt"))
    message = r"the trees of \S+my\.tsv are constituency trees, but the model reads dependency"
    with pytest.raises(DataError, match=f"{message} trees: add --tree-kind constituency if it"):
        get_task("own", train=str(tsv), train_trees=trees).load(tree_kind="dependency")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "your own data need a training file"),
        ({"train": 3}, "train: expected a file, or a file for each label"),
        ({"train": ""}, "train: expected a file, or a file for each label, got ''"),
        ({"train": "a", "dev": ""}, "dev: expected a file, or a file for each label, got ''"),
        ({"train": {"x": "a", "x ": "b"}}, "train: expected different labels of one line"),
        ({"train": {" ": "a", "y": "b"}}, "train: expected different labels of one line"),
        ({"train": {"a\tb": "a", "y": "b"}}, "train: expected different labels of one line"),
        ({"train": {}}, "train: expected a file, or a file for each label"),
        ({"train": {"x": 3}}, "train: expected a file, or a file for each label"),
        ({"train": {"x": ""}}, "train: expected a file, or a file for each label"),
        ({"train": "a", "train_trees": ""}, r"train_trees: expected a list of names, got ''"),
        ({"train": "a", "split": 0.5}, "split: expected a share below 0.5"),
        ({"train": "a", "split": "0.1"}, "split: expected a share below 0.5, got '0.1'"),
        ({"train": "a", "split_seed": "1"}, "split_seed: expected an integer from 0, got '1'"),
        ({"train": "a", "num_folds": "5"}, "num_folds: expected an integer from 2, got '5'"),
        ({"train": "a", "fold": True}, "fold: expected 0 to 9, got True"),
        ({"train": "a", "encoding": 3}, "encoding: expected a name, got 3"),
        ({"train": "a", "split": float("nan")}, "split: expected a share"),
        ({"train": "a", "split_seed": -1}, "split_seed: expected an integer from 0"),
        ({"train": "a", "fold": 10}, "fold: expected 0 to 9, got 10"),
        ({"train": "a", "num_folds": 1}, "num_folds: expected an integer from 2, got 1"),
        ({"train": "a", "test": "b", "fold": 0}, "a fold of train, but there is also a test file"),
        ({"train": "a", "input": "texts"}, "unknown input 'texts'"),
        ({"train": "a", "text_column": ["a", "b", "c"]}, "text_column: expected one or two names"),
        ({"train": "a", "text_column": 3}, "text_column: expected a list of names"),
        ({"train": "a", "text_column": ["a", 3]}, "text_column: expected a list of names"),
        ({"train": "a", "label_column": 3}, "label_column: expected a string"),
        ({"train": "a", "regression": "yes"}, "regression: expected true or false"),
        ({"train": "a", "labels": "pos"}, "labels: expected one or more different names"),
        ({"train": "a", "labels": []}, "labels: expected one or more different names"),
        ({"train": "a", "labels": ["x", "x"]}, "labels: expected one or more different names"),
        ({"trian": "a"}, "unknown option 'trian' of task own: .* mean 'train'"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(DataError, match=message):
        get_task("own", **options)


def test_the_options_make_the_same_task_again(tsv):
    task = get_task("own", train=str(tsv), text_column="text", label_column="1", num_folds=2)
    again = get_task("own", **json.loads(json.dumps(task.options)))
    assert again.options == task.options
    assert task.options["text_column"] == ["text"]
    assert not {"labels", "dev", "train_trees"} & set(task.options)


def test_paths_are_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"train": "a.tsv", "dev": {"x": "b.txt"}, "dev_trees": "c.trees"}
    options = get_task("own", **given).options
    here = tmp_path.resolve()
    assert options["train"] == str(here / "a.tsv")
    assert options["dev"] == {"x": str(here / "b.txt")}
    assert options["dev_trees"] == [str(here / "c.trees")]


def test_nothing_is_held_out_of_a_stream(tsv):
    whole = get_task("own", train=str(tsv), split=0).load(splits=("train",), tree_kind="words")
    task = get_task("own", train=str(tsv))
    stream = task.stream(splits=("train",), tree_kind="words")
    assert list(stream.splits["train"]()) == whole.splits["train"]
    assert task.available == ("train",)


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


@pytest.mark.data
def test_movie_reviews_as_trees(parses_dir):
    data = get_task("own", train=str(parses_dir / "mr.trees.gz")).load()
    assert [len(data.splits[split]) for split in ("train", "dev", "test")] == [8530, 1066, 1066]
    first = next(read_examples(OwnFile(parses_dir / "mr.conllu.gz")))
    assert (first.label, first.contents[0].words[:2]) == ("neg", ("simplistic", ","))


def test_scores_are_held_out_whatever_they_are(tmp_path):
    train = write_tsv(tmp_path / "train.tsv", [(f"{i}.5", f"text {i}") for i in range(30)])
    task = get_task("own", train=str(train), regression=True)
    assert task.goal == "regression"
    counts = task.load(tree_kind="words").source.counts
    assert counts == {"train": 24, "dev": 3, "test": 3}


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
