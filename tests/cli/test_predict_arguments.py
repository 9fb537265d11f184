"""`graphsent predict`: sentences as arguments, the model of the package, formats and files."""

from __future__ import annotations

import gzip
import json
import os
import threading
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from commands import outcome

from graphsent.models import NBoW, SequenceRelatedness, TreeLSTMClassifier
from graphsent.trees import Tree
from graphsent.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["the", "film", "good", "is", "."])
NAMES = ("bad", "so so", "good")
TREES = "(S (A the) (B film))\n(S (A good) (B film))\n"
TREE = "(S (A the) (B (C good) (D film)))"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    """Saved models of words, trees and pairs."""
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    NBoW(VOCABULARY, 3, 4, label_names=NAMES).save_pretrained("words")
    TreeLSTMClassifier(VOCABULARY, 3, 3, 4, label_names=NAMES).save_pretrained("trees")
    SequenceRelatedness(VOCABULARY, 5, 3, 4, comparison=3).save_pretrained("pairs")
    Path("trees.txt").write_text(TREES)
    Path("table.csv").write_text("a,b\n1,good film\n")
    return tmp_path


def predict(capsys, *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    return outcome(capsys, "predict", *arguments)


def test_sentences_are_shown_with_all_classes_and_unknown_words(capsys):
    code, out, err = predict(capsys, "words", "the dull film", "good film")
    assert (code, err) == (0, "")
    first, *classes, unknown, second = out.splitlines()[:6]
    assert first.endswith("\tthe dull film")
    assert unknown == "  unknown words: dull"
    shown = dict(line.rsplit(maxsplit=1) for line in classes)
    assert {name.strip() for name in shown} == set(NAMES)
    shares = [float(share) for share in shown.values()]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1, abs=0.002)
    assert first.split("\t")[:2] == [classes[0][:-5].strip(), classes[0][-5:]]
    assert second.endswith("\tgood film")
    assert len(out.splitlines()) == 9


def test_no_break_spaces_are_part_of_a_word_of_a_tree(capsys):
    tree = "(S (A 8\u00a01/2)\n  (B film))"
    Path("table.csv").write_text(f'text\n"{tree}"\n', encoding="utf-8")
    for source in (tree, "table.csv"):
        code, out, _ = predict(capsys, "trees", source, "--format=jsonl")
        assert (code, json.loads(out)["text"]) == (0, "8\u00a01/2 film")


def test_a_sentence_may_be_a_tree(capsys):
    code, out, _ = predict(capsys, "trees", TREE, "--format", "brackets")
    assert code == 0
    assert Tree.from_string(out).words == ["the", "good", "film"]
    code, out, _ = predict(capsys, "--format", "json", "trees", TREE)
    (found,) = json.loads(out)
    assert len(found["nodes"]) == 5


def test_a_bad_argument_is_named(capsys):
    code, out, err = predict(capsys, "words", "", "good film", "--format=jsonl")
    assert code == 1
    first, second = map(json.loads, out.splitlines())
    assert first["line"] == 1
    assert second["text"] == "good film"
    assert "graphsent predict: argument:1: an empty line: expected a sentence\n" in err


@pytest.mark.parametrize("blank", ["", " "])
def test_blank_arguments_are_inputs_too(blank, capsys):
    code, out, err = predict(capsys, "words", blank)
    assert (code, out) == (1, "\n")
    assert err.endswith("1 of 1 inputs are bad and have no result\n")
    code, out, err = predict(capsys, "words", "good film", blank, "--format=jsonl")
    assert code == 1
    assert ["error" in json.loads(line) for line in out.splitlines()] == [False, True]


def test_a_file_without_a_run_is_read_by_the_packaged_model(capsys, monkeypatch):
    Path("text.txt").write_text("A film of great charm\n")
    code, out, err = predict(capsys, "text.txt")
    assert code == 0
    assert out.endswith("\tA film of great charm\n")
    assert err.startswith("graphsent predict: no RUN given: using the bundled model")
    with Path("text.txt").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert predict(capsys, "-") == (code, out, err)


def test_zipped_files_unpack_up_to_the_limit(capsys, monkeypatch):
    Path("text.txt.gz").write_bytes(gzip.compress(b"the film\n" * 300))
    monkeypatch.setenv("GRAPHSENT_MAX_UNPACKED", "1K")
    code, _, err = predict(capsys, "words", "text.txt.gz")
    assert code == 2
    assert "text.txt.gz unpacks to more than 1,024 bytes" in err
    monkeypatch.setenv("GRAPHSENT_MAX_UNPACKED", "1M")
    assert len(predict(capsys, "words", "text.txt.gz")[1].splitlines()) == 300


@pytest.mark.parametrize(("name", "written"), [("so so", "so_so"), ("(a) b", "-LRB-a-RRB-_b")])
def test_names_of_classes_are_labels_that_can_be_read(name, written, capsys):
    model = TreeLSTMClassifier(VOCABULARY, 2, 3, 4, label_names=("bad", name))
    with torch.no_grad():
        model.output.bias.copy_(torch.tensor([0.0, 9.0]))
    model.save_pretrained("named")
    code, out, _ = predict(capsys, "named", TREE, "--format", "brackets")
    assert code == 0
    assert set(Tree.from_string(out).labels) == {written}


def test_an_earlier_output_does_not_stay(capsys):
    for bad, name, earlier in (
        ("(S\n", "p.html", "p.html"),
        ("(S\n", "p.svg", "p.svg"),
        (f"{TREE}\n(S\n", "p.svg", "p-2.svg"),
    ):
        Path("bad.txt").write_text(bad)
        Path(earlier).write_text("old")
        assert predict(capsys, "trees", "bad.txt", f"--out={name}")[0] == 1
        assert not Path(earlier).exists()


def test_characters_that_svg_does_not_allow(capsys):
    assert predict(capsys, "trees", "(S (A a\x01) (B \x1b))", "--out=p.svg")[0] == 0
    ElementTree.parse("p.svg")


@pytest.mark.skipif(os.name == "nt", reason="no named pipes")
def test_a_named_pipe_is_an_input(capsys):
    os.mkfifo("pipe")
    thread = threading.Thread(target=Path("pipe").write_text, args=(TREE,))
    thread.start()
    assert predict(capsys, "trees", "pipe", "--format=brackets")[0] == 0
    thread.join()


def test_a_file_named_like_an_option(capsys):
    Path("-trees.txt").write_text(TREE)
    assert predict(capsys, "trees", "--format=brackets", "--", "-trees.txt")[0] == 0


def test_a_page_omits_bad_inputs(capsys):
    code, out, err = predict(capsys, "words", "good film", " ", "--out=p.html")
    assert (code, out) == (1, "wrote p.html: 1 sentence\n")
    assert "1 of 2 inputs are bad" in err


def test_a_model_without_finite_results_is_named_by_input(capsys):
    model = NBoW(VOCABULARY, 3, 4, label_names=NAMES)
    with torch.no_grad():
        model.output.weight.fill_(3e38)
        model.embedding.weight[VOCABULARY["good"]] = 3e38
    model.save_pretrained("large")
    code, out, err = predict(capsys, "large", "the film", "good film", "--format=jsonl")
    assert code == 1
    first, second = map(json.loads, out.splitlines())
    assert "probabilities" in first
    assert "argument:2: " in second["error"]
    assert "NaN" in second["error"]
    assert "1 of 2 inputs are bad" in err


def test_two_sentences_are_a_pair(capsys):
    code, out, err = predict(capsys, "pairs", "the film", "good film")
    assert (code, err) == (0, "")
    assert out.split("\t")[1:] == ["the film", "good film\n"]
    code, _, err = predict(capsys, "pairs", "the film")
    assert code == 2
    assert "reads pairs of sentences" in err


@pytest.mark.parametrize("form", ["text", "jsonl", "json", "brackets"])
def test_output_can_be_written_to_a_file(form, capsys):
    _, printed, _ = predict(capsys, "trees", "trees.txt", "--format", form)
    assert predict(capsys, "trees", "trees.txt", "--format", form, "--out=out") == (0, "", "")
    assert Path("out").read_text() == printed
    assert len(printed.splitlines()) == (4 if form == "json" else 2)
    if form == "json":
        _, lines, _ = predict(capsys, "trees", "trees.txt", "--format=jsonl")
        assert json.loads(printed) == [json.loads(line) for line in lines.splitlines()]


def test_no_input_gives_an_empty_array(capsys):
    Path("empty.txt").touch()
    _, out, err = predict(capsys, "trees", "empty.txt", "--format=json")
    assert json.loads(out) == []
    assert "empty.txt is empty" in err


def test_a_file_is_kept_if_a_bad_input_ends_the_command(capsys):
    Path("out.jsonl").write_text("before")
    Path("bad.txt").write_text("(S (A a) (B b))\n(S (A\n")
    code, _, _ = predict(capsys, "trees", "bad.txt", "--strict", "--out=out.jsonl")
    assert code == 1
    assert Path("out.jsonl").read_text() == "before"
    assert predict(capsys, "trees", "bad.txt", "--out=out.jsonl")[0] == 1
    assert "error" in json.loads(Path("out.jsonl").read_text().splitlines()[1])


def test_pictures_and_pages(capsys):
    assert predict(capsys, "trees", TREE, "-o=t.svg") == (0, "wrote t.svg\n", "")
    assert "<svg" in Path("t.svg").read_text()
    Path("bad.txt").write_text(f"{TREE}\n(S\n{TREE}\n")
    code, out, _ = predict(capsys, "trees", "bad.txt", "--out=p.png")
    assert (code, out) == (1, "wrote 2 pictures: p.png to p-3.png\n")
    assert sorted(path.name for path in Path().glob("*.png")) == ["p-3.png", "p.png"]
    Path("bad.txt").write_text("(S\n(S\n")
    assert predict(capsys, "trees", "bad.txt", "--out=q.png")[1] == ""
    Path("bad.txt").write_text(f"{TREE}\n(S\n")
    assert predict(capsys, "trees", "bad.txt", "--out=q.png")[1] == "wrote q.png\n"
    assert predict(capsys, "words", "good film", "the film", "--out=p.html")[0] == 0
    page = Path("p.html").read_text()
    assert all(f'"{word}"' in page for word in ("good", "film"))
    assert "</html>" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["words", "good film", "trees.txt"], "expected files or sentences, got both: trees.txt"),
        (
            ["words", "trees.txt", "trees.txt"],
            "expected one file for the model 'nbow', got two: trees.txt, trees.txt",
        ),
        (["words", "a", "b", "c"], "expected one file, or two for pairs, got 3"),
        (["words", "none.txt"], "cannot read none.txt: No such file"),
        (["wrods", "good film"], "no such run, model or file: wrods"),
        (["wrods.txt"], "no such run, model or file: wrods.txt"),
        (["words", "table.csv"], "table.csv:1: which column holds the text? Name one of 'a', 'b'"),
        (["words", "table.csv", "--text-column=c"], "table.csv:1: no column 'c': expected one of"),
        (
            ["words", "trees.txt", "--text-column=c"],
            "--text-column needs a table (.csv, .tsv",
        ),
        (
            ["words", "good film", "--text-column=c"],
            "needs a table (.csv, .tsv, .jsonl, .ndjson, .json, or standard input), got",
        ),
        (["words", "good film", "--workers=2"], "--workers needs --ray"),
        (["pairs", "-", "-"], "only one of the two files can be standard input"),
        (["words", "good film", "--format=svg"], "--format svg needs --out FILE.svg"),
        (["words", "good film", "--format=svg", "--out=a.png"], "needs --out FILE.svg"),
        (
            ["words", "good film", "--out=a.pdf"],
            "--out a.pdf: expected a file name ending in .txt, ",
        ),
        (["words", "good film", "--out=a.txt.gz"], "ending in .txt, .json, .jsonl, .brackets"),
        (["words", "good film", "--format=brackets"], "--format brackets is for trees"),
        (["pairs", "a b", "c d", "--out=x.svg"], "--format svg is for classes of nodes"),
        (["trees", "trees.txt", "--out=trees.txt"], "would overwrite an input"),
        (["trees", "trees.txt", "--out=trees/config.json"], "would overwrite an input"),
        (["trees", "good film"], "reads parse trees: raw text needs --parser"),
        (["words", "good film", "--fromat=json"], "did you mean '--format'?"),
    ],
)
def test_user_errors_give_one_line(arguments, message, capsys):
    code, out, err = predict(capsys, *arguments)
    assert code in (1, 2)
    assert out.strip() == ""
    assert message in err.splitlines()[0]
    assert Path("trees.txt").read_text() == TREES
