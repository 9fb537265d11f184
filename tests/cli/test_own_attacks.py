"""Malformed files, options and saved runs: a one-line error, nothing lost."""

from __future__ import annotations

import gzip
import json
import os
import re

import pytest
import yaml
from commands import status_of

from graphsent.cli import main

NBOW = ["--model=nbow", "--embedding-dim=4", "--epochs=1", "--num-threads=1"]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "my.tsv"
    path.write_text("".join(f"{('pos', 'neg')[i % 2]}\tgood film {i}\n" for i in range(40)))
    return path


def refused(capsys, *arguments, status=2):
    capsys.readouterr()
    found = status_of(arguments)
    assert found == status
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_paths_that_are_not_files(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.tsv")
    (tmp_path / "loop.tsv").symlink_to("loop.tsv")
    out = f"--out={tmp_path}/run"
    line = refused(capsys, "train", f"--train={tmp_path}/pipe.tsv", *NBOW, out)
    assert "pipe.tsv: it is a pipe" in line
    line = refused(capsys, "train", f"--train={tmp_path}/loop.tsv", *NBOW, out)
    # Python finds the loop itself until 3.12.
    loop = re.compile("loop.tsv(' is not a path: Symlink loop|: Too many levels of symbolic links)")
    assert loop.search(line)
    line = refused(capsys, "debug-data", f"--train={tmp_path}/loop.tsv")
    assert loop.search(line)
    assert not (tmp_path / "run").exists()


def test_the_suffix_of_a_link_determines_the_format(tmp_path, capsys):
    """Files of the Hugging Face Hub's cache are links to others that are named by digests."""
    (tmp_path / "0a1b").write_text("label,text\n" + "pos,good\nneg,bad\n" * 10)
    (tmp_path / "2c3d").write_bytes(gzip.compress(b"good 1 0\nbad 0 1\n"))
    train, vectors = tmp_path / "train.csv", tmp_path / "vectors.txt.gz"
    train.symlink_to("0a1b")
    vectors.symlink_to("2c3d")
    flags = [f"--train={train}", f"--dev={train}", "--split=0", f"--vectors={vectors}"]
    run = tmp_path / "run"
    assert main(["train", *flags, "--model=nbow", "--epochs=1", f"--out={run}"]) == 0
    assert main(["evaluate", str(run), "--split=dev"]) == 0
    assert main(["train", f"--resume={run}", "--epochs=2"]) == 0
    assert "train 20 of train.csv" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--text-column=1", "--label-column=1"], "my.tsv:1: the column '1' is named twice"),
        (["--text-column", "2", "2", "--label-column=1"], "the column '2' is named twice"),
        (["--out=/dev/null/runs", "--seeds=0,1"], "/dev/null/runs: cannot create the runs"),
        (["--out=/dev/null/run"], "/dev/null/run: cannot create the run"),
    ],
    ids=str,
)
def test_options_with_impossible_values(data, tmp_path, flags, message, capsys):
    line = refused(capsys, "train", f"--train={data}", *NBOW, f"--out={tmp_path}/run", *flags)
    assert message in line
    assert not (tmp_path / "run").exists()


def test_half_a_surrogate_pair_is_a_bad_line(tmp_path, capsys):
    path = tmp_path / "my.jsonl"
    path.write_text('{"label": "a", "text": "b"}\n{"label": "a", "text": "good \\ud83d"}\n')
    line = refused(capsys, "train", f"--train={path}", *NBOW, f"--out={tmp_path}/run")
    assert "my.jsonl:2: half of a surrogate pair" in line


def test_evaluate_replaces_no_data(data, tmp_path, capsys):
    assert main(["train", f"--train={data}", *NBOW, f"--out={tmp_path}/run"]) == 0
    before = data.read_text()
    for flag in ("--errors-file", "--json"):
        line = refused(capsys, "evaluate", tmp_path / "run", f"{flag}={data}")
        assert f"{flag} {data} would overwrite an input" in line
    assert data.read_text() == before


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        ("task_options", "train", "\0"),
        ("task_options", "encoding", None),
        ("task_options", "encoding", "\0"),
        (None, "tokenizer", 3),
        (None, "tokenizer", [1]),
        (None, "tokenizer", "words"),
    ],
)
def test_damaged_settings(data, tmp_path, section, name, value, capsys):
    assert main(["train", f"--train={data}", *NBOW, f"--out={tmp_path}/run"]) == 0
    path = tmp_path / "run" / "config.yaml"
    config = yaml.safe_load(path.read_text())
    (config[section] if section else config)[name] = value
    path.write_text(yaml.safe_dump(config))
    refused(capsys, "evaluate", tmp_path / "run")
    assert json.loads((tmp_path / "run" / "results.json").read_text())["finished"]


def test_evaluate_writes_no_file_twice(data, tmp_path, capsys):
    assert main(["train", f"--train={data}", *NBOW, f"--out={tmp_path}/run"]) == 0
    out = tmp_path / "out.csv"
    line = refused(
        capsys, "evaluate", tmp_path / "run", f"--errors-file={out}", f"--json={tmp_path}/./out.csv"
    )
    assert "--json and --errors-file name the same file" in line
    assert not out.exists()


def test_an_option_that_only_training_has(data, tmp_path, capsys):
    assert main(["train", f"--train={data}", *NBOW, f"--out={tmp_path}/run"]) == 0
    line = refused(capsys, "evaluate", tmp_path / "run", "--label-column=x")
    assert "a run reads the columns that it was trained with" in line


def test_settings_that_are_set_twice(tmp_path, capsys):
    path = tmp_path / "a.yaml"
    path.write_text("task: sst5\nmodel: nbow\ntraining:\n  epochs: 1\n  epochs: 2\n")
    line = refused(capsys, "train", f"--config={path}", f"--out={tmp_path}/run")
    assert "a.yaml:5: epochs is set twice, first in line 4" in line


def test_text_that_is_not_utf8_in_an_argument(tmp_path, capsys):
    for flags in (["--tree=(S (A a\udce9))"], ["--tree=(S a)", "--title=\udce9"]):
        line = refused(capsys, "draw", *flags, f"--out={tmp_path}/x.svg")
        assert f"{flags[-1].partition('=')[0]}: expected text in UTF-8" in line
