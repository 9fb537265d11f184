from __future__ import annotations

import json
import pickle
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsent.errors import DataError, GraphsentError
from graphsent.sentences import Sentence
from graphsent.vocabulary import UNKNOWN, Vocabulary

WORDS = st.lists(st.text(min_size=1).filter(lambda word: word != UNKNOWN), unique=True)


def trees(*sentences: str) -> list[SimpleNamespace]:
    return [SimpleNamespace(words=sentence.split()) for sentence in sentences]


@given(WORDS)
def test_indices_follow_the_order_of_the_words(words):
    vocab = Vocabulary(words)
    assert vocab.words == (UNKNOWN, *words)
    assert [vocab[word] for word in vocab] == list(range(len(vocab)))
    some = [*words[::2], "\0", UNKNOWN]
    assert list(vocab.indices(some)) == [vocab[word] for word in some]
    assert len(vocab) == len(words) + 1


@given(WORDS)
def test_json_words_and_pickle_give_the_same_vocabulary_back(words):
    vocab = Vocabulary(words)
    copies = [
        Vocabulary.from_json(vocab.to_json()),
        Vocabulary(vocab.words),
        pickle.loads(pickle.dumps(vocab)),
    ]
    assert all(copy == vocab and hash(copy) == hash(vocab) for copy in copies)


@given(WORDS, WORDS)
def test_union_keeps_indices_and_adds_each_new_word_once(first, second):
    vocab = Vocabulary(first)
    larger = vocab.union([*second, *second])
    assert larger.words[: len(vocab)] == vocab.words
    assert set(larger) == {UNKNOWN, *first, *second}


def test_unknown_words_have_index_zero_and_case_counts():
    vocab = Vocabulary(["film", "Film", "a\u00a0b"])
    assert (vocab["film"], vocab["Film"], vocab["a\u00a0b"], vocab["FILM"]) == (1, 2, 3, 0)
    assert "film" in vocab
    assert "FILM" not in vocab
    assert vocab[UNKNOWN] == 0


def test_a_word_not_known_as_written_is_looked_up_in_lower_case():
    vocab = Vocabulary(["film", "Film", "good", "STRASSE", "<UNK>"], lower_fallback=True)
    words = ["film", "Film", "FILM", "Good", "strasse", "STRASSE", "bad", UNKNOWN]
    indices = [1, 2, 1, 3, 0, 4, 0, 0]
    assert [vocab[word] for word in words] == indices
    assert list(vocab.indices(words)) == indices
    assert list(vocab.unknown(words)) == ["strasse", "bad"]
    assert "FILM" not in vocab
    assert len(vocab) == 6  # looking up adds nothing
    exact = Vocabulary(vocab.words)
    assert [exact[word] for word in words] == [1, 2, 0, 0, 0, 4, 0, 0]
    assert list(exact.unknown(words)) == ["FILM", "Good", "strasse", "bad"]
    assert exact != vocab


def test_lower_fallback_is_kept():
    vocab = Vocabulary.from_trees(trees("a film"), lower_fallback=True)
    copies = [
        vocab.with_words(vocab.words),
        vocab.union([]),
        Vocabulary.from_json(vocab.to_json()),
        pickle.loads(pickle.dumps(vocab)),
    ]
    assert all(copy == vocab and copy["FILM"] == 2 for copy in copies)
    old = json.dumps({"format_version": 1, "words": list(vocab.words)})
    assert not Vocabulary.from_json(old).lower_fallback


def test_words_of_trees_come_in_order_of_appearance():
    corpus = trees("b a b", "c <unk> a")
    assert Vocabulary.from_trees(corpus).words == (UNKNOWN, "b", "a", "c")
    assert Vocabulary.from_trees(iter(corpus), min_count=2).words == (UNKNOWN, "b", "a")
    assert Vocabulary.from_trees([]).words == (UNKNOWN,)


def test_differs_from_other_words_and_other_types():
    vocab = Vocabulary(["a"])
    assert vocab != Vocabulary(["b"])
    assert vocab != ("<unk>", "a")
    assert repr(vocab) == "Vocabulary(2 words)"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a", "b", "a"], "word 3: 'a' is already in the vocabulary, as word 1"),
        (["a", UNKNOWN], "word 2: '<unk>' is already in the vocabulary, as word 0"),
        (["a", ""], "word 2: expected a non-empty string, got ''"),
        (["a", None], "word 2: expected a non-empty string, got None"),
        ("abc", "expected a sequence of words, got one string: 'abc'"),
    ],
)
def test_broken_words_are_rejected(words, message):
    with pytest.raises(DataError, match=message):
        Vocabulary(words)


def test_min_count_is_checked():
    with pytest.raises(DataError, match="min_count: expected at least 1, got 0"):
        Vocabulary.from_trees([], min_count=0)


def test_save_and_load(tmp_path):
    path = tmp_path / "new" / "vocabulary.json"
    vocab = Vocabulary(["na\u00efve", "\u4f60\u597d", "\u2028", '"'])
    Vocabulary(["older"]).save(path)
    vocab.save(path)
    assert Vocabulary.load(path) == vocab
    assert [entry.name for entry in path.parent.iterdir()] == ["vocabulary.json"]


def test_a_failed_save_keeps_the_old_file(tmp_path):
    path = tmp_path / "vocabulary.json"
    vocab = Vocabulary(["kept"])
    vocab.save(path)
    with pytest.raises(UnicodeEncodeError):
        Vocabulary(["\ud800"]).save(path)  # a lone surrogate has no UTF-8 form
    assert Vocabulary.load(path) == vocab
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[", "expected a vocabulary in JSON"),
        pytest.param(b"[" * 100_000, "expected a vocabulary in JSON", id="nested"),
        (b"\xff", "expected UTF-8 text"),
        (b"[]", "expected a JSON object with 'format_version' and 'words'"),
        (b'{"words": ["<unk>"]}', "expected a JSON object with 'format_version' and 'words'"),
        (b'{"format_version": 2, "words": ["<unk>"]}', "expected vocabulary format 1, got 2"),
        (b'{"format_version": 1, "words": ["a"]}', "a list that starts with '<unk>'"),
        (b'{"format_version": 1, "words": "<unk>"}', "a list that starts with '<unk>'"),
        (b'{"format_version": 1, "words": ["<unk>", "a", "a"]}', "word 2: 'a' is already in the"),
        (
            b'{"format_version": 1, "lower_fallback": 1, "words": ["<unk>"]}',
            "expected 'lower_fallback' to be true or false, got 1",
        ),
        (b'{"format_version": 1, "words": ["<unk>", 3]}', "word 1: expected a non-empty string"),
    ],
)
def test_foreign_files_are_rejected_by_name(tmp_path, content, message):
    path = tmp_path / "vocabulary.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        Vocabulary.load(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_missing_file_is_the_users_error(tmp_path):
    with pytest.raises(GraphsentError, match="cannot read the vocabulary: No such file"):
        Vocabulary.load(tmp_path / "absent.json")


def test_the_file_is_readable_json(tmp_path):
    path = tmp_path / "vocabulary.json"
    Vocabulary(["caf\u00e9"]).save(path)
    text = path.read_text(encoding="utf-8")
    assert json.loads(text) == {"format_version": 1, "words": ["<unk>", "caf\u00e9"]}
    assert "caf\u00e9" in text


def test_words_in_lower_case(tmp_path):
    trees = [Sentence(["The", "the", "-LRB-", ":-LRB-D", "<UNK>"])]
    vocab = Vocabulary.from_trees(trees, min_count=1, lower=True)
    assert vocab.words == ("<unk>", "the", "-LRB-", ":-LRB-d")
    assert vocab["THE"] == vocab["the"] == 1
    assert vocab["-LRB-"] == 2
    assert vocab["film"] == 0
    assert list(vocab.unknown(["The", "Film"])) == ["Film"]
    assert Vocabulary.from_trees(trees, min_count=2, lower=True).words == ("<unk>", "the")
    assert vocab.union(["A", "a"]).words[-1] == "a"

    vocab.save(tmp_path / "vocabulary.json")
    loaded = Vocabulary.load(tmp_path / "vocabulary.json")
    assert loaded == vocab == pickle.loads(pickle.dumps(vocab))
    assert loaded.lower
    assert loaded != Vocabulary(vocab.words)


def test_a_vocabulary_of_lower_case_has_no_other_words():
    with pytest.raises(DataError, match="word 2: expected lower case, got 'Film'"):
        Vocabulary(["a", "Film"], lower=True)
    text = '{"format_version": 1, "lower": "yes", "words": ["<unk>"]}'
    with pytest.raises(DataError, match="expected 'lower' to be true or false"):
        Vocabulary.from_json(text)
