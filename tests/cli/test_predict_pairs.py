"""`graphsent predict` on tables of pairs."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from graphsent.cli import main
from graphsent.models import NBoW, SequenceRelatedness
from graphsent.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["the", "film", "good", "is", "."], lower_fallback=True)


@pytest.fixture
def pairs(tmp_path, monkeypatch) -> str:
    """A saved model of pairs of sentences, in the working directory."""
    monkeypatch.chdir(tmp_path)
    SequenceRelatedness(VOCABULARY, 5, 3, 4, comparison=3).save_pretrained("pairs")
    return "pairs"


def test_pairs_from_a_table(pairs, capsys):
    Path("first.txt").write_text("the film\ngood\n")
    Path("second.txt").write_text("good film\nthe film\n")
    assert main(["predict", pairs, "first.txt", "second.txt"]) == 0
    expected = capsys.readouterr().out
    rows = 'id,sentence_A,sentence_B\n1,the film,good film\n2,good,"the film"\n'
    Path("pairs.csv").write_text(rows)
    assert main(["predict", pairs, "pairs.csv"]) == 0
    assert capsys.readouterr().out == expected
    Path("pairs.tsv").write_text(rows.replace('"', "").replace(",", "\t"))
    assert main(["predict", pairs, "pairs.tsv"]) == 0
    assert capsys.readouterr().out == expected
    Path("bare.tsv").write_text("the film\tgood film\ngood\tthe film\n")
    assert main(["predict", pairs, "bare.tsv", "--text-column=1", "--text-column=2"]) == 0
    assert capsys.readouterr().out == expected
    Path("rows.csv").write_text("a,b,c\ngood film,x,the film\nthe film,x,good\n")
    columns = ["--text-column=c", "--text-column=a"]
    assert main(["predict", pairs, "rows.csv", *columns]) == 0
    assert capsys.readouterr().out == expected


def test_a_table_of_pairs_on_standard_input(pairs, capsys, monkeypatch):
    columns = ["--text-column=a", "--text-column=c"]
    for text in (
        "a,b,c\nthe film,x,good film\ngood,x,the film\n",
        '{"a": "the film", "c": "good film"}\n{"a": "good", "c": "the film"}\n',
    ):
        for file in ([], ["-"]):
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
            assert main(["predict", pairs, *file, *columns]) == 0
            rows = [line.split("\t")[1:] for line in capsys.readouterr().out.splitlines()]
            assert rows == [["the film", "good film"], ["good", "the film"]]


def test_classes_of_pairs_are_no_labels_of_trees(pairs, capsys):
    options = {"goal": "classification", "label_names": ("no", "good")}
    SequenceRelatedness(VOCABULARY, 2, 3, 4, comparison=3, **options).save_pretrained(pairs)
    Path("pairs.csv").write_text("a,b\n(good film),the film\n")
    columns = ["--text-column=a", "--text-column=b"]
    assert main(["predict", pairs, "pairs.csv", *columns]) == 0
    assert capsys.readouterr().out.split("\t")[2:] == ["( good film )", "the film\n"]


def test_the_same_sentence_twice(pairs, capsys):
    assert main(["predict", pairs, "the film", "the film"]) == 0
    assert capsys.readouterr().out.endswith("the film\tthe film\n")


def test_a_bad_row_of_a_table_of_pairs_is_reported_once(pairs, capsys):
    Path("pairs.csv").write_text("first,second\nthe film,good\nthe,\nfilm,the,a\ngood,film\n")
    assert main(["predict", pairs, "pairs.csv", "--format=jsonl"]) == 1
    captured = capsys.readouterr()
    found = [json.loads(line) for line in captured.out.splitlines()]
    assert [each.get("line") for each in found] == [None, 3, 4, None]
    errors = captured.err.splitlines()
    assert [":3: " in errors[0], ":4: " in errors[1]] == [True, True]
    assert errors[2].startswith("graphsent predict: 2 of 4")


def test_tables_of_pairs_are_for_models_of_pairs(pairs, capsys):
    NBoW(VOCABULARY, 3, 4).save_pretrained("words")
    Path("text.csv").write_text("text\nthe film\n")
    assert main(["predict", pairs, "text.csv"]) == 2
    assert "text.csv: expected two columns" in capsys.readouterr().err
    Path("pairs.csv").write_text("first,second\nthe film,good\n")
    assert main(["predict", "words", "pairs.csv"]) == 2
    assert "choose one column" in capsys.readouterr().err
    assert main(["predict", "words", "pairs.csv", "--text-column=second"]) == 0
    assert capsys.readouterr().out.endswith("good\n")


def test_a_file_with_inputs_is_not_called_empty(pairs, capsys):
    Path("first.txt").write_text("the film\ngood\n")
    Path("second.txt").write_text("")
    assert main(["predict", pairs, "first.txt", "second.txt"]) == 1
    error = capsys.readouterr().err
    assert "first.txt has 2 inputs and second.txt 0: expected equal numbers" in error
    assert "is empty" not in error
    Path("first.txt").write_text("")
    assert main(["predict", pairs, "first.txt", "second.txt"]) == 0
    assert "first.txt is empty: there is nothing to predict" in capsys.readouterr().err


def test_two_trees_on_a_line_do_not_shift_the_pairs_after_it(pairs, capsys):
    Path("first.trees").write_text("(S good) (S is)\n(S film)\n(S the)\n")
    Path("second.trees").write_text("(S good)\n(S film)\n(S the) (S is)\n")
    assert main(["predict", pairs, "first.trees", "second.trees", "--input=trees"]) == 1
    captured = capsys.readouterr()
    assert [line.split("\t")[1:] for line in captured.out.splitlines()] == [
        [],
        ["film", "film"],
        [],
    ]
    first, second, *_ = captured.err.splitlines()
    assert first.endswith("first.trees:1: expected one tree, got 2")
    assert second.endswith("second.trees:3: expected one tree, got 2")
