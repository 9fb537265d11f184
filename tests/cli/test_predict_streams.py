"""`graphsent predict` on streams: bad inputs are isolated, results keep step with inputs."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from graphsent.cli import main
from graphsent.errors import ModelError
from graphsent.models import ARNNClassifier, ARNNRelatedness, BiTreeLSTMClassifier, NBoW
from graphsent.trees import parse_conllu
from graphsent.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["the", "film", "good", "is", "."], lower_fallback=True)


@pytest.fixture
def words(tmp_path) -> str:
    """A saved model of words."""
    torch.manual_seed(0)
    NBoW(VOCABULARY, 3, 4).save_pretrained(tmp_path / "words")
    return str(tmp_path / "words")


def give(monkeypatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


def texts(output: str) -> list[str]:
    """The sentence of each line, "" for an empty one."""
    return [line.split("\t")[-1] for line in output.split("\n")[:-1]]


@pytest.mark.parametrize("to", ["file", "stdin"])
def test_bad_lines_are_named_and_the_rest_is_predicted(words, tmp_path, capsys, monkeypatch, to):
    text = b"The film is good.\n\nis (S\n(S (A good)\n(S (A the) (B film))\nbad \xff\n  \nthe end"
    path = tmp_path / "text.txt"
    path.write_bytes(text)
    give(monkeypatch, text)
    assert main(["predict", words, str(path) if to == "file" else "-"]) == 1
    captured = capsys.readouterr()
    source = str(path) if to == "file" else "standard input"
    expected = ["The film is good .", "", "is ( S", "", "the film", "", "", "the end"]
    assert texts(captured.out) == expected
    *errors, unknown, count = captured.err.splitlines()
    prefix = f"graphsent predict: {source}:"
    assert [error.removeprefix(prefix).partition(": ")[0] for error in errors] == [
        "2",
        "4:1",
        "6:5",
        "7",
    ]
    assert errors[0] == f"{prefix}2: an empty line: expected a sentence"
    assert unknown == (
        "graphsent predict: 3 of 12 words are unknown to the model (--unknown lists them)"
    )
    assert count == "graphsent predict: 4 of 8 inputs are bad and have no result"


def test_objects_stand_for_bad_lines(words, tmp_path, capsys):
    path = tmp_path / "text.txt"
    path.write_text("good\n\nfilm\n")
    assert main(["predict", words, str(path), "--format=jsonl"]) == 1
    first, second, third = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["text"], third["text"]) == ("good", "film")
    assert second == {"line": 2, "error": f"{path}:2: an empty line: expected a sentence"}


def test_rows_of_a_table(words, tmp_path, capsys):
    path = tmp_path / "table.csv"
    path.write_text(
        'id,review,stars\n1,"good\nfilm",5\n2,,1\n3,film\n4,"(S (A good) (B film))",3\n'
    )
    assert main(["predict", words, str(path), "--format=jsonl"]) == 1
    captured = capsys.readouterr()
    first, second, third, tree = map(json.loads, captured.out.splitlines())
    assert (first["text"], tree["text"]) == ("good film", "good film")
    assert len(tree["nodes"]) == 3
    assert second == {"line": 4, "error": f"{path}:4: the text is empty: expected a sentence"}
    assert third["error"] == f"{path}:5: expected 3 columns, as in the first row, got 2"
    objects = tmp_path / "table.jsonl"
    objects.write_text('{"id": 1, "said": "good film"}\n')
    assert main(["predict", words, str(objects), "--text-column=said"]) == 0
    assert capsys.readouterr().out.endswith("\tgood film\n")
    assert main(["encode", words, str(objects), "--text-column=said"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == "good film"


def test_each_row_of_a_table_has_one_result(trained, tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text('text\n""\n"(3 (2 a)"\n"(3 film))"\n(2 (2 a)) (2 b)\n(3 (2 a) (2 film))\n')
    assert main(["predict", str(trained), str(path), "--format=jsonl"]) == 1
    *bad, tree = map(json.loads, capsys.readouterr().out.splitlines())
    assert [each["line"] for each in bad] == [2, 3, 4, 5]
    assert bad[-1]["error"] == f"{path}:5: expected one tree, got 2"
    assert tree["text"] == "a film"


def test_cells_of_a_table_that_are_not_text(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_bytes(b"id,text\n1,caf\xe9\n2,good\n")
    assert main(["predict", words, "./rows.csv"]) == 1
    captured = capsys.readouterr()
    assert texts(captured.out) == ["", "good"]
    message = "./rows.csv:2:6: 0xE9 is not valid UTF-8 (unexpected end of data): expected UTF-8, "
    message += "or the encoding by name (--encoding latin-1)"
    assert captured.err.splitlines()[0] == f"graphsent predict: {message}"
    Path("rows.csv").write_bytes(b"caf\xe9,text\n1,good\n2,film\n")
    assert main(["predict", words, "rows.csv", "--text-column=2"]) == 2
    assert "rows.csv:1:4: 0xE9 is not valid UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["predict", "encode"])
@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings(words, command, encoding, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_bytes("id,text\n1,schön\n2,good\n".encode(encoding))
    Path("lines.txt").write_bytes("schön\ngood\n".encode(encoding))
    Path("tree.conllu").write_bytes(CONLLU.replace("the", "schön").encode(encoding))
    for file in ("rows.csv", "lines.txt", "-", "tree.conllu"):
        give(monkeypatch, Path("lines.txt").read_bytes())
        form = ["--format=jsonl"] if command == "predict" else []
        main([command, words, file, f"--encoding={encoding}", *form])
        first = json.loads(capsys.readouterr().out.splitlines()[0])
        assert first["text"] == ("schön film" if file == "tree.conllu" else "schön")
    assert main([command, words, "schön film", f"--encoding={encoding}"]) == 0
    assert "schön film" in capsys.readouterr().out
    assert main([command, words, "lines.txt", "--encoding=utf-99"]) == 2
    assert "unknown encoding 'utf-99' for lines.txt" in capsys.readouterr().err


def test_a_file_in_utf16_is_one_error(words, tmp_path, capsys):
    path = tmp_path / "text.txt"
    path.write_bytes("the film\ngood\n".encode("utf-16"))
    assert main(["predict", words, str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "text.txt:1:1: a UTF-16 byte-order mark: expected UTF-8, or the encoding" in line


def test_gzipped_data(words, tmp_path, capsys):
    data = gzip.compress(b"the film\ngood\n" * 9)
    path = tmp_path / "text.txt"
    path.write_bytes(data)
    assert main(["predict", words, str(path)]) == 2
    assert capsys.readouterr().err == (
        f"graphsent predict: {path}: gzipped data: expected text, or a file named *.gz\n"
    )
    named = tmp_path / "TEXT.TXT.GZ", tmp_path / "TREE.CONLLU.GZ"
    named[0].write_bytes(data)
    named[1].write_bytes(gzip.compress(CONLLU.partition("\n\n")[0].encode()))
    for path, expected in zip(named, (["the film", "good"] * 9, ["the film"]), strict=True):
        assert main(["predict", words, str(path)]) == 0
        assert texts(capsys.readouterr().out) == expected


def test_nul_characters_are_bad(words, tmp_path, capsys):
    path = tmp_path / "text.txt"
    path.write_bytes(b"the film\ngo\0od\n(S (A go\0od) (B film))\ngood\r\n")
    assert main(["predict", words, str(path)]) == 1
    captured = capsys.readouterr()
    assert texts(captured.out) == ["the film", "", "", "good"]
    assert f"{path}:2:3: a NUL character: expected text" in captured.err
    assert f"{path}:3:9: a NUL character" in captured.err


def test_columns_of_objects_by_number(words, tmp_path, capsys):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 1, " said ": "good film"}\n{" said ": "film", "id": 2}\n')
    for column in ("2", "said"):
        assert main(["predict", words, str(path), f"--text-column={column}"]) == 0
        assert texts(capsys.readouterr().out) == ["good film", "film"]


def test_strict_stops_at_the_first_bad_line(words, tmp_path, capsys):
    path = tmp_path / "text.txt"
    path.write_text("good\n\nfilm\n\n")
    assert main(["predict", words, str(path), "--strict"]) == 1
    captured = capsys.readouterr()
    assert texts(captured.out) == ["good"]
    message = f"graphsent predict: {path}:2: an empty line: expected a sentence\n"
    assert captured.err == message
    assert main(["predict", words, str(path), "--strict", "--format=json"]) == 1
    assert [each["text"] for each in json.loads(capsys.readouterr().out)] == ["good"]
    path.write_text("good\nfilm\n")
    assert main(["predict", words, str(path), "--strict"]) == 0


def test_unknown_words_are_counted_and_listed(words, tmp_path, capsys):
    path = tmp_path / "text.txt"
    path.write_text("The GOOD film\nnew film, new End\n")
    assert main(["predict", words, str(path), "--unknown"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "graphsent predict: 4 of 8 words are unknown to the model",
        "2\tnew",
        "1\t,",
        "1\tEnd",
    ]
    path.write_text("the good film\n")
    assert main(["predict", words, str(path), "--unknown"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("label", ["good", "1"])
def test_a_label_before_a_tab_is_noticed(words, label, tmp_path, capsys, monkeypatch):
    path = tmp_path / "labelled.txt"
    path.write_text(f"{label}\tthe film\n{label}\tthe good film\n")
    for file in (str(path), "-"):
        give(monkeypatch, path.read_bytes())
        assert main(["predict", words, file]) == 0
        out, err = capsys.readouterr()
        assert texts(out) == [f"{label} the film", f"{label} the good film"]
        line = err.splitlines()[0]
        noticed = "a tab is read as a space, and a label before it as words of the sentence"
        assert line == (
            f"graphsent predict: {noticed}, unless the file is named *.tsv: '{label}\\tthe film'"
        )


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        ("label\ttext\n1\tthe film\n\n2\t(S (A good))\n", []),
        ("1\tthe film\n2\tgood\n", []),
        ("\tthe film\n\tgood\n", []),
        ("text\tid\nthe film\t1\ngood\t2\n", []),
        ("a\tb\nx\tthe film\ny\tgood\n", ["--text-column=b"]),
        ("x\tthe film\t\ny\tgood\t\n", ["--text-column=2"]),
        ("the film\ngood\n", []),
    ],
)
def test_tab_separated_values_are_read_as_in_training(words, rows, columns, tmp_path, capsys):
    path = tmp_path / "rows.tsv"
    path.write_text(rows)
    assert main(["predict", words, str(path), *columns]) == 0
    captured = capsys.readouterr()
    assert texts(captured.out) == ["the film", "good"]
    assert captured.err == ""
    assert main(["encode", words, str(path), *columns]) == 0
    found = map(json.loads, capsys.readouterr().out.splitlines())
    assert [each["text"] for each in found] == ["the film", "good"]


@pytest.mark.parametrize(
    "rows",
    [
        'id,said\n1,"the\nfilm"\n2,good\n',
        '\n{"id": 1, "said": "the film"}\n{"id": 2, "said": "good"}\n',
        "id\tsaid\n1\tthe film\n2\tgood\n",
    ],
)
def test_a_table_on_standard_input(words, rows, tmp_path, capsys, monkeypatch):
    for file in ([], ["-"]):
        give(monkeypatch, rows.encode())
        assert main(["predict", words, *file, "--text-column=said"]) == 0
        captured = capsys.readouterr()
        assert texts(captured.out) == ["the film", "good"]
        assert captured.err == ""
    BiTreeLSTMClassifier(VOCABULARY, 3, 4, 4, 4).save_pretrained(tmp_path / "trees")
    give(monkeypatch, b"1,said\n2,(S (A the) (B film))\n")
    assert main(["predict", str(tmp_path / "trees"), "--text-column=said"]) == 0
    assert texts(capsys.readouterr().out) == ["the film"]
    give(monkeypatch, rows.encode())
    assert main(["encode", words, "--text-column=sad"]) == 2
    assert "no column 'sad': expected one of 'id', 'said'" in capsys.readouterr().err


def test_objects_that_are_read_as_text_are_noticed(words, capsys, monkeypatch):
    give(monkeypatch, b'{"text": "the film"}\n' * 600)
    assert main(["predict", words]) == 0
    captured = capsys.readouterr()
    assert len(texts(captured.out)) == 600
    noticed = "graphsent predict: a JSON object is read as words of a sentence: name the column"
    assert [line.startswith(noticed) for line in captured.err.splitlines()] == [True, False]
    give(monkeypatch, b'{good}\n{"text": "the film"}\n')
    assert main(["predict", words]) == 0
    assert "JSON" not in capsys.readouterr().err


@pytest.mark.parametrize("columns", [[], ["--text-column=text"]])
@pytest.mark.parametrize("suffix", ["tsv", "csv"])
def test_a_table_of_one_column_has_a_header(words, suffix, columns, tmp_path, capsys):
    path = tmp_path / f"rows.{suffix}"
    path.write_text("Text\nthe film\ngood\n")
    assert main(["predict", words, str(path), *columns]) == 0
    assert texts(capsys.readouterr().out) == ["the film", "good"]


def test_a_table_of_one_column_may_be_named(words, tmp_path, capsys):
    path = tmp_path / "rows.tsv"
    path.write_text("said\nthe film\ngood\t2\n")
    assert main(["predict", words, str(path), "--text-column=said"]) == 1
    captured = capsys.readouterr()
    assert texts(captured.out) == ["the film", ""]
    assert f"{path}:3: expected 1 columns, as in the first row, got 2" in captured.err


def test_bad_rows_of_tab_separated_values(words, tmp_path, capsys):
    path = tmp_path / "rows.tsv"
    path.write_text("1\tthe film\nno label\n1\tgood\t2\n1\tgood\n")
    assert main(["predict", words, str(path)]) == 1
    captured = capsys.readouterr()
    assert texts(captured.out) == ["the film", "", "", "good"]
    assert f"{path}:2: no tab in 'no label'" in captured.err
    assert f"{path}:3: expected 2 columns, as in the first row, got 3" in captured.err
    path.write_text("no label\n1\tgood\n")
    assert main(["predict", words, str(path)]) == 1
    captured = capsys.readouterr()
    assert texts(captured.out) == ["", "good"]
    assert f"{path}:1: no tab in 'no label'" in captured.err
    path.write_text("label\tsaid\n1\tthe film\n")
    assert main(["predict", words, str(path)]) == 2
    message = captured = capsys.readouterr().err
    assert "a header or an example? For a header, add --text-column NAME; for" in message
    assert "--label-column" not in message


def test_malformed_trees_are_isolated(tmp_path, capsys):
    BiTreeLSTMClassifier(VOCABULARY, 3, 4, 4, 4).save_pretrained(tmp_path / "trees")
    path = tmp_path / "trees.txt"
    path.write_text("(S (A the) (B film))\nthe film\n(S (A good)))\n(S (A good) (B film))\n")
    assert main(["predict", str(tmp_path / "trees"), str(path), "--format=trees"]) == 1
    captured = capsys.readouterr()
    lines = captured.out.split("\n")
    assert [bool(line) for line in lines] == [True, False, False, True, False]
    assert f"{path}:2:1: 'the' is outside of any tree" in captured.err
    assert "expected '('; this model reads parse trees: raw text needs --parser" in captured.err
    assert f"{path}:3:13: ')' closes nothing" in captured.err
    assert "2 of 4 inputs are bad" in captured.err


def test_text_among_trees_asked_for(words, tmp_path, capsys):
    (tmp_path / "text.txt").write_text("the film\n")
    assert main(["predict", words, str(tmp_path / "text.txt"), "--input=trees"]) == 1
    assert "; this model reads raw text without --input trees\n" in capsys.readouterr().err


def test_labels_before_trees_are_skipped(words, tmp_path, capsys, monkeypatch):
    BiTreeLSTMClassifier(VOCABULARY, 3, 4, 4, 4).save_pretrained(tmp_path / "trees")
    path = tmp_path / "parses.trees"
    path.write_text("so so (ok)\t(S (A the) (B film))\n1\t(S (A good)\n1\t(S good)\n")
    for model in (words, str(tmp_path / "trees")):
        assert main(["predict", model, str(path)]) == 1
        captured = capsys.readouterr()
        assert texts(captured.out) == ["the film", "", "good"]
        assert f"{path}:2:3: the bracket" in captured.err
    give(monkeypatch, b"1\t(S (A the) (B film))\n")  # the number does not make it CoNLL-U
    assert main(["predict", str(tmp_path / "trees")]) == 0
    assert texts(capsys.readouterr().out) == ["the film"]
    path.write_text("the film\t(good)\n")
    assert main(["predict", words, str(path)]) == 0
    assert texts(capsys.readouterr().out) == ["the film ( good )"]


def test_inputs_that_only_the_model_rejects(tmp_path, capsys, monkeypatch):
    """A model, say of binary trees, may reject well-formed trees."""

    def shape_tree(self, tree):
        if "bad" in tree.words:
            raise ModelError("this tree is not for me")
        return tree

    monkeypatch.setattr(BiTreeLSTMClassifier, "shape_tree", shape_tree)
    BiTreeLSTMClassifier(VOCABULARY, 3, 4, 4, 4).save_pretrained(tmp_path / "trees")
    path = tmp_path / "trees.txt"
    lines = [
        f"(S (A {word}) (B film))" for word in ["the", "bad", "good", "is", "bad", "film", "the"]
    ]
    path.write_text("\n".join(lines))
    assert main(["predict", str(tmp_path / "trees"), str(path)]) == 1
    captured = capsys.readouterr()
    assert [bool(line) for line in captured.out.splitlines()] == [1, 0, 1, 1, 0, 1, 1]
    assert captured.err.splitlines()[:2] == [
        f"graphsent predict: {path}:{line}: this tree is not for me" for line in (2, 5)
    ]


CONLLU = """\
# sent_id = 1
1\tthe\t_\t_\t_\t_\t2\tdet\t_\t_
2\tfilm\t_\t_\t_\t_\t0\troot\t_\t_

1\tgood\t_\t_\t_\t_\t5\troot\t_\t_

1\tgood\t_\t_\t_\t_\t0\troot\t_\t_
"""


def test_conllu_sentences_are_isolated(tmp_path, capsys, monkeypatch):
    ARNNClassifier(VOCABULARY, 3, 4, 5).save_pretrained(tmp_path / "model")
    path = tmp_path / "trees.conllu"
    path.write_text(CONLLU)
    for file in (str(path), "-"):
        give(monkeypatch, CONLLU.encode())
        assert main(["predict", str(tmp_path / "model"), file]) == 1
        captured = capsys.readouterr()
        assert texts(captured.out) == ["the film", "", "good"]
        assert ":5:" in captured.err
        assert "1 of 3 inputs are bad" in captured.err
    assert main(["predict", str(tmp_path / "model"), str(path), "--format=trees"]) == 1
    predicted = parse_conllu(capsys.readouterr().out)
    assert [tree.metadata for tree in predicted] == [{"sent_id": "1"}, {}]


def test_pairs_stay_in_step(tmp_path, capsys):
    ARNNRelatedness(VOCABULARY, 5, 4, 5, 6).save_pretrained(tmp_path / "model")
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("(A the)\n(A good\n(A film)\n(A is)\n")
    second.write_text("(B film)\n(B is)\n(B good))\n(B the)\n")
    files = [str(tmp_path / "model"), str(first), str(second)]
    assert main(["predict", *files]) == 1
    captured = capsys.readouterr()
    assert [line.split("\t")[1:] for line in captured.out.splitlines()] == [
        ["the", "film"],
        [],
        [],
        ["is", "the"],
    ]
    assert f"{first}:2:1: the bracket" in captured.err
    assert f"{second}:3:9: ')' closes nothing" in captured.err
    assert captured.err.endswith("2 of 4 inputs are bad and have no result\n")
    second.write_text("(B film)\n(B is))\n")
    assert main(["predict", *files, "--format=jsonl"]) == 1
    captured = capsys.readouterr()
    first_pair, bad = map(json.loads, captured.out.splitlines())
    assert first_pair["first"] == "the"
    assert bad["error"].count("; ") == 1  # of both
    assert captured.err.splitlines()[-1] == (
        "graphsent predict: 1 of 2 inputs are bad and have no result; "
        f"{first} has 4 inputs and {second} 2: expected equal numbers"
    )


@pytest.mark.parametrize("form", ["{}", '{{"t": "{}"}}', '1,"{}"'])
def test_results_are_streamed_with_the_input(words, form):
    command = [sys.executable, "-m", "graphsent", "predict", words]
    command += [] if form == "{}" else ["-", "--text-column", "2" if "," in form else "t"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for sentence in ("good film", "the film"):
            process.stdin.write(form.format(sentence) + "\n")
            process.stdin.flush()
            assert process.stdout.readline().endswith(f"\t{sentence}\n")
        process.stdout.close()
        process.stdin.write("\n" + form.format("film") + "\n")
        process.stdin.close()
        number = 1 if form == "{}" else 0  # about the empty line, none about the pipe
        assert process.stderr.read().count("\n") == number
        assert process.wait() == 141


@pytest.mark.skipif(os.name == "nt", reason="no module resource")
def test_memory_does_not_grow_with_the_input(words, tmp_path):
    script = """
import resource, sys
from graphsent.cli import main
for path in sys.argv[2:]:
    assert main(["predict", sys.argv[1], path]) == 0
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""
    paths = [tmp_path / "few.txt", tmp_path / "many.txt"]
    for path, count in zip(paths, (2_000, 12_000), strict=True):
        path.write_text("the film is good .\n" * count)
    command = [sys.executable, "-c", script, words, *map(str, paths)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.count("\n") == 14_000
    first, second = map(int, result.stderr.split())  # kilobytes
    assert second - first < 30_000  # 10,000 more sentences at once would take 90,000
