"""Files of parses: formats, labels, lines without a tree, resuming after an interruption."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
from toy_parsers import FLAT, HEADED

from graphsent.errors import DataError
from graphsent.parsing import Parser, TreeSource
from graphsent.parsing.files import Outcome, TextLine, partial_path, write_parses
from graphsent.trees import read_conllu, read_labelled_trees, read_trees

SENTENCES = ["a b", "c bad", "d e f", "", "g", "h i", "j"]
LABELLED = [TextLine(n, text, label=f"l{n % 2}") for n, text in enumerate(SENTENCES, start=1)]
PLAIN = [line._replace(label=None) for line in LABELLED]


def stopped_after(parser: Parser, num_calls: int) -> Parser:
    calls = []

    def function(texts):
        calls.append(texts)
        if len(calls) > num_calls:
            raise KeyboardInterrupt
        return parser.function(texts)

    return Parser(parser.source, function)


@pytest.mark.parametrize("name", ["out.conllu", "out.conllu.gz"])
def test_dependency_trees(tmp_path, name):
    bad = {}
    outcome = write_parses(
        tmp_path / name, LABELLED, HEADED, on_bad=lambda n, error: bad.update({n: str(error)})
    )
    assert outcome == Outcome(7, 2, 0)
    assert bad == {
        2: "toy:headed cannot parse 'c bad': RuntimeError: bad luck",
        4: "an empty line: expected a sentence",
    }
    trees = read_conllu(tmp_path / name)
    assert [tree.metadata["sent_id"] for tree in trees] == ["1", "3", "5", "6", "7"]
    assert trees[1].metadata == {"sent_id": "3", "text": "d e f", "label": "l1"}
    assert trees[1].words == ("d", "e", "f")
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["out.trees", "out.trees.gz"])
def test_constituency_trees(tmp_path, name):
    assert write_parses(tmp_path / name, LABELLED, FLAT, batch_size=2) == Outcome(7, 2, 0)
    found = read_labelled_trees(tmp_path / name)
    assert [label for label, _ in found] == [line.label for line in LABELLED]
    words = [None if tree is None else tree.words for _, tree in found]
    expected = [line.text.split() for line in LABELLED]
    assert words == [None if "bad" in each or not each else each for each in expected]
    write_parses(tmp_path / name, PLAIN, FLAT)
    assert [tree.words for tree in read_trees(tmp_path / name)] == [w for w in words if w]


def test_lines_keep_their_place_without_labels(tmp_path):
    write_parses(tmp_path / "out", PLAIN, FLAT)
    lines = (tmp_path / "out").read_text().split("\n")
    assert [bool(line) for line in lines] == [1, 0, 1, 0, 1, 1, 1, 0]
    write_parses(tmp_path / "out.conllu", PLAIN, HEADED)
    assert read_conllu(tmp_path / "out.conllu")[1].metadata == {"sent_id": "3", "text": "d e f"}


def test_sentences_of_a_line(tmp_path):
    lines = [
        TextLine(1, "A film. It moves!", "x"),
        TextLine(2, "", "y"),
        TextLine(3, "A bad film. Ok.", "z"),
        TextLine(4, "Fine. bad", "z"),
        TextLine(5, "Fine.", "z"),
    ]
    assert write_parses(tmp_path / "o.conllu", lines, HEADED, split=True) == Outcome(5, 3, 0)
    trees = read_conllu(tmp_path / "o.conllu")
    assert [(tree.metadata, " ".join(tree.words)) for tree in trees] == [
        ({"sent_id": "1.1", "text": "A film.", "label": "x"}, "A film."),
        ({"sent_id": "1.2", "text": "It moves!", "label": "x"}, "It moves!"),
        ({"sent_id": "5.1", "text": "Fine.", "label": "z"}, "Fine."),
    ]
    write_parses(tmp_path / "o.trees", lines, FLAT, split=True)
    labels = [label for label, _ in read_labelled_trees(tmp_path / "o.trees")]
    assert labels == ["x", "x", "y", "z", "z", "z"]
    write_parses(tmp_path / "whole.trees", lines[:1], FLAT)
    ((_, tree),) = read_labelled_trees(tmp_path / "whole.trees")
    assert tree.words == ["A", "film.", "It", "moves!"]


def test_a_line_with_an_error_is_not_parsed(tmp_path):
    error, bad = DataError("not text"), []
    lines = [PLAIN[0], PLAIN[2]._replace(error=error)]
    assert write_parses(
        tmp_path / "o", lines, FLAT, on_bad=lambda *each: bad.append(each)
    ) == Outcome(2, 1, 0)
    assert bad == [(3, error)]


def test_a_line_that_cannot_be_split_keeps_its_place(tmp_path):
    def split(texts):
        if "c bad" in texts:
            raise ValueError
        return [[text] for text in texts]

    parser, bad = Parser(FLAT.source, FLAT.function, split), {}
    write_parses(
        tmp_path / "o", PLAIN[:3], parser, split=True, on_bad=lambda n, e: bad.update({n: str(e)})
    )
    assert bad == {2: "toy:flat cannot split 'c bad': ValueError:"}
    assert [bool(line) for line in (tmp_path / "o").read_text().split("\n")] == [1, 0, 1, 0]


def test_a_tree_that_is_not_text_is_bad(tmp_path):
    parser, bad = Parser(FLAT.source, lambda texts: ["(S (A \ud800))"] * len(texts)), []
    assert write_parses(
        tmp_path / "o", PLAIN[:1], parser, on_bad=lambda _, error: bad.append(str(error))
    ) == Outcome(1, 1, 0)
    assert bad == [r"'\ud800' in its tree: expected text in UTF-8"]


@pytest.mark.parametrize("name", ["out.conllu", "out.trees.gz"])
@pytest.mark.parametrize("num_calls", [0, 1, 3])
def test_resuming_gives_the_same_file(tmp_path, name, num_calls):
    parser = HEADED if "conllu" in name else FLAT
    lines = [line._replace(text=line.text or "z") for line in LABELLED if "bad" not in line.text]
    write_parses(tmp_path / "whole" / name, lines, parser)
    out = tmp_path / name
    with pytest.raises(KeyboardInterrupt):
        write_parses(out, lines, stopped_after(parser, num_calls), batch_size=1)
    assert not out.exists()
    trees = partial_path(out) / "trees"
    assert trees.exists() == (num_calls > 0)
    trees.parent.mkdir(exist_ok=True)
    with trees.open("ab") as file:
        file.write(b"half a tr")  # as a killed process leaves it
    done = []
    outcome = write_parses(out, iter(lines), parser, batch_size=4, on_done=done.append)
    assert outcome == Outcome(6, 0, num_calls)
    assert (done[0], sum(done)) == (num_calls, 6)
    assert out.read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert not partial_path(out).exists()


def test_every_batch_is_on_disk(tmp_path):
    out = tmp_path / "out.trees"
    sizes = []

    def check(count):
        if (partial_path(out) / "state.json").exists():
            state = json.loads((partial_path(out) / "state.json").read_text())
            sizes.append(((partial_path(out) / "trees").stat().st_size, state["size"]))

    write_parses(out, PLAIN, FLAT, batch_size=2, on_done=check)
    assert len(sizes) == 4
    assert all(size == saved for size, saved in sizes)


@pytest.mark.parametrize("name", ["out.conllu", "out.conllu.gz"])
def test_a_process_that_is_killed_once_the_file_is_complete(tmp_path, monkeypatch, name):
    out = tmp_path / name
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_args, **_kwargs: None)
        write_parses(out, LABELLED, HEADED)
    whole = out.read_bytes()
    assert write_parses(out, LABELLED, HEADED)[:2] == (7, 2)
    assert out.read_bytes() == whole
    assert not partial_path(out).exists()


@pytest.mark.skipif(os.name == "nt", reason="permissions")
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    out = tmp_path / "out.conllu"
    write_parses(out, LABELLED, HEADED)
    whole = out.read_bytes()
    out.write_text("")
    out.chmod(0o640)
    write_parses(out, LABELLED, HEADED)
    assert (out.read_bytes(), out.stat().st_mode & 0o777) == (whole, 0o640)


def test_bad_lines_of_earlier_calls_are_counted(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        write_parses(out, LABELLED, stopped_after(FLAT, 2), batch_size=2)
    assert write_parses(out, LABELLED, FLAT) == Outcome(7, 2, 4)


def test_other_input_and_other_parsers_are_rejected(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        write_parses(out, LABELLED, stopped_after(FLAT, 2), batch_size=2)
    other = Parser(FLAT.source._replace(version="2"), FLAT.function)
    with pytest.raises(DataError, match="begun with version '1', not '2': start over"):
        write_parses(out, LABELLED, other)
    with pytest.raises(DataError, match="begun with split False, not True"):
        write_parses(out, LABELLED, FLAT, split=True)
    changed = [LABELLED[0]._replace(label="new"), *LABELLED[1:]]
    for lines in (changed, LABELLED[:3]):
        with pytest.raises(DataError, match="begun with other input: its first 4 lines changed"):
            write_parses(out, lines, FLAT)
    assert write_parses(out, changed, other, overwrite=True) == Outcome(7, 2, 0)


def test_damaged_states_are_rejected(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        write_parses(out, LABELLED, stopped_after(FLAT, 2), batch_size=2)
    partial = partial_path(out)
    whole = (partial / "state.json").read_text()
    for text in ("", "[]", "{}", '{"made_by": 3}', whole[:-5]):
        (partial / "state.json").write_text(text)
        with pytest.raises(DataError, match=r"state.json: damaged.*start over"):
            write_parses(out, LABELLED, FLAT)
    (partial / "state.json").write_text(json.dumps({**json.loads(whole), "size": 10**6}))
    with pytest.raises(DataError, match="trees: truncated; start over"):
        write_parses(out, LABELLED, FLAT)


def test_file_names_must_match_the_kind_of_trees(tmp_path):
    with pytest.raises(DataError, match=r"expected \*.conllu or \*.conllu.gz for dependency trees"):
        write_parses(tmp_path / "out.trees", LABELLED, HEADED)
    with pytest.raises(DataError, match=r"another name than .*conllu for constituency trees"):
        write_parses(tmp_path / "out.conllu", LABELLED, FLAT)


def test_words_that_files_cannot_hold(tmp_path):
    """A custom parser may return words with characters that end a token."""
    from graphsent.trees import Tree

    trees = {"a": Tree(["S"], ["(a"], [-1]), "b": Tree(["S"], ["b"], [-1])}
    parser = Parser(TreeSource("constituency", "x:y"), lambda texts: [trees[t] for t in texts])
    bad = []
    lines = [TextLine(1, "a"), TextLine(2, "b")]
    write_parses(tmp_path / "out", lines, parser, on_bad=lambda *args: bad.append(args))
    assert (tmp_path / "out").read_text() == "\n(S b)\n"
    assert [number for number, _ in bad] == [1]


def test_one_process_at_a_time(tmp_path):
    out = tmp_path / "out"
    partial_path(out).mkdir()
    code = "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX); \
print(flush=True); input()"
    command = [sys.executable, "-c", code, str(partial_path(out))]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        process.stdout.readline()
        with pytest.raises(DataError, match="another process is writing it"):
            write_parses(out, LABELLED, FLAT)
        process.communicate(b"\n")
    assert write_parses(out, LABELLED, FLAT).lines == 7
