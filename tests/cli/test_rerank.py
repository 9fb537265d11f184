"""`--task rerank`: trained on n-best lists, evaluated against the parser, and used to choose."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import shutil

import pytest
from toy_treebank import write_nbest

from graphsent.cli import main
from graphsent.tasks import get_task
from graphsent.trees import read_nbest


@pytest.fixture
def lists(tmp_path):
    return write_nbest(tmp_path)


def test_a_reranker_is_trained_evaluated_and_chooses(lists, tmp_path, monkeypatch, capsys):
    out = tmp_path / "run"
    tiny = ["--hidden=6", "--embedding-dim=6", "--epochs=4", "--lr=0.02", "--num-threads=1"]
    arguments = ["--task=rerank", "--model=parse-reranker", f"--parses-dir={lists}", *tiny]
    assert main(["train", *arguments, "--test", f"--out={out}"]) == 0
    results = json.loads((out / "results.json").read_text())
    test = results["test"]
    assert next(iter(test)) == "f1"
    assert test["f1"] == test["oracle_f1"] == 1
    assert test["worst_f1"] < test["one_best_f1"] < 1
    assert results["corpus"]["splits"]["dev"]["examples"] == 6
    capsys.readouterr()
    assert main(["evaluate", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "test: F1 100.00 %, one best F1" in shown
    assert "oracle F1 100.00 %" in shown
    heldout = lists / "wsj.nbest.heldout.gz"
    assert main(["predict", str(out), str(heldout), "--batch-size=3"]) == 0
    gold = [str(each.gold) for each in read_nbest(heldout)]
    assert capsys.readouterr().out.splitlines() == gold
    assert main(["predict", str(out), str(heldout), "--format=jsonl"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (first["name"], first["best"], first["tree"]) == ("0", 0, gold[0])
    for options in (["--out=x.svg"], ["--format=html", "--out=x"], ["--unknown"], ["--input=text"]):
        with pytest.raises(SystemExit, match="2"):
            main(["predict", str(out), str(heldout), *options])
    assert "n-best lists need text or json" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["predict", str(out), str(heldout), str(heldout)])
    assert "reads n-best lists: expected one file" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["encode", str(out), str(heldout), f"--out={tmp_path / 'x.npz'}"])
    assert "reranks parses and cannot encode sentences" in capsys.readouterr().err
    given = gzip.decompress(heldout.read_bytes())
    for data, status, expected in (
        (b"\xef\xbb\xbf" + given, 0, gold[0]),
        (given + b"\ncand\t1\t(S caf\xe9)\n", 2, "predict: standard input:"),
    ):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8", "strict"))
        assert main(["predict", str(out)]) == status
        captured = capsys.readouterr()
        assert expected in captured.out + captured.err
    (tmp_path / "bad").write_text("cand\tx\t(S (NN a))\n")
    assert main(["predict", str(out), str(tmp_path / "bad")]) == 2
    assert "bad:1: expected a number, got 'x'" in capsys.readouterr().err


def test_evaluation_on_the_lists_of_another_data_directory(lists, tmp_path, capsys):
    out, other = tmp_path / "run", tmp_path / "data"
    tiny = ["--hidden=6", "--embedding-dim=6", "--epochs=1", "--num-threads=1"]
    arguments = ["--task=rerank", "--model=parse-reranker", f"--parses-dir={lists}", *tiny]
    assert main(["train", *arguments, f"--out={out}"]) == 0
    shutil.copytree(lists, other / "parses")
    heldout = gzip.decompress((lists / "wsj.nbest.heldout.gz").read_bytes()).split(b"\n\n")
    less = gzip.compress(b"\n\n".join(heldout[:3]))
    (other / "parses" / "wsj.nbest.heldout.gz").write_bytes(less)
    capsys.readouterr()
    assert main(["evaluate", str(out), f"--data-dir={other}"]) == 0
    assert f"(test 3, published: 245) from {other / 'parses'}" in capsys.readouterr().out


def test_the_task_can_be_sent_to_another_process(lists):
    task = get_task("rerank", split_seed=3)
    task.load(parses_dir=lists)
    sent = pickle.loads(pickle.dumps(task))
    assert (sent.options, sent.label_names) == (task.options, task.label_names)


def test_lists_that_have_changed_are_read_again(lists):
    task, heldout = get_task("rerank"), lists / "wsj.nbest.heldout.gz"
    assert len(task.load(parses_dir=lists).splits["test"]) == 10
    first, *_ = gzip.decompress(heldout.read_bytes()).decode().split("\n\n")
    heldout.write_bytes(gzip.compress(first.encode()))
    assert len(task.load(parses_dir=lists).splits["test"]) == 1


def test_conflicting_options(lists, tmp_path, capsys):
    out = f"--out={tmp_path / 'run'}"
    assert main(["train", "--task=rerank", f"--parses-dir={lists}", out]) == 2
    assert "'rerank' is ranking of lists" in capsys.readouterr().err
    arguments = ["--task=rerank", "--model=parse-reranker", f"--parses-dir={lists}", out]
    assert main(["train", *arguments, "--trees=left"]) == 2
    assert "task rerank ranks parses and needs their trees" in capsys.readouterr().err
    assert main(["train", *arguments[:2], f"--parses-dir={tmp_path / 'none'}", out]) == 2
    assert not (tmp_path / "run").exists()


@pytest.mark.data
def test_the_heldout_lists(data_dir, parses_dir):
    data = get_task("rerank").load(data_dir, ("test",), parses_dir=parses_dir)
    assert data.source.counts == {"test": 245}
    assert data.source.is_published
