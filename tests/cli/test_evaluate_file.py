"""`graphsent evaluate` on another file than those of the run, and on files that have changed."""

from __future__ import annotations

import json
import os

import pytest

from graphsent.cli import main

NBOW = ["--model=nbow", "--embedding-dim=4", "--epochs=1", "--num-threads=1"]
ROWS = [(("pos", "neg")[i % 2], f"{('good', 'bad')[i % 2]} film {i}") for i in range(40)]


def write(path, rows=ROWS, form="{0}\t{1}\n", head="", encoding="utf-8"):
    path.write_text(head + "".join(form.format(*row) for row in rows), encoding=encoding)
    return path


@pytest.fixture
def run(tmp_path):
    train = write(tmp_path / "my.tsv")
    assert main(["train", f"--train={train}", *NBOW, f"--out={tmp_path}/run"]) == 0
    return tmp_path / "run"


def judge(run, *flags):
    """The status of the command, and the content of its JSON."""
    path = run.parent / "figures.json"
    status = main(["evaluate", str(run), *map(str, flags), f"--json={path}"])
    return status, json.loads(path.read_text()) if status == 0 else {}


def test_another_file_is_evaluated(run, tmp_path, capsys):
    other = write(tmp_path / "other.tsv", [("pos", "good play"), ("neg", "bad play")] * 3)
    (tmp_path / "my.tsv").unlink()  # the labels are those of the model
    page = tmp_path / "page.html"
    status, content = judge(run, f"--test={other}", "--errors=1", f"--page={page}")
    assert status == 0
    printed = capsys.readouterr()
    assert "data: test 6 of other.tsv; 2 labels in test: neg 3, pos 3" in printed.out
    assert not printed.err
    (found,) = content["corpus"]["splits"]["test"]["files"]
    assert found["path"] == str(other)
    assert sum(each["count"] for each in content["classes"]) == 6
    assert page.exists()


def test_columns_and_encoding_are_those_of_the_run(tmp_path, capsys):
    rows = [(label, f"{text} café") for label, text in ROWS]
    form = {"form": "x,{1},{0}\n", "head": "text,said,mood\n", "encoding": "latin-1"}
    train, other = (write(tmp_path / name, rows, **form) for name in ("a.csv", "b.csv"))
    flags = ["--text-column=said", "--label-column=mood", "--encoding=latin-1", *NBOW]
    assert main(["train", f"--train={train}", *flags, f"--out={tmp_path}/run"]) == 0
    assert main(["evaluate", f"{tmp_path}/run", f"--test={other}"]) == 0
    assert "test 40 of b.csv; 2 labels in test: neg 20, pos 20" in capsys.readouterr().out


def test_an_unknown_label_is_named(run, tmp_path, capsys):
    other = write(tmp_path / "other.tsv", [("pos", "good play"), ("fair", "a play")])
    assert main(["evaluate", str(run), f"--test={other}"]) == 2
    assert "other.tsv:2: unknown label 'fair': expected one of neg, pos" in capsys.readouterr().err


def test_all_runs_are_evaluated_on_the_file(tmp_path, capsys):
    train = write(tmp_path / "my.tsv")
    other = write(tmp_path / "other.tsv", ROWS[:4])
    flags = [f"--train={train}", *NBOW, "--num-folds=2", "--folds=all", f"--out={tmp_path}/folds"]
    assert main(["train", *flags]) == 0
    status, content = judge(tmp_path / "folds", f"--test={other}")
    assert status == 0
    counts = [each["corpus"]["splits"]["test"]["examples"] for each in content["runs"]]
    assert counts == [4, 4]


def test_trees_of_the_file(tmp_path, capsys):
    train = write(tmp_path / "my.tsv")
    other = write(tmp_path / "other.tsv", ROWS[:4])
    trees, few = tmp_path / "trees.txt", tmp_path / "few.txt"
    lines = [_tree(text) for _, text in ROWS]
    trees.write_text("".join(lines))
    few.write_text("".join(lines[:4]))
    flags = ["--hidden=4", "--embedding-dim=4", "--epochs=1", "--num-threads=1"]
    flags += [f"--train={train}", f"--train-trees={trees}", f"--out={tmp_path}/run"]
    assert main(["train", *flags]) == 0
    capsys.readouterr()
    for flag in ([f"--test-trees={few}"], ["--test-trees", f"{few}"]):
        assert main(["evaluate", f"{tmp_path}/run", "--test", f"{other}", *flag]) == 0
        assert "test 4 of other.tsv" in capsys.readouterr().out
    assert main(["evaluate", f"{tmp_path}/run", f"--test={other}"]) == 2
    message = capsys.readouterr().err
    assert "other.tsv holds sentences, but the model reads" in message
    assert "for evaluate, --test-trees FILE" in message


def test_raw_text_for_a_model_of_escaped_words(tmp_path):
    """`predict` reads a bracket as -LRB- if the model knows only that; `evaluate` does so, too."""
    words = [("pos", "-LRB-"), ("neg", "-LSB-")] * 20
    train = write(tmp_path / "train.trees", words, "({0} (X film) (X {1}))\n")
    test = write(tmp_path / "test.tsv", [("pos", "film ("), ("neg", "film [")] * 5)
    flags = [f"--train={train}", f"--dev={test}", f"--test={test}", *NBOW, "--epochs=9"]
    assert main(["train", *flags, f"--out={tmp_path}/run"]) == 0
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    _, judged = judge(tmp_path / "run")
    predicted = tmp_path / "predicted.txt"
    assert main(["predict", f"{tmp_path}/run", str(test), f"--out={predicted}"]) == 0
    found = [line.partition("\t")[0] for line in predicted.read_text().splitlines()]
    assert found == ["pos", "neg"] * 5
    assert results["dev"]["accuracy"] == judged["metrics"]["accuracy"] == 1
    out = f"--out={tmp_path}/shaped"
    assert main(["train", *flags, "--model=treelstm", "--trees=left", "--hidden=4", out]) == 0
    assert judge(tmp_path / "shaped", f"--page={tmp_path}/page.html")[0] == 0
    page = (tmp_path / "page.html").read_text()
    assert "-LSB-" in page
    assert '"["' not in page


def _tree(text):
    first, second, third = text.split()
    return f"(S (A {first}) (B (C {second}) (D {third})))\n"


def test_pairs_for_a_model_of_sentences(run, tmp_path, capsys):
    head = "label\ttext1\ttext2\n"
    other = write(tmp_path / "pairs.tsv", form="{0}\t{1}\t{1}\n", head=head)
    assert main(["evaluate", str(run), f"--test={other}"]) == 2
    expected = "pairs.tsv: expected sentences as in training, got pairs of sentences"
    assert expected in capsys.readouterr().err


def test_files_that_are_refused(run, trained, tmp_path, capsys):
    other = write(tmp_path / "other.tsv")
    cases = [
        (run, ["--test=", "--split=test"], "--test: expected a value, got an empty one"),
        (run, [f"--test={other}", "--split=dev"], "--test FILE and --split dev are mutually"),
        (run, [f"--test={other}", "--encoding=latin-1"], "read in the encoding of the run"),
        (run, [f"--test-trees={other}"], "--test-trees needs --test FILE"),
        (run, [f"--test={other}", f"--json={other}"], "would overwrite an input"),
        (trained, [f"--test={other}"], "for models of your own data, but the task is sst5"),
    ]
    for of_run, flags, message in cases:
        with pytest.raises(SystemExit, match="2"):
            main(["evaluate", str(of_run), *flags])
        assert message in capsys.readouterr().err
    assert main(["evaluate", str(run), f"--test={tmp_path}/absent.tsv"]) == 2
    assert "cannot read" in capsys.readouterr().err


def test_changed_files_are_named_once(tmp_path, capsys):
    train, test = write(tmp_path / "my.tsv"), write(tmp_path / "test.tsv", ROWS[:8])
    flags = [f"--{split}={test}" for split in ("dev", "test")]
    flags += [f"--train={train}", *NBOW, "--seeds=0-1", f"--out={tmp_path}/runs"]
    assert main(["train", *flags]) == 0
    capsys.readouterr()
    assert main(["evaluate", f"{tmp_path}/runs"]) == 0
    assert not capsys.readouterr().err
    write(test, ROWS[:7])
    write(train, ROWS[:30])
    assert main(["evaluate", f"{tmp_path}/runs"]) == 0
    expected = f"graphsent evaluate: changed since training: {os.path.realpath(test)}\n"
    assert capsys.readouterr().err == expected
    (tmp_path / "link").symlink_to(tmp_path)
    for same in ("runs/../test.tsv", "link/test.tsv"):
        assert main(["evaluate", f"{tmp_path}/runs", f"--test={tmp_path}/{same}"]) == 0
        assert capsys.readouterr().err == expected
    (tmp_path / "runs" / "seed-0" / "results.json").write_text("{")
    assert main(["evaluate", f"{tmp_path}/runs/seed-0"]) == 0
    assert not capsys.readouterr().err
