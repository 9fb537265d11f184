"""`graphsent predict` and `graphsent draw`."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys

import pytest
from commands import without_compiling

from graphsent.cli import main
from graphsent.models import TreeLSTMClassifier
from graphsent.trees import Tree, parse_trees
from graphsent.vocabulary import Vocabulary

# With and without labels, on one or more lines, unary chains, three children, outer bracket.
TREES = """\
(4 (2 (2 the) (2 film)) (4 (2 is) (4 good)))
(X (X (X a) (X dull)) (X film))
( (SBARQ (WHNP (WP What))(SQ (VBZ is)(NP (DT a) (JJ good)
   (NN film)))(. ?)))
((A not) (B bad))
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "trees.txt"
    path.write_text(TREES)
    return str(path)


def give(monkeypatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_text_output_has_class_probability_and_sentence(trained, file, capsys):
    assert main(["predict", str(trained), file]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    sentences = ["the film is good", "a dull film", "What is a good film ?", "not bad"]
    assert [line[2] for line in lines] == sentences
    assert all(0.2 <= float(line[1]) <= 1 for line in lines)
    names = {"very negative", "negative", "neutral", "positive", "very positive"}
    assert {line[0] for line in lines} <= names


def test_arguments_in_any_order(trained, file, capsys):
    assert main(["predict", str(trained), file, "--format=trees"]) == 0
    expected = capsys.readouterr().out
    for order in (
        [str(trained), "--format", "trees", file],
        ["--format", "trees", str(trained), file],
        ["--batch-size=3", str(trained), "--format", "trees", "--", file],
    ):
        assert main(["predict", *order]) == 0
        assert capsys.readouterr().out == expected


def test_json_lines_and_trees_agree(trained, file, capsys):
    assert main(["predict", str(trained), file, "--format=jsonl"]) == 0
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert main(["predict", str(trained / "model"), file, "--format=trees"]) == 0
    predicted = [Tree.from_string(line) for line in capsys.readouterr().out.splitlines()]
    given = parse_trees(TREES, require_labels=False)
    for tree, original, content in zip(predicted, given, objects, strict=True):
        assert tree.tokens == original.tokens
        assert tree.parents.tolist() == original.parents.tolist()
        names = [node["name"].replace(" ", "_") for node in content["nodes"]]
        assert list(tree.labels) == names
        assert names[0] in {"very_negative", "negative", "neutral", "positive", "very_positive"}


def test_class_names_that_bracketed_trees_cannot_hold(tmp_path, file, capsys):
    names = ("so so (1/2)", "good")
    model = TreeLSTMClassifier(Vocabulary(("film",)), 2, 3, 4, label_names=names)
    model.save_pretrained(tmp_path / "model")
    assert main(["predict", str(tmp_path / "model"), file, "--format=trees"]) == 0
    labels = {label for tree in parse_trees(capsys.readouterr().out) for label in tree.labels}
    assert labels <= {"so_so_-LRB-1/2-RRB-", "good"}


def test_standard_input_in_parts_of_any_size(trained, file, capsys, monkeypatch):
    assert main(["predict", str(trained), file]) == 0
    expected = capsys.readouterr().out
    for arguments in (["-", "--batch-size=1"], []):
        give(monkeypatch, b"\xef\xbb\xbf" + TREES.encode())
        assert main(["predict", str(trained), *arguments]) == 0
        assert capsys.readouterr().out == expected
    give(monkeypatch, b"")
    assert main(["predict", str(trained)]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b" \n\n"])
def test_an_empty_file_says_so(trained, tmp_path, capsys, content):
    path = tmp_path / "empty.txt"
    path.write_bytes(content)
    assert main(["predict", str(trained), str(path)]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    message = f"graphsent predict: {path} is empty: there is nothing to predict\n"
    assert captured.err == message


def test_a_closed_output_pipe_is_not_an_error(trained, tmp_path):
    path = tmp_path / "many.txt"
    path.write_text("(S (A a) (B b))\n" * 5000)
    command = f"'{sys.executable}' -m graphsent predict '{trained}' '{path}' | head -n 1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert result.stdout.count("\n") == 1
    assert not without_compiling(result.stderr)


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_tree_is_drawn_with_predicted_labels(trained, file, tmp_path, capsys, suffix):
    out = tmp_path / f"tree.{suffix}"
    assert main(["draw", file, "--number=2", f"--model={trained}", f"--out={out}"]) == 0
    assert capsys.readouterr().out == f"wrote {out}\n"
    start = out.read_bytes()[:8]
    assert start.startswith(b"\x89PNG" if suffix == "png" else b"<?xml")


CONLLU = b"1\t(\t_\t_\t_\t_\t2\tpunct\t_\t_\n2\tgood\t_\t_\t_\t_\t0\troot\t_\t_\n"


def test_labels_before_drawn_trees_are_those_of_the_roots(trained, tmp_path, capsys, monkeypatch):
    path, out = tmp_path / "parses.trees", tmp_path / "tree.svg"
    path.write_text("1\t(ROOT (W so) (W good))\n\n3\t\n3\t(ROOT (W good))\n")
    assert main(["draw", str(path), "--number=2", f"--out={out}"]) == 0
    assert {"3", "good"} <= set(re.findall(r"<!-- (.*?) -->", out.read_text()))
    model = f"--model={trained}"
    assert main(["draw", str(path), model, "--gold", f"--out={out}"]) == 0
    assert main(["draw", str(path), model, f"--out={tmp_path / 'page.html'}"]) == 0
    assert "2 trees" in capsys.readouterr().out
    give(monkeypatch, b"3\t(ROOT (W good))\n")
    assert main(["draw", f"--out={out}"]) == 0
    give(monkeypatch, CONLLU)
    assert main(["draw", f"--out={out}"]) == 0
    assert "is outside" not in capsys.readouterr().err
    path.write_text("1\t(ROOT (W so)\n")
    assert main(["draw", str(path), f"--out={out}"]) == 2
    assert f"{path}:1:3: the bracket" in capsys.readouterr().err


def test_drawing_a_tree_from_the_command_line(tmp_path, monkeypatch):
    out = tmp_path / "tree.svg"
    assert main(["draw", "--tree=(S (A one) (B two))", "--title=three nodes", "-o", str(out)]) == 0
    assert "three nodes" in out.read_text()
    give(monkeypatch, b"(S (A one) (B two))")
    assert main(["draw", "-o", str(tmp_path / "other.svg")]) == 0
