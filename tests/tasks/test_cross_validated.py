"""MR, Subj and CR: finding the files, tokens, folds, and lines without words."""

from __future__ import annotations

import gzip
import hashlib
import zipfile
from collections import Counter

import pytest

from graphsent.errors import DataError
from graphsent.tasks import INPUT_KINDS, get_task
from graphsent.tasks.contractions import divide
from graphsent.tasks.parses import root_label
from graphsent.trees import unescape

NEGATIVE = [f"it isn't film {number} . " for number in range(20)]
POSITIVE = [f"a café\x97lovely , film's {number} " for number in range(20)]
FILES = {"rt-polarity.neg": NEGATIVE, "rt-polarity.pos": POSITIVE}
SUBJ = {"plot.tok.gt9.5000": NEGATIVE, "quote.tok.gt9.5000": POSITIVE}


@pytest.fixture(autouse=True)
def no_parses_elsewhere(monkeypatch):
    monkeypatch.delenv("GRAPHSENT_PARSES", raising=False)


def content(lines, encoding="utf-8"):
    return "".join(f"{line}\n" for line in lines).encode(encoding)


def write_archive(directory, name, files):
    folder = directory / "nltk_data" / "corpora"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
        for file, lines in files.items():
            archive.writestr(f"{name}/{file}", content(lines))


def write_reviews(directory, negative, positive, line_end="\n"):
    (directory / "cr").mkdir(exist_ok=True)
    for name, lines in (("neg", negative), ("pos", positive)):
        text = "".join(f"{line}{line_end}" for line in lines)
        (directory / "cr" / f"custrev.{name}").write_bytes(text.encode())


def sentences(data):
    return {" ".join(map(unescape, each.words)) for split in data.splits.values() for each in split}


@pytest.mark.parametrize(
    ("task", "name", "files"), [("mr", "sentence_polarity", FILES), ("subj", "subjectivity", SUBJ)]
)
def test_a_corpus_of_nltk_is_read_in_its_archive_or_unpacked(tmp_path, task, name, files):
    write_archive(tmp_path, name, files)
    packed = get_task(task).load(tmp_path, tree_kind="words")
    assert "it is n't film 0 ." in sentences(packed)
    assert "a café\x97lovely , film 's 19" in sentences(packed)
    assert packed.source.counts == {"train": 32, "dev": 4, "test": 4}
    remark = f"fold 0 of 10 of 40 sentences, published: {'10,662' if task == 'mr' else '10,000'}"
    assert packed.source.summary().endswith(f"{name}.zip/{name}; {remark}")
    folder = tmp_path / "nltk_data" / "corpora"
    with zipfile.ZipFile(folder / f"{name}.zip") as archive:
        archive.extractall(folder)
    (folder / f"{name}.zip").unlink()
    assert get_task(task).load(tmp_path, tree_kind="words").splits == packed.splits


def test_an_archive_that_lacks_a_file_is_passed_over(tmp_path):
    write_archive(tmp_path, "sentence_polarity", {"rt-polarity.neg": NEGATIVE})
    missing = r"no nltk_data/corpora/sentence_polarity\.zip/sentence_polarity/rt-polarity\.pos;"
    with pytest.raises(DataError, match=missing):
        get_task("mr").load(tmp_path, tree_kind="words")
    (tmp_path / "mr").mkdir()
    for name, lines in FILES.items():
        (tmp_path / "mr" / name).write_bytes(content(lines))
    data = get_task("mr").load(tmp_path, tree_kind="words")
    assert data.source.counts == {"train": 32, "dev": 4, "test": 4}


def test_the_files_of_the_authors_are_in_latin_1(tmp_path):
    (tmp_path / "mr").mkdir()
    for name, lines in FILES.items():
        (tmp_path / "mr" / name).write_bytes(content(lines, "latin-1"))
    data = get_task("mr").load(tmp_path, tree_kind="words")
    assert "a café\x97lovely , film 's 19" in sentences(data)


def test_a_corpus_may_be_a_symbolic_link(tmp_path):
    write_archive(tmp_path / "real", "sentence_polarity", FILES)
    linked = tmp_path / "linked" / "nltk_data" / "corpora"
    linked.mkdir(parents=True)
    name = "sentence_polarity.zip"
    (linked / name).symlink_to(tmp_path / "real" / "nltk_data" / "corpora" / name)
    data = get_task("mr").load(tmp_path / "linked", tree_kind="words")
    assert data.source.counts == {"train": 32, "dev": 4, "test": 4}


def test_every_sentence_is_tested_once(tmp_path):
    write_reviews(tmp_path, NEGATIVE, POSITIVE)
    found = Counter()
    for fold in range(10):
        data = get_task("cr", fold=fold).load(tmp_path, tree_kind="words")
        found.update(" ".join(each.words) for each in data.splits["test"])
        assert sum(data.source.counts.values()) == 40
        assert len(sentences(data)) == 40
    assert set(found.values()) == {1}
    assert len(found) == 40


def test_labels_are_the_indices_of_the_files(tmp_path):
    write_reviews(tmp_path, ["so bad"] * 30, ["so good"] * 30)
    with pytest.raises(DataError, match="no examples for task cr"):
        get_task("cr").load(tmp_path, tree_kind="words")  # with two texts, none is left for dev
    write_reviews(tmp_path, NEGATIVE, POSITIVE)
    task = get_task("cr", fold=7)
    assert task.label_names == ("negative", "positive")
    assert task.options == {"fold": 7}
    for each in task.load(tmp_path, ["test"], tree_kind="words").splits["test"]:
        assert each.label == ("1" if "café" in " ".join(each.words) else "0")


def test_checksums_are_those_of_the_files_of_all_classes(tmp_path):
    write_reviews(tmp_path, NEGATIVE, POSITIVE)
    source = get_task("cr").load(tmp_path, ["dev"], tree_kind="words").source
    paths = [tmp_path / "cr" / f"custrev.{name}" for name in ("neg", "pos")]
    sums = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
    assert source.digests("dev") == sums
    assert source.describe()["splits"]["dev"]["parts"] == [
        {"path": str(path), "sha256": digest} for path, digest in zip(paths, sums, strict=True)
    ]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_lines_without_words_are_left_out_and_named(tmp_path, line_end):
    write_reviews(tmp_path, [*NEGATIVE, ""], [" ", *POSITIVE, ""], line_end)
    data = get_task("cr").load(tmp_path, tree_kind="words")
    assert sum(data.source.counts.values()) == 40
    remark = "3 lines without words are left out: custrev.neg:21, custrev.pos:1, custrev.pos:22"
    assert remark in data.source.summary()
    assert remark in data.source.describe()["remarks"]


def test_trees_of_a_corpus_with_lines_without_words(tmp_path):
    write_reviews(tmp_path, [*NEGATIVE, ""], POSITIVE)
    (tmp_path / "parses").mkdir()
    words = get_task("cr").load(tmp_path, tree_kind="words")
    remark = "; 1 line without words is left out: custrev.neg:21"
    assert words.source.summary().endswith(remark)
    lines = []
    for label, texts in (("neg", [*NEGATIVE, ""]), ("pos", POSITIVE)):
        for text in texts:
            leaves = " ".join(f"(X {word})" for word in divide(text))
            lines.append(f"{label}\t(ROOT (S {leaves}))" if leaves else f"{label}\t")
    path = tmp_path / "parses" / "cr.trees.gz"
    path.write_bytes(gzip.compress(content(lines)))
    trees = get_task("cr").load(tmp_path)
    for split, found in trees.splits.items():
        assert [tree.words for tree in found] == [each.words for each in words.splits[split]]
        assert list(map(root_label, found)) == [each.label for each in words.splits[split]]
    path.write_bytes(gzip.compress(content(lines[1:])))
    with pytest.raises(DataError, match=r"trees\.gz has 39 sentences, but .*cr has 40"):
        get_task("cr").load(tmp_path)


def test_classes_of_sentiment_are_ordered():
    ordered = {name: get_task(name).ordered_classes for name in ("mr", "subj", "cr")}
    assert ordered == {"mr": True, "subj": False, "cr": True}


@pytest.mark.parametrize("fold", [-1, 10, 1.0, True, None])
def test_there_are_ten_folds(fold):
    with pytest.raises(DataError, match=f"fold: expected 0 to 9, got {fold}"):
        get_task("subj", fold=fold)


def test_missing_files_are_named_once(tmp_path):
    message = r"\(CR\): no cr/custrev\.neg, cr/custrev\.pos; to get it: graphsent download cr"
    with pytest.raises(DataError, match=message):
        get_task("cr").load(tmp_path)


def test_a_damaged_archive(tmp_path):
    write_archive(tmp_path, "sentence_polarity", FILES)
    path = tmp_path / "nltk_data" / "corpora" / "sentence_polarity.zip"
    data = bytearray(path.read_bytes())
    data[60:90] = b"\0" * 30  # of the first file
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"cannot read .*rt-polarity\.neg"):
        get_task("mr").load(tmp_path, tree_kind="words")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("don't won 't do n 't cannot", "do n't wo n't do n't can not"),
        ("they're here 'cause it'll do", "they 're here ' cause it 'll do"),
        ("the '70s rock 'n' roll , makin' 'em", "the '70s rock 'n' roll , makin' 'em"),
        ("an 'a' for 'children's' films'", "an ' a ' for ' children 's ' films '"),
        ("''no'' \\ 's '", "'' no'' / 's '"),
        ("Cannot CAN'T", "Can not CA N'T"),
        ("", ""),
    ],
)
def test_contractions_and_quotes_are_split(line, words):
    assert divide(line) == words.split()


COUNTS = {"mr": ([5331, 5331], {1066, 1067}), "subj": ([5000, 5000], set(range(999, 1002)))}
COUNTS["cr"] = ([1366, 2405], set(range(376, 380)))


@pytest.mark.data
@pytest.mark.parametrize("name", COUNTS)
def test_counts_of_the_real_corpora(name, data_dir):
    classes, sizes = COUNTS[name]
    found = Counter()
    for fold in range(10) if name == "cr" else (0, 9):
        data = get_task(name, fold=fold).load(data_dir, tree_kind="words")
        examples = [each for split in data.splits.values() for each in split]
        labels = Counter(each.label for each in examples)
        assert [labels["0"], labels["1"]] == classes
        assert data.source.counts["test"] in sizes
        found.update(data.splits["test"])
        letters = {
            split: {"".join(filter(str.isalnum, "".join(each.words))) for each in found_there}
            for split, found_there in data.splits.items()
        }
        assert not letters["train"] & letters["test"]
        assert not letters["train"] & letters["dev"]
        assert not letters["dev"] & letters["test"]
        if name == "cr":
            assert "4 lines without words are left out: custrev.neg:769" in data.source.remarks[1]
            assert "of 3,771 sentences, published: 3,775" in data.source.remarks[0]
    if name == "cr":
        assert found.total() == 3771


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("kind", INPUT_KINDS[:2])
@pytest.mark.parametrize("name", COUNTS)
def test_real_sentences_have_the_same_words_with_and_without_trees(
    name, kind, data_dir, parses_dir
):
    plain = get_task(name).load(data_dir, tree_kind="words").splits
    parsed = get_task(name).load(data_dir, tree_kind=kind, parses_dir=parses_dir).splits
    for split, examples in parsed.items():
        for sentence, tree in zip(plain[split], examples, strict=True):
            assert sentence.words == list(map(unescape, tree.words))
            assert sentence.label == root_label(tree)


@pytest.mark.data
def test_no_sentence_of_the_real_subj_is_decoded_wrongly(data_dir):
    data = get_task("subj").load(data_dir, tree_kind="words")
    text = " ".join(sentences(data))
    assert "não" in text
    assert not any(mark in text for mark in ("ã©", "ã£", "Ã"))
