"""Tasks as streams: the examples of ``load`` one by one, with the same errors."""

from __future__ import annotations

from itertools import islice

import pytest
from toy_treebank import write_treebank

from graphsent.errors import DataError
from graphsent.tasks import get_task
from graphsent.tasks.archives import iter_lines
from graphsent.tasks.held_out import held_out
from graphsent.tasks.spool import Spooled
from graphsent.tasks.twitter import TweetTask


def streamed(task, *args, **kwargs):
    stream = task.stream(*args, **kwargs)
    for _ in range(2):  # as often as it is called
        found = {split: list(examples()) for split, examples in stream.splits.items()}
    return found


@pytest.mark.parametrize("name", ["sst5", "sst2", "trec", "twitter", "sick"])
def test_embedded_corpora(name, monkeypatch):
    monkeypatch.delenv("GRAPHSENT_DATA", raising=False)
    task = get_task(name)
    kind = "words" if name in ("trec", "twitter") else "constituency"
    assert streamed(task, tree_kind=kind) == task.load(tree_kind=kind).splits


@pytest.mark.parametrize(
    ("name", "kind", "splits"),
    [
        ("sst2", "dependency", ("dev",)),
        ("trec", "words", ("dev", "test")),  # dev is held out of train
        ("trec", "constituency", ("dev", "test")),
    ],
)
def test_published_corpora(data_dir, parses_dir, name, kind, splits):
    task = get_task(name)
    options = {"tree_kind": kind, "parses_dir": parses_dir, "splits": splits}
    assert streamed(task, data_dir, **options) == task.load(data_dir, **options).splits


def test_a_malformed_tree_is_found_when_reading_reaches_it(tmp_path):
    write_treebank(tmp_path)
    with (tmp_path / "sentiment" / "train.txt").open("a") as file:
        file.write("(7 x)\n")
    examples = get_task("sst5").stream(tmp_path).splits["train"]()
    for _ in range(60):
        next(examples)
    with pytest.raises(DataError, match="tree 61: expected labels from 0 to 4"):
        next(examples)


def test_missing_files_are_reported_at_once(tmp_path):
    with pytest.raises(DataError, match="no corpus for this task"):
        get_task("sst5").stream(tmp_path)
    with pytest.raises(DataError, match="unknown split 'tets'"):
        get_task("sst5").stream(splits=("tets",))


def test_held_out_accepts_an_iterator():
    texts = [f"text {number % 90}" for number in range(100)]
    assert held_out(iter(texts), 0.1, 3).tolist() == held_out(texts, 0.1, 3).tolist()
    assert held_out(iter(texts), 0.1, 3).sum() == 10


@pytest.mark.parametrize("shape", [None, "balanced"])
def test_a_file_with_held_out_dev_is_read_once(tmp_path, cache, shape, monkeypatch):
    folder = tmp_path / "data" / "twitter"
    folder.mkdir(parents=True)
    rows = [f'"{4 * (row % 2)}","{row}","day","query","user","tweet {row}"\n' for row in range(600)]
    for name in ("training.20000.processed.noemoticon.csv", "testdata.manual.2009.06.14.csv"):
        (folder / name).write_text("".join(rows))
    reads = []
    sentences = TweetTask.read_sentences
    monkeypatch.setattr(
        TweetTask,
        "read_sentences",
        lambda task, path: reads.append(path) or sentences(task, path),
    )
    task = get_task("twitter")
    kind = "words" if shape is None else "constituency"
    options = {"splits": ("train", "dev"), "tree_kind": kind, "trees": shape}
    found = streamed(task, tmp_path / "data", **options)
    assert len(reads) == 1
    assert found == task.load(tmp_path / "data", **options).splits
    assert list(map(len, found.values())) == [540, 60]
    assert not list(cache.iterdir()), "the file has no name"


def test_spooled_examples_are_read_once(cache):
    reads = []
    spooled = Spooled(lambda: reads.append(1) or range(1000))
    part = spooled()
    assert next(part) == 0  # not all is read, so nothing is kept
    part.close()
    assert list(spooled()) == list(range(1000))
    first, second = spooled(), spooled()
    assert [*islice(first, 300), *islice(second, 500), *first] == [
        *range(300),
        *range(500),
        *range(300, 1000),
    ]
    assert len(reads) == 2
    first.close(), second.close()
    file = spooled._file
    del first, second, spooled
    assert file.closed


def test_an_error_while_spooling(cache):
    def read():
        yield 1
        raise DataError("line 2")

    spooled = Spooled(read)
    for _ in range(2):
        with pytest.raises(DataError, match="line 2"):
            list(spooled())


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHSENT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"a\r\nb", ["a", "b"]),
        (b"\xef\xbb\xbfa\n\nb\n", ["a", "", "b"]),
        ("é\x85b\n".encode("latin-1"), ["é\x85b"]),
        ("é\u2028b\n".encode(), ["é\u2028b"]),
        ("a\né".encode("latin-1"), ["a", "é"]),
        (b"a\r", ["a\r"]),
    ],
)
def test_lines_end_only_at_line_feeds(tmp_path, data, lines):
    path = tmp_path / "lines.txt"
    path.write_bytes(data)
    assert list(iter_lines(path)) == lines
