"""`graphsent parse`: inputs, messages, statuses, and resuming after an interruption."""

from __future__ import annotations

import gzip
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import status_of

from graphsent.cli import main
from graphsent.parsing.files import partial_path
from graphsent.trees import read_conllu, read_labelled_trees

FLAT, HEADED = "--parser=toy_parsers:flat", "--parser=toy_parsers:headed"


def test_text_and_labelled_text(tmp_path, capsys):
    (tmp_path / "in.txt").write_text("a\tb\nc d\n")
    assert main(["parse", str(tmp_path / "in.txt"), HEADED, f"--out={tmp_path}/o.conllu"]) == 0
    captured = capsys.readouterr()
    first, second = captured.err.splitlines()
    assert first == "parser: toy_parsers:headed, 3"
    assert second.startswith("parsed 2 lines in ")
    assert " 0.0 s" not in second
    assert not captured.out
    trees = read_conllu(tmp_path / "o.conllu")
    assert [tree.words for tree in trees] == [("a", "b"), ("c", "d")]

    with gzip.open(tmp_path / "in.tsv.gz", "wt") as file:
        file.write("x\ta b\ny\tc d\n")
    out = tmp_path / "o.trees.gz"
    assert main(["parse", str(tmp_path / "in.tsv.gz"), FLAT, f"--out={out}"]) == 0
    assert [(label, tree.words) for label, tree in read_labelled_trees(out)] == [
        ("x", ["a", "b"]),
        ("y", ["c", "d"]),
    ]


def test_columns_of_a_table_are_parsed(tmp_path, capsys):
    path = tmp_path / "in.csv"
    path.write_text('id,stars,review\n1,5,"a, b"\n2,,c\n3,1,d\n')
    out = tmp_path / "o.conllu"
    columns = ["--text-column=review", "--label-column=stars"]
    assert main(["parse", str(path), HEADED, f"--out={out}", *columns]) == 1
    trees = read_conllu(out)
    assert [(tree.metadata["label"], tree.words) for tree in trees] == [
        ("5", ("a,", "b")),
        ("1", ("d",)),
    ]
    assert capsys.readouterr().err.count(f"{path}:3") == 1
    path = tmp_path / "in.jsonl"
    path.write_text('{"label": "x", "text": "a b"}\n')
    assert main(["parse", str(path), FLAT, f"--out={tmp_path}/o"]) == 0
    assert (tmp_path / "o").read_text() == "x\t(ROOT (W a) (W b))\n"
    assert "\nparsed 1 line in " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("in.csv", "text\na b\nc d\n"),
        ("in.csv", 'review,id,stamp\na b,1,x\nc d,2,"y"\n'),
        ("in.jsonl", '{"text": "a b"}\n{"text": "c d"}\n'),
        ("in.tsv", "a b\nc d\n"),
        ("one.tsv", "text\na b\nc d\n"),
    ],
)
def test_a_table_without_labels(name, text, tmp_path, capsys):
    (tmp_path / name).write_text(text)
    assert main(["parse", str(tmp_path / name), FLAT, f"--out={tmp_path}/o"]) == 0
    assert (tmp_path / "o").read_text() == "(ROOT (W a) (W b))\n(ROOT (W c) (W d))\n"
    said = f"{name}: no column of labels; --label-column would name one"
    assert (said in capsys.readouterr().err) == (name != "in.tsv")


def test_labels_with_a_bracket_are_read_back(tmp_path, capsys):
    path, out = tmp_path / "in.csv", tmp_path / "o.trees"
    path.write_text("text,label\ngood film,:)\ndull film,:(\n")
    assert main(["parse", str(path), FLAT, f"--out={out}"]) == 0
    for number, label in ((1, ":)"), (2, ":(")):
        picture = tmp_path / "tree.svg"
        assert main(["draw", str(out), f"--number={number}", f"--out={picture}"]) == 0
        assert f"<!-- {label} -->" in picture.read_text()


def test_a_tsv_is_read_as_by_train(tmp_path):
    path = tmp_path / "in.tsv"
    path.write_text("label\ttext\nx\ta b\n")
    assert main(["parse", str(path), FLAT, f"--out={tmp_path}/o"]) == 0
    assert (tmp_path / "o").read_text() == "x\t(ROOT (W a) (W b))\n"
    columns = ["--text-column=label", "--label-column=text"]
    assert main(["parse", str(path), FLAT, f"--out={tmp_path}/o", *columns]) == 0
    assert (tmp_path / "o").read_text() == "a b\t(ROOT (W x))\n"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("in.csv", b"a,b\n", "which column holds the text?"),
        ("in.csv", b"label,text\nx,\xff\n", "0xFF is not valid UTF-8"),
        ("none.csv", None, "cannot read"),
    ],
)
def test_a_failure_before_the_first_batch_leaves_nothing(tmp_path, capsys, name, data, message):
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    main(["parse", str(path), FLAT, f"--out={tmp_path}/out"])
    error = capsys.readouterr().err
    assert message in error
    assert not partial_path(tmp_path / "out").exists()


def test_bad_lines_are_named(tmp_path, capsys):
    path = tmp_path / "in.tsv"
    path.write_bytes(b"x\ta b\nno tab\ny\tbad\nz\t\xff\nz\tc\n")
    assert main(["parse", str(path), FLAT, f"--out={tmp_path}/out"]) == 1
    *errors, _, last = capsys.readouterr().err.splitlines()[1:]
    assert [error.partition(": ")[2] for error in errors] == [
        f"{path}:2: no tab in 'no tab': expected label<TAB>sentence",
        f"{path}:3: toy_parsers:flat has no tree for 'bad'",
        f"{path}:4:3: 0xFF is not valid UTF-8 (invalid start byte): expected UTF-8, "
        "or the encoding by name (--encoding latin-1)",
    ]
    assert last == "graphsent parse: 3 of 5 lines have no tree"
    assert len((tmp_path / "out").read_text().splitlines()) == 5


@pytest.mark.parametrize("name", ["in.txt", "in.csv", "-"])
def test_other_encodings(tmp_path, monkeypatch, name):
    text = "label,text\nx,schön\n" if name == "in.csv" else "schön\n"
    data = text.encode("utf-16")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    (tmp_path / "in.txt").write_bytes(data)
    (tmp_path / "in.csv").write_bytes(data)
    file = name if name == "-" else str(tmp_path / name)
    out = tmp_path / "o.trees"
    assert main(["parse", file, FLAT, f"--out={out}", "--encoding=utf-16"]) == 0
    assert out.read_text().endswith("(W schön))\n")


def test_standard_input_and_sentences(tmp_path, monkeypatch):
    text = io.TextIOWrapper(io.BytesIO(b"One film. Two films."))
    monkeypatch.setattr("sys.stdin", text)
    assert main(["parse", "-", HEADED, "--split-sentences", f"--out={tmp_path}/o.conllu"]) == 0
    trees = read_conllu(tmp_path / "o.conllu")
    assert [tree.metadata["sent_id"] for tree in trees] == ["1.1", "1.2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in.txt", FLAT], "--out is missing"),
        (["in.txt", "--out=o"], "--parser is missing"),
        (["in.txt", FLAT, "--out=in.txt"], "--out in.txt would overwrite an input"),
        (["in.txt", FLAT, "--out=o", "--batch-size=0"], "--batch-size: expected at least 1, got 0"),
        (["in.txt", FLAT, "--out=o.conllu"], None),
        (
            ["in.txt", HEADED, "--out=o"],
            "returns dependency trees, but constituency trees are needed",
        ),
        (["in.txt", "--parser=spaci:en", "--out=o"], "did you mean 'spacy'?"),
        (["nowhere.txt", FLAT, "--out=o"], "cannot read nowhere.txt"),
        (["in.txt", FLAT, "--out=o", "--text-column=a"], "--text-column needs a table (.csv, "),
        (["in.txt", FLAT, "--out=o", "--num-threads=2"], "chooses its threads itself"),
    ],
)
def test_unusable_arguments(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("a b\n")
    status = status_of(["parse", *arguments])
    assert status == 2
    assert (
        message or "returned a constituency tree: expected dependency"
    ) in capsys.readouterr().err
    assert not Path("o").exists()


def test_parsers_of_the_current_directory(tmp_path):
    (tmp_path / "mine.py").write_text(
        "def parse(texts):\n    return ['(S (A x))' for _ in texts]\n"
    )
    (tmp_path / "in.txt").write_text("a\n")
    code = "import sys; from graphsent.cli import main; sys.path.remove(''); sys.exit(main())"
    arguments = ["parse", "in.txt", "--parser=mine:parse", "--out=out"]
    here = Path(__file__).resolve().parents[2]
    subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(here)},
        check=True,
    )
    assert (tmp_path / "out").read_text() == "(S (A x))\n"


SLOW = """\
import os, signal
def parse(texts):
    if os.path.exists("stop") and "l3" in texts:
        os.kill(os.getpid(), {signal})
    return ["(S " + text + ")" for text in texts]
"""


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_an_interrupted_command_resumes(tmp_path, number, status):
    (tmp_path / "slow.py").write_text(SLOW.format(signal=int(number)))
    (tmp_path / "in.txt").write_text("".join(f"l{n}\n" for n in range(6)))
    (tmp_path / "stop").touch()
    command = [sys.executable, "-m", "graphsent", "parse", "in.txt", "--out=out.gz"]
    command += ["--parser=slow:parse", "--batch-size=2"]
    here = Path(__file__).resolve().parents[2]
    options = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(here)}}
    result = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert result.returncode == status
    if number != signal.SIGKILL:
        assert "interrupted; finished batches are in " in result.stderr
        assert "Traceback" not in result.stderr
    assert not (tmp_path / "out.gz").exists()
    (tmp_path / "stop").unlink()
    result = subprocess.run(command, capture_output=True, text=True, check=True, **options)
    assert "parsed 6 lines" in result.stderr
    assert " (2 of them before)" in result.stderr
    with gzip.open(tmp_path / "out.gz", "rt") as file:
        assert file.read() == "".join(f"(S l{n})\n" for n in range(6))
    assert not partial_path(tmp_path / "out.gz").exists()


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
def test_a_file_that_cannot_grow_is_named(tmp_path):
    import resource

    (tmp_path / "in.txt").write_text("a\n" * 600)
    here = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", "graphsent", "parse", "in.txt", FLAT, "--out=out"]
    result = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{here.parent}{os.pathsep}{here}"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, 6_000)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    path = partial_path("out") / "trees"
    assert result.stderr.splitlines()[1:] == [f"graphsent parse: {path}: File too large"]


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="this system has no /dev/stdout")
@pytest.mark.parametrize("piped", [True, False])
def test_standard_output_holds_trees_alone(tmp_path, piped):
    (tmp_path / "in.txt").write_text("a b\n")
    command = [sys.executable, "-m", "graphsent", "parse", "in.txt", FLAT, "--out=/dev/stdout"]
    here = Path(__file__).resolve().parents[1]
    found = tmp_path / "found"
    with found.open("wb") as file:
        result = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": f"{here.parent}{os.pathsep}{here}"},
            stdout=subprocess.PIPE if piped else file,
            check=True,
        )
    assert (result.stdout if piped else found.read_bytes()) == b"(ROOT (W a) (W b))\n"


def test_links_and_special_files_stay(tmp_path):
    """A link's target is replaced; what is written to a pipe reaches its reader."""
    (tmp_path / "in.txt").write_text("a b\n")
    parse = ["parse", str(tmp_path / "in.txt"), FLAT]
    target, link, pipe = (tmp_path / name for name in ("target", "link", "pipe"))
    target.write_text("old")
    link.symlink_to(target)
    assert main([*parse, f"--out={link}"]) == 0
    assert link.is_symlink()
    assert target.read_text() == "(ROOT (W a) (W b))\n"
    assert partial_path(link) == partial_path(target)
    os.mkfifo(pipe)
    read = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert main([*parse, f"--out={pipe}"]) == 0
    assert pipe.is_fifo()
    assert os.read(read, 100) == b"(ROOT (W a) (W b))\n"
    os.close(read)
