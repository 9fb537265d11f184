"""Relatedness: reading pairs with their parses, vocabulary, errors, real and embedded data."""

from __future__ import annotations

import gzip

import pytest

from graphsent.errors import DataError
from graphsent.models import Sentence, TreePair
from graphsent.tasks import TREE_KINDS, build_vocabulary, get_task
from graphsent.trees import DependencyTree, Tree, unescape

HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
LINES = [
    HEADER,
    "1\tA man isn't here \tNobody (here) sings\t2.5\tNEUTRAL",
    '2\t"Dogs" run\tA dog runs\t4\tENTAILMENT',
]
A = "1\t(S (D A) (N man) (V is) (R n't) (A here))\n2\t(S (Q ``) (N Dogs) (Q '') (V run))\n"
B = "1\t(S (N Nobody) (B -LRB-) (A here) (B -RRB-) (V sings))\n2\t(S (D A) (N dog) (V runs))\n"


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.delenv("GRAPHSENT_PARSES", raising=False)
    (tmp_path / "relatedness").mkdir()
    (tmp_path / "parses").mkdir()
    write(tmp_path)
    return tmp_path


def write(directory, lines=LINES, first=A, second=B):
    for split in ("train", "dev", "test"):
        path = directory / "relatedness" / f"{split}.txt"
        path.write_bytes("\r\n".join([*lines, ""]).encode())
        for side, text in (("a", first), ("b", second)):
            path = directory / "parses" / f"relatedness.{split}.{side}.trees.gz"
            path.write_bytes(gzip.compress(text.encode()))


def test_pairs_have_the_parsers_words_and_a_score(data):
    loaded = get_task("sick").load(data)
    first, second = loaded.splits["dev"]
    assert isinstance(first, TreePair)
    assert first.first.words == ["A", "man", "is", "n't", "here"]
    assert first.second.words == ["Nobody", "-LRB-", "here", "-RRB-", "sings"]
    assert (first.score, second.score) == (2.5, 4.0)
    assert loaded.source.counts == {"train": 2, "dev": 2, "test": 2}
    assert len(loaded.source.describe()["splits"]["dev"]["parses"]) == 2


def test_reading_words_needs_no_parses(data):
    loaded = get_task("sick").load(data, tree_kind="words")
    first, second = loaded.splits["train"]
    assert first.first == Sentence(["A", "man", "is", "n't", "here"])
    assert first.second == Sentence(["Nobody", "(", "here", ")", "sings"])
    assert (second.first.words, second.score, second.label) == (["``", "Dogs", "''", "run"], 4, "2")
    assert loaded.source.describe()["tree_kind"] == "words"


def test_entailment(data):
    task = get_task("sick", target="entailment")
    assert task.goal == "classification"
    assert task.label_names == ("contradiction", "neutral", "entailment")
    assert task.options == {"target": "entailment"}
    pairs = task.load(data, tree_kind="words").splits["test"]
    assert [task.label_names[int(pair.label)] for pair in pairs] == ["neutral", "entailment"]


def test_the_vocabulary_is_of_both_sentences(data):
    vocab, _ = build_vocabulary(get_task("sick").load(data).splits["train"])
    assert {"man", "Nobody", "dog", "Dogs"} <= set(vocab.words)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lines": [HEADER.replace("_A", "")]}, r"train\.txt:1: expected a header .* 'sentence_A'"),
        ({"lines": [""]}, r"train\.txt:1: expected a header"),
        ({"lines": [*LINES[:2], "2\ta\tb"]}, r"train\.txt:3: expected 5 columns, got 3"),
        (
            {"lines": [HEADER, LINES[1].replace("2.5", "x")]},
            r"train\.txt:2: expected a number as the score, got 'x'",
        ),
        (
            {"lines": [HEADER, LINES[1].replace("2.5", "5.1")]},
            r"train\.txt:2: expected a score from 1 to 5, got 5.1",
        ),
        (
            {"lines": [HEADER, LINES[1].replace("2.5", "nan")]},
            r"train\.txt:2: expected a number as the score, got 'nan'",
        ),
        (
            {"lines": [HEADER, LINES[1].replace("2.5", "\u0663")]},
            r"train\.txt:2: expected a number as the score, got '\u0663'",
        ),
        (
            {"lines": [*LINES[:2], LINES[2].replace("A dog runs", " ")]},
            r"train\.txt:3: the text is empty",
        ),
        (
            {"lines": [f"{HEADER}\tsentence_A", LINES[1] + "\tx"]},
            r"train\.txt:1: expected a header with one column 'sentence_A'",
        ),
        (
            {"first": A + "3\t(A a)\n"},
            r"train\.a\.trees\.gz has 3 sentences, but .*train\.txt has 2",
        ),
        (
            {"second": B.replace("dog", "cat")},
            r"train\.b\.trees\.gz: sentence 2 is 'A cat runs', but the one in .* is 'A dog runs'",
        ),
        ({"lines": [HEADER], "first": "", "second": ""}, "no examples for task sick"),
    ],
)
def test_errors_are_named(data, changes, message):
    write(data, **changes)
    with pytest.raises(DataError, match=message):
        get_task("sick").load(data)


def test_unknown_targets_and_judgments(data):
    with pytest.raises(DataError, match=r"unknown target 'entailments'.*did you mean"):
        get_task("sick", target="entailments")
    write(data, [*LINES[:2], LINES[2].replace("ENTAILMENT", "YES")])
    with pytest.raises(DataError, match=r"train\.txt:3: unknown judgment of entailment 'YES'"):
        get_task("sick", target="entailment").load(data)


def test_there_are_no_trees_in_the_corpus_itself(data):
    missing = r"no dependency trees of .*relatedness\.train\.a\.conllu.*: graphsent train --parser"
    with pytest.raises(DataError, match=missing):
        get_task("sick").load(data, tree_kind="dependency")


@pytest.mark.parametrize("kind", TREE_KINDS)
def test_the_embedded_corpus(kind, repository, monkeypatch):
    monkeypatch.delenv("GRAPHSENT_PARSES", raising=False)
    loaded = get_task("sick").load(repository / "data", ["dev"], tree_kind=kind)
    assert loaded.source.corpus.name == "relatedness"
    assert len({pair.score for pair in loaded.splits["dev"]}) > 5


@pytest.mark.data
def test_the_real_corpus(data_dir, parses_dir):
    loaded = get_task("sick").load(data_dir, parses_dir=parses_dir)
    assert loaded.source.counts == {"train": 4500, "dev": 500, "test": 4927}
    train = loaded.splits["train"]
    assert {type(tree) for pair in train for tree in pair[:2]} == {Tree}
    assert sum(pair.score for pair in train) / len(train) == pytest.approx(3.521, abs=1e-3)
    assert train[0].score == 4.5


@pytest.mark.data
def test_the_real_corpus_with_dependency_trees(data_dir, parses_dir):
    task = get_task("sick")
    loaded = task.load(data_dir, ["dev"], tree_kind="dependency", parses_dir=parses_dir)
    dev = loaded.splits["dev"]
    assert len(dev) == 500
    assert {type(tree) for pair in dev for tree in pair[:2]} == {DependencyTree}


@pytest.mark.data
def test_words_of_the_real_corpus_are_those_of_its_trees(data_dir, parses_dir):
    task = get_task("sick")
    words = task.load(data_dir, tree_kind="words").splits
    trees = task.load(data_dir, parses_dir=parses_dir).splits
    count = 0
    for split, pairs in words.items():
        for plain, parsed in zip(pairs, trees[split], strict=True):
            assert plain[2:] == parsed[2:]
            for sentence, tree in zip(plain[:2], parsed[:2], strict=True):
                assert sentence.words == list(map(unescape, tree.words))
                count += 1
    assert count == 2 * 9927
