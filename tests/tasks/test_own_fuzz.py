"""Any content of a user's file gives examples or one clear error, never a traceback."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsent.errors import DataError
from graphsent.tasks import get_task
from graphsent.tasks.own.examples import BadLine, OwnExample
from graphsent.tasks.own.reader import OwnFile, read_examples

SUFFIXES = ("tsv", "csv", "jsonl", "conllu", "txt")
# Parts of every format, separated by spaces.
PARTS = """label text pos neg , ; " ( ) { } [ null \\ # = {"label":1,"text":"x"} é 日本語"""
BLANKS = ["\t", "\n", "\r\n", " ", "\0", "\ufeff", "\u2028", "\x85", "x" * 1000]
LINES = ["# label = a", "1\ta\t_\t_\t_\t_\t0\troot\t_\t_", "(S (A a) (B b))"]
PIECES = st.sampled_from([*PARTS.split(" "), *BLANKS, *LINES])


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(pieces=st.lists(PIECES | st.text(max_size=5), max_size=30), broken=st.booleans())
@settings(max_examples=30)
def test_any_file_gives_examples_or_a_clear_error(tmp_path_factory, suffix, pieces, broken):
    path = tmp_path_factory.mktemp("fuzz") / f"a.{suffix}"
    data = "".join(pieces).encode("utf-8", "surrogatepass")
    path.write_bytes(data + b"\xff\n" if broken else data)
    rows, message = [], path.name
    try:
        rows = list(read_examples(OwnFile(path)))
    except DataError as error:
        message = str(error)
    assert path.name in message
    last = 0
    for row in rows:
        assert row.line >= 1
        if isinstance(row, BadLine):
            assert path.name in row.message
        else:
            assert isinstance(row, OwnExample)
            assert row.label
            assert row.line > last
            last = row.line


@given(labels=st.lists(st.text("ab é/日=,.-1", min_size=1, max_size=4), min_size=30, max_size=60))
@settings(max_examples=20)
def test_any_labels(tmp_path_factory, labels):
    path = tmp_path_factory.mktemp("labels") / "a.tsv"
    lines = [f"{label}\tword{i} text\n" for i, label in enumerate(labels)]
    path.write_text("".join(lines), encoding="utf-8")
    task, message = get_task("own", train=str(path)), ""
    try:
        data = task.load(tree_kind="words")
    except DataError as error:
        message = str(error)
    if message:
        assert path.name in message
        return
    assert set(task.label_names) == {label.strip() for label in labels}
    assert sum(map(len, data.splits.values())) == len(labels)
