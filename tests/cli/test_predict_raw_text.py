"""`graphsent predict` on raw text with models of trees: parsers, mixed input, messages."""

from __future__ import annotations

import io
import json

import pytest
import torch
from commands import status_of

from graphsent.cli import main
from graphsent.models import ARNNRelatedness, BiTreeLSTMClassifier, NBoW
from graphsent.parsing import TreeSource, load_parser
from graphsent.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["the", "film", "good", "is", "."], lower_fallback=True)
FLAT, HEADED = "--parser=toy_parsers:flat", "--parser=toy_parsers:headed"


@pytest.fixture
def trees(tmp_path) -> str:
    """A saved model of trees."""
    torch.manual_seed(0)
    model = BiTreeLSTMClassifier(VOCABULARY, 3, 4, 4, 4)
    model.tree_source = load_parser("toy_parsers:flat").source
    model.save_pretrained(tmp_path / "trees")
    return str(tmp_path / "trees")


def predict(model, text, monkeypatch, *arguments) -> int:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    return status_of(["predict", model, *arguments])


def sentences(output: str) -> list[str]:
    return [line.split("\t")[-1] for line in output.split("\n")[:-1]]


MIXED = "The film is good .\n(S (A the) (B film))\n(good) film\n\nbad\n(S (A is)\n  (B good))\n"


def test_lines_in_unclosed_brackets_are_lines(trees, monkeypatch, capsys):
    text = "(: is film\n): the film\n\n((is good))\n( laughing film\n  good film\n\nfilm\n"
    assert predict(trees, text, monkeypatch, FLAT) == 1
    captured = capsys.readouterr()
    found = sentences(captured.out)
    assert len(found) == 8
    assert found[0] == "-LRB-: is film"
    assert found[3] == "-LRB--LRB-is good-RRB--RRB-"
    assert found[5] == "good film"
    assert captured.err.splitlines()[-1].endswith("2 of 8 inputs are bad and have no result")


def test_lines_end_in_newlines(trees, tmp_path, capsys):
    path, out = tmp_path / "old.txt", tmp_path / "old.trees"
    path.write_bytes(b"good film\rthe film\r")
    for command in (
        ["predict", trees, str(path), FLAT],
        ["parse", str(path), FLAT, f"--out={out}"],
    ):
        assert main(command) == 2
        message = f"{path}:1: a file whose lines end in carriage returns alone"
        assert message in capsys.readouterr().err
    path.write_bytes(b"good film\r\nthe film")
    assert main(["predict", trees, str(path), FLAT]) == 0
    assert sentences(capsys.readouterr().out) == ["good film", "the film"]


def test_lines_are_trees_or_text(trees, monkeypatch, capsys):
    assert predict(trees, MIXED, monkeypatch, FLAT) == 1
    captured = capsys.readouterr()
    found = sentences(captured.out)
    expected = ["The film is good .", "the film", "-LRB-good-RRB- film", "", "", "is good"]
    assert found == expected
    errors = captured.err.splitlines()
    assert "standard input:4: an empty line" in errors[0]
    assert "standard input:5: toy_parsers:flat has no tree for 'bad'" in errors[1]
    assert errors[-1].endswith("2 of 6 inputs are bad and have no result")


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ("text", ["-LRB-S film-RRB-", "the film"]),
        ("auto", ["film", "the film"]),
        ("trees", ["film", ""]),
    ],
)
def test_input_option_says_what_lines_are(trees, monkeypatch, capsys, expected, found):
    status = predict(trees, "(S film)\nthe film\n", monkeypatch, FLAT, f"--input={expected}")
    assert status == (expected == "trees")
    assert sentences(capsys.readouterr().out) == found


def test_input_of_models_of_words(tmp_path, monkeypatch, capsys):
    NBoW(VOCABULARY, 3, 4).save_pretrained(tmp_path)
    text = "(the film)\n(S (A the) (B film))\n"
    assert predict(str(tmp_path), text, monkeypatch, "--input=text") == 0
    found = sentences(capsys.readouterr().out)
    assert found == ["( the film )", "( S ( A the ) ( B film ) )"]
    assert predict(str(tmp_path), "the film\n", monkeypatch, "--input=trees") == 1
    assert "outside of any tree" in capsys.readouterr().err
    assert predict(str(tmp_path), "the film\n", monkeypatch, FLAT) == 2
    assert "'nbow' reads words: it needs no parser" in capsys.readouterr().err


IN_BRACKETS = "(not good)\n(awful film\n(: film\n(S good)\n(pos film)\n(good)\n"


def test_raw_text_in_brackets_is_no_tree(tmp_path, monkeypatch, capsys):
    NBoW(VOCABULARY, 2, 4, label_names=("neg", "pos")).save_pretrained(tmp_path)
    assert predict(str(tmp_path), IN_BRACKETS, monkeypatch) == 0
    found = sentences(capsys.readouterr().out)
    expected = ["( not good )", "( awful film", "( : film", "good", "film", "( good )"]
    assert found == expected
    table = tmp_path / "table.csv"
    table.write_text("text\n" + IN_BRACKETS)
    assert main(["predict", str(tmp_path), str(table)]) == 0
    assert sentences(capsys.readouterr().out) == expected
    assert main(["encode", str(tmp_path), "(not good)", "(awful film"]) == 0
    encoded = [json.loads(line)["text"] for line in capsys.readouterr().out.splitlines()]
    assert encoded == expected[:2]


def test_raw_text_in_brackets_is_parsed(trees, monkeypatch, capsys):
    assert predict(trees, "(not good)\n(awful film\n(S good)\n", monkeypatch, FLAT) == 0
    assert sentences(capsys.readouterr().out) == ["-LRB-not good-RRB-", "-LRB-awful film", "good"]


def test_an_untrusted_model_runs_no_code(trees, monkeypatch, capsys, tmp_path):
    (tmp_path / "evil.py").write_text("raise AssertionError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    config = tmp_path / "trees" / "config.json"
    for name in ("evil:parse", "spacy:./evil", "corenlp:http://example.org"):
        values = json.loads(config.read_text())
        config.write_text(json.dumps({**values, "trees": {**values["trees"], "parser": name}}))
        assert predict(trees, "the film\n", monkeypatch) == 2
        message = capsys.readouterr().err
        assert f"names the parser {name!r}" in message
        assert f"--parser {name}" in message
        assert predict(trees, "(S (A the) (B film))\n", monkeypatch) in (0, 2)
        capsys.readouterr()


def test_parser_of_another_version_or_kind(trees, monkeypatch, capsys, tmp_path):
    config = tmp_path / "trees" / "config.json"
    values = json.loads(config.read_text())
    values["trees"]["version"] = "older"
    config.write_text(json.dumps(values))
    assert predict(trees, "the film\n", monkeypatch, FLAT) == 0
    (warning,) = capsys.readouterr().err.splitlines()
    assert warning.startswith("graphsent predict: the model was trained on trees by toy_parsers")
    assert "(older)" in warning
    assert predict(trees, "the film\n", monkeypatch, HEADED) == 2
    assert (
        "reads constituency trees: toy_parsers:headed returns dependency" in capsys.readouterr().err
    )


def test_a_model_without_a_parser(tmp_path, monkeypatch, capsys):
    BiTreeLSTMClassifier(VOCABULARY, 3, 4, 4, 4).save_pretrained(tmp_path)
    assert predict(str(tmp_path), "the film\n", monkeypatch) == 1
    assert "raw text needs --parser" in capsys.readouterr().err
    assert predict(str(tmp_path), "the film\n", monkeypatch, "--input=text") == 2
    assert (
        "--input text: the model 'bitreelstm' reads trees and needs --parser"
        in capsys.readouterr().err
    )
    assert predict(str(tmp_path), "the film\n", monkeypatch, FLAT) == 0


def test_pairs_of_text(tmp_path, monkeypatch, capsys):
    model = ARNNRelatedness(VOCABULARY, 5, 4, 4, comparison=3)
    model.tree_source = TreeSource("dependency")
    model.save_pretrained(tmp_path / "model")
    for name, text in (("a", "the film\nbad\n"), ("b", "film\ngood\n")):
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / name) for name in "ab"]
    assert main(["predict", str(tmp_path / "model"), *files, HEADED]) == 1
    captured = capsys.readouterr()
    first, second = captured.out.splitlines()
    assert first.split("\t")[1:] == ["the film", "film"]
    assert second == ""
    assert f"{files[0]}:2: toy_parsers:headed cannot parse 'bad'" in captured.err
