"""Streamed text: records are those of the whole text, and malformed ones are isolated."""

from __future__ import annotations

import io
import random
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import random_tree

from graphsent.errors import DataError
from graphsent.trees import TreeError, parse_conllu, parse_trees, to_conllu
from graphsent.trees.records import (
    conllu_records,
    line_records,
    lines_of,
    read_brackets,
    read_conllu_records,
)

TREES = [str(random_tree(random.Random(seed), 1 + seed % 9)) for seed in range(40)]
BROKEN = {
    "(S (A a)": "is not closed",
    "(S (A a)) (B b))": "closes nothing",
    "(S (A a b))": "follows token",
    "fine film": "is outside of any tree",
    "(S (A a) (B b)))": "closes nothing",
}


class Pipe:
    """Returns a few bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        self.data = io.BytesIO(data)
        self.size = size

    def read1(self, size: int) -> bytes:
        return self.data.read1(min(size, self.size))


def read(text: str | bytes, size: int = 1 << 20, *, sentences: bool = False, conllu: bool = False):
    """(line, tree or message) of each record; raw lines unchanged."""
    data = text.encode() if isinstance(text, str) else text
    pieces = lines_of(Pipe(data, size), "f")
    found = []
    for records in conllu_records(pieces) if conllu else line_records(pieces, sentences=sentences):
        sound = [record for record in records if record.error is None]
        trees = iter(read_conllu_records(sound, "f") if conllu else read_brackets(sound, "f"))
        for record in records:
            contents = next(trees) if record.error is None else [record.error]
            found += [
                (record.line, str(each) if isinstance(each, TreeError) else each)
                for each in contents
            ]
    return found


@given(st.integers(1, 200), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_lines_are_those_of_the_text_however_it_comes(size, ends, line_end):
    text = line_end.join(["a", "", "é你", "x" * 300, "b"]) + ends * line_end
    lines = [line for piece in lines_of(Pipe(text.encode(), size), "f") for line in piece]
    expected = text.removesuffix("\n").split("\n")
    assert [(line.number, line.text) for line in lines] == list(enumerate(expected, start=1))
    assert list(lines_of(Pipe(b"", size), "f")) == []


@given(
    st.lists(st.sampled_from(TREES + list(BROKEN)), max_size=12),
    st.integers(1, 500),
)
def test_a_malformed_line_affects_no_other(lines, size):
    # An open tree and a line that closes more than it opens are one tree of two lines.
    closing = [line for line, error in BROKEN.items() if error == "closes nothing"]
    assume(not any(a == "(S (A a)" and b in closing for a, b in pairwise(lines)))
    found = read("\n".join(lines), size)
    assert [line for line, _ in found] == list(range(1, len(lines) + 1))
    for (number, content), line in zip(found, lines, strict=True):
        if line in BROKEN:
            assert content.startswith(f"f:{number}:")
            assert BROKEN[line] in content
        else:
            assert str(content) == line


def test_trees_of_several_lines():
    text = "\n( (S\n    (A a)\n\t(B b)\n))\n\n(S (A a)\n (B b))\n\n\n(S\n  (C c)\n)\n(T t) (U u)\n"
    assert [(line, " ".join(tree.words)) for line, tree in read(text)] == [
        (2, "a b"),
        (7, "a b"),
        (11, "c"),
        (14, "t"),
        (14, "u"),
    ]
    whole = [tree.words for tree in parse_trees(text)]
    assert [tree.words for _, tree in read(text, 3)] == whole


def test_a_closed_tree_is_a_record_at_once_and_a_blank_line_ends_an_open_one():
    pieces = lines_of(Pipe(b"(S (A a)\n  (B b))\n  (C c)\n(S (D d)\n    \n  (E e))\n", 18), "f")
    found = [[each.text for each in piece] for piece in line_records(pieces, sentences=False)]
    assert found[0] == ["(S (A a)\n  (B b))"]
    rest = [text for texts in found[1:] for text in texts]
    assert rest == ["  (C c)", "(S (D d)", "    ", "  (E e))"]


def test_empty_lines_between_sentences_in_conllu():
    text = "\n\n" + conllu_of("a b") + "\n \n" + conllu_of("c") + "\n"
    assert [(line, tree.words) for line, tree in read(text, conllu=True)] == [
        (3, ("a", "b")),
        (8, ("c",)),
    ]


@pytest.mark.parametrize("indent", ["", "  "])
def test_a_tree_that_is_never_closed_ends_where_the_next_begins(indent):
    text = "".join(
        f"{indent}{line}\n"
        for line in ["(S (A a)", "   (B b)", "(S (C c))", "(S (D d", "", "(S", " (E e))"]
    )
    found = read(text)
    assert [line for line, _ in found] == [1, 3, 4, 6]
    assert found[0][1].startswith(f"f:1:{1 + len(indent)}: the bracket")
    assert "before the end of the text in line 2" in found[0][1]
    assert [tree.words for _, tree in (found[1], found[-1])] == [["c"], ["e"]]


def test_empty_lines_are_records_where_trees_take_one_line():
    lines = line_records(lines_of(io.BytesIO(b"\n(A a)\n\n(B b)\n \n"), "f"), sentences=False)
    assert [[(each.line, each.text) for each in piece] for piece in lines] == [
        [(2, "(A a)"), (3, ""), (4, "(B b)"), (5, " ")]
    ]
    lines = line_records(lines_of(io.BytesIO(b"\nraw :( text\n(A a)"), "f"), sentences=True)
    texts = [each.text for piece in lines for each in piece]
    assert texts == ["", "raw :( text", "(A a)"]


def test_bytes_that_are_not_text_are_named_and_isolated():
    found = read(b"(A a)\n(B \xc3\xa9\xff)\n(C\n  \xe2\x82)\n(D d)")
    assert [line for line, _ in found] == [1, 2, 3, 5]
    assert found[1][1].startswith("f:2:5: 0xFF is not valid UTF-8")
    assert found[2][1].startswith("f:4:3: 0xE2 0x82 is not valid UTF-8")
    assert found[3][1].words == ["d"]


@given(st.integers(1, 300))
def test_sentences_in_conllu(size):
    blocks = [to_conllu(tree) for tree in parse_conllu(conllu_of("a b") + conllu_of("c"))]
    bad = "1\tx\t_\t_\t_\t_\t7\troot\t_\t_\n"
    text = "\n".join(["# a comment\n" + blocks[0], bad, blocks[1], "# alone\n", "1 x\n", blocks[0]])
    found = read(text, size, conllu=True)
    assert [line for line, _ in found] == [1, 5, 7, 9, 11, 13]
    assert [str(each)[:6] for _, each in found if isinstance(each, str)] == [
        "f:5:13",
        "f:9:1:",
        "f:11:1",
    ]
    assert [" ".join(each.words) for _, each in found if not isinstance(each, str)] == [
        "a b",
        "c",
        "a b",
    ]


def conllu_of(text: str) -> str:
    return (
        "".join(
            f"{number}\t{word}\t_\t_\t_\t_\t{number - 1}\tdep\t_\t_\n"
            for number, word in enumerate(text.split(), start=1)
        )
        + "\n"
    )


def test_a_stream_that_is_truncated():
    class Broken:
        def read1(self, size: int) -> bytes:
            raise EOFError("ended before the end")

    with pytest.raises(DataError, match="cannot read f: ended before the end"):
        list(lines_of(Broken(), "f"))
