"""Questions and tweets: classes, tokens, the held-out dev split, parses, errors."""

from __future__ import annotations

import csv
import gzip
import zipfile

import numpy as np
import pytest

from graphsent.errors import DataError
from graphsent.sentences import Sentence
from graphsent.tasks import INPUT_KINDS, build_vocabulary, get_task
from graphsent.tasks.held_out import held_out
from graphsent.tasks.parses import root_label
from graphsent.tokenizers import tokenize_tweet
from graphsent.trees import DependencyTree, Tree

QUESTIONS = [
    "NUM:date When did Anna paint ?",
    "HUM:ind Who didn 't sing or won 't ?",
    "DESC:def What is a sister\xf0city ?",
]
NUM_COPIES = 10  # ten of each: one in ten is held out
TREE = "LABEL\t(ROOT (S (A When) (B did) (C Anna) (D paint) (E ?)))\n"
NEGATIVE, NEUTRAL, POSITIVE = (
    f'"{polarity}","1","a day","a query","anna","{text}"'
    for polarity, text in (("0", "so baaaad"), ("2", "a fact"), ("4", "@bob good, &amp; new"))
)


@pytest.fixture
def questions(tmp_path, monkeypatch):
    """TREC's questions in NLTK's archive, and parses beside it."""
    monkeypatch.delenv("GRAPHSENT_PARSES", raising=False)
    folder = tmp_path / "nltk_data" / "corpora"
    folder.mkdir(parents=True)
    train = [
        line.replace("Anna", f"Anna{number}").replace("sing", f"sing{number}")
        for number in range(NUM_COPIES)
        for line in QUESTIONS
    ]
    with zipfile.ZipFile(folder / "qc.zip", "w") as archive:
        for split, lines in (("train", train), ("test", QUESTIONS)):
            archive.writestr(f"qc/{split}.txt", "\n".join(lines).encode("latin-1") + b"\n")
    return tmp_path


def write_embedded(directory, lines, trees=""):
    for folder in ("questions", "parses"):
        (directory / folder).mkdir(exist_ok=True)
    for split in ("train", "dev", "test"):
        (directory / "questions" / f"{split}.txt").write_text("\n".join([*lines, ""]))
        path = directory / "parses" / f"questions.{split}.trees.gz"
        path.write_bytes(gzip.compress(trees.encode()))


def write_tweets(directory, train, test):
    (directory / "twitter").mkdir(exist_ok=True)
    for name, rows in (
        ("training.20000.processed.noemoticon.csv", train),
        ("testdata.manual.2009.06.14.csv", test),
    ):
        (directory / "twitter" / name).write_text("\n".join(rows))


def test_questions_in_an_archive(questions):
    task = get_task("trec")
    data = task.load(questions, tree_kind="words")
    assert data.source.counts == {"train": 27, "dev": 3, "test": 3}
    assert data.source.remarks == ()  # not TREC's, but at its path
    expected = {
        "When did Anna paint ?": "5",
        "Who did n't sing or wo n't ?": "3",
        "What is a sister\xf0city ?": "1",
    }
    assert data.splits["test"] == [
        Sentence(text.split(), label) for text, label in expected.items()
    ]
    assert task.label_names == ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
    assert not task.ordered_classes
    summary = data.source.summary()
    counts = "train 27, published: 4,907, dev 3, held out of train, test 3, published: 500"
    assert f"({counts})" in summary
    assert "qc.zip" in summary
    described = data.source.describe()
    assert described["dev_held_out_of_train"] == 0.1
    assert described["splits"]["dev"]["sha256"] == described["splits"]["train"]["sha256"]
    vocab, _ = build_vocabulary(data.splits["train"])
    assert "n't" in vocab


def test_the_dev_split_depends_on_the_seed_alone(questions):
    def dev(seed, splits=("train", "dev")):
        data = get_task("trec", split_seed=seed).load(questions, splits, tree_kind="words")
        return data.splits["dev"]

    assert dev(0) == dev(0, ["dev"])
    assert any(dev(0) != dev(seed) for seed in range(1, 9))


def test_the_held_out_dev_split():
    texts = [f"question {number}" for number in range(200)]
    chosen = held_out(texts, 0.1, seed=0)
    assert chosen.sum() == 20
    assert not np.array_equal(chosen, held_out(texts, 0.1, seed=1))
    backwards = held_out(texts[::-1], 0.1, seed=0)
    np.testing.assert_array_equal(backwards[::-1], chosen)
    written_otherwise = [f"Question ' {number} !" for number in range(200)]
    np.testing.assert_array_equal(held_out(written_otherwise, 0.1, seed=0), chosen)
    # Repeated sentences fall on one side, except at the boundary.
    twice = held_out([*texts, *texts], 0.1, seed=0)
    assert np.count_nonzero(twice[:200] != twice[200:]) <= 1


def test_the_held_out_dev_split_never_changes():
    # Published results depend on it.
    chosen = held_out([f"Question {number} ?" for number in range(100)], 0.1, seed=1)
    assert np.flatnonzero(chosen).tolist() == [8, 23, 44, 54, 69, 70, 77, 85, 86, 96]


def test_nothing_is_held_out_of_test(tmp_path):
    write_tweets(tmp_path, [NEGATIVE] * 10, [POSITIVE] * 20)
    source = get_task("twitter").load(tmp_path, tree_kind="words").source
    assert source.counts == {"train": 9, "dev": 1, "test": 20}


def test_too_few_examples_for_a_dev_split(tmp_path):
    write_tweets(tmp_path, [NEGATIVE] * 4, [POSITIVE])
    with pytest.raises(DataError, match=r"\.csv: too few examples to hold out a dev split"):
        get_task("twitter").load(tmp_path, tree_kind="words")
    write_tweets(tmp_path, [NEGATIVE] * 10, [NEUTRAL])
    with pytest.raises(DataError, match=r"testdata.*\.csv: no examples for task twitter"):
        get_task("twitter").load(tmp_path, ["test"], tree_kind="words")


def test_fine_classes(tmp_path):
    write_embedded(tmp_path, QUESTIONS[:2])
    task = get_task("trec", classes="fine")
    train = task.load(tmp_path, tree_kind="words").splits["train"]
    assert [task.label_names[int(each.label)] for each in train] == ["NUM:date", "HUM:ind"]
    assert len(task.label_names) == len(set(task.label_names)) == 50


def test_a_parse_has_the_class_at_its_root(tmp_path):
    write_embedded(tmp_path, QUESTIONS[:1], TREE)
    (tree,) = get_task("trec").load(tmp_path).splits["dev"]
    assert tree == Tree.from_string("(5 (S (A When) (B did) (C Anna) (D paint) (E ?)))")


@pytest.mark.parametrize(
    ("lines", "trees", "message"),
    [
        (["NUM:dates When ?"], "", r"questions.train\.txt:1: expected a question class"),
        ([QUESTIONS[0], "NUM:date"], "", r"train\.txt:2: .* got 'NUM:date'"),
        ([QUESTIONS[0], ""], "", r"train\.txt:2: expected a question class .*, got ''"),
        (QUESTIONS[:2], TREE, r"trees\.gz has 1 sentences, but .*train\.txt has 2"),
        (["NUM:date When did Anna sing ?"], TREE, "but the one in .* is 'When did Anna sing"),
    ],
)
def test_errors_in_questions_are_named(tmp_path, lines, trees, message):
    write_embedded(tmp_path, lines, trees)
    with pytest.raises(DataError, match=message):
        get_task("trec").load(tmp_path)


def test_options_are_checked():
    with pytest.raises(DataError, match="unknown classes 'all': expected one of coarse, fine"):
        get_task("trec", classes="all")


@pytest.mark.parametrize("kind", INPUT_KINDS)
def test_the_embedded_questions(kind, repository):
    data = get_task("trec").load(repository / "data", ["dev"], tree_kind=kind)
    expected = {"words": Sentence, "constituency": Tree, "dependency": DependencyTree}
    assert {type(each) for each in data.splits["dev"]} == {expected[kind]}
    roots = [each.labels[int(np.argmin(each.depths))] for each in data.splits["dev"]]
    assert set(roots) == set("012345")
    if kind != "constituency":  # whose nodes have the parser's labels
        assert {sum(map(bool, each.labels)) for each in data.splits["dev"]} == {1}
    assert data.source.counts == {"dev": 150}


def test_neutral_tweets_are_left_out_and_others_tokenized(tmp_path):
    write_tweets(tmp_path, [NEGATIVE] * 10 + [POSITIVE] * 10, [NEGATIVE, NEUTRAL, POSITIVE])
    data = get_task("twitter").load(tmp_path, tree_kind="words")
    assert data.source.counts == {"train": 18, "dev": 2, "test": 2}
    assert "(train 18, published: 18,000, dev 2, held out of train, " in data.source.summary()
    negative, positive = data.splits["test"]
    assert negative == Sentence(["so", "baad"], "0")
    assert positive == Sentence(["username", "good", ",", "&", "new"], "1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I'm soooo HAPPY!!!", "i 'm soo happy ! ! !"),
        ("we can't, they'll", "we ca n't , they 'll"),
        ("www.a.b/c  http://x.y/z @Bob_1", "url url username"),
        ("555-000 :) it's", "555-000 :) it 's"),
        ("'s @", "' s @"),
        ("   ", ""),
    ],
)
def test_tokens_of_tweets(text, words):
    assert tokenize_tweet(text) == words.split()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (POSITIVE.replace('"4"', '"3"'), r"csv:2: expected 6 columns, the first of them 0, 2 or 4"),
        ('"0","1","a text"', r"csv:2: expected 6 columns"),
        ('"0","' + "x" * 140_000, r"csv:2: field larger than .*: is a quote never closed\?"),
    ],
)
def test_errors_in_tweets_are_named(tmp_path, row, message):
    write_tweets(tmp_path, [NEGATIVE, row], [POSITIVE])
    limit = csv.field_size_limit(131_072)  # that of a new process
    with pytest.raises(DataError, match=message):
        get_task("twitter").load(tmp_path, tree_kind="words")
    csv.field_size_limit(limit)


def test_the_treebank_stands_in_for_tweets(repository):
    data = get_task("twitter").load(repository / "data", tree_kind="words")
    trees = get_task("sst2").load(repository / "data").splits["test"]
    sentences = data.splits["test"]
    assert [each.label for each in sentences] == [tree.labels[0] for tree in trees]
    assert {each.label for each in sentences} == {"0", "1"}
    words = [" ".join(tree.words).lower() for tree in trees]
    assert [" ".join(each.words) for each in sentences] == words
    assert data.source.corpus.name == "sentiment"


def test_missing_files_and_trees_of_a_corpus(tmp_path):
    with pytest.raises(DataError, match=r"no twitter/training\.1600000.*; .* sample of 20,000"):
        get_task("twitter").load(tmp_path, tree_kind="words")
    write_tweets(tmp_path, [NEGATIVE], [POSITIVE])
    with pytest.raises(
        DataError, match="sample of 20,000 tweets cannot be read as constituency: it has words"
    ):
        get_task("twitter").load(tmp_path)


def test_a_damaged_archive(questions):
    (questions / "nltk_data" / "corpora" / "qc.zip").write_bytes(b"no archive")
    with pytest.raises(DataError, match=r"cannot read .*qc\.zip"):
        get_task("trec").load(questions, tree_kind="words")


def test_sentences_are_like_trees_of_one_node():
    sentence = Sentence(("a", "film"), "3")
    assert (sentence.words, sentence.labels, sentence.num_nodes) == (["a", "film"], ("3",), 1)
    assert sentence.spans.tolist() == [[0, 2]]
    assert (sentence.parents.tolist(), sentence.depths.tolist()) == ([-1], [0])
    assert sentence == Sentence(["a", "film"], "3") != Sentence(["a", "film"])
    assert len({sentence, Sentence(["a", "film"], "3")}) == 1
    assert eval(repr(sentence)) == sentence
    assert Sentence([]).spans.tolist() == [[0, 0]]
    with pytest.raises(DataError, match="got one string: 'a film'"):
        Sentence("a film")
    with pytest.raises(DataError, match="label: expected a string, got 3"):
        Sentence(["a"], 3)
    with pytest.raises(DataError, match="word 2: expected a non-empty string, got ''"):
        Sentence(["a", ""])


@pytest.mark.data
@pytest.mark.parametrize("kind", INPUT_KINDS)
def test_the_real_questions(kind, data_dir, parses_dir):
    data = get_task("trec").load(data_dir, tree_kind=kind, parses_dir=parses_dir)
    assert data.source.counts == {"train": 4907, "dev": 545, "test": 500}
    remarks = data.source.describe()["remarks"]
    assert "10 of the 500 test questions are also among the training questions" in remarks[0]
    assert ["was trained on 498 of the 500" in remark for remark in remarks[1:]] == (
        [True] if kind == "constituency" else []
    )
    assert remarks[0] in data.source.summary()
    words = [each.words for each in data.splits["dev"]]
    plain = get_task("trec").load(data_dir, ["dev"], tree_kind="words").splits["dev"]
    assert [each.words for each in plain] == [
        [word.replace("-LRB-", "(").replace("-RRB-", ")") for word in each] for each in words
    ]


@pytest.mark.data
def test_test_questions_that_are_in_train(data_dir):
    splits = get_task("trec").load(data_dir, tree_kind="words").splits
    known = {tuple(each.words) for split in ("train", "dev") for each in splits[split]}
    assert sum(tuple(each.words) in known for each in splits["test"]) == 10


@pytest.mark.data
@pytest.mark.parametrize("kind", INPUT_KINDS)
def test_the_real_fine_classes(kind, data_dir, parses_dir):
    task = get_task("trec", classes="fine")
    data = task.load(data_dir, tree_kind=kind, parses_dir=parses_dir)
    labels = [root_label(each) for split in data.splits.values() for each in split]
    assert len(set(labels)) == len(task.label_names) == 50


@pytest.mark.data
def test_the_real_tweets(data_dir):
    data = get_task("twitter").load(data_dir, ["test"], tree_kind="words")
    labels = [each.label for each in data.splits["test"]]
    assert (labels.count("0"), labels.count("1")) == (177, 182)
