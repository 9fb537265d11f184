"""Goals of tasks, end to end: scores, classes of pairs, classes found in the data."""

from __future__ import annotations

import json
import sys

import pytest
from toy_treebank import TINY

from graphsent.cli import main
from graphsent.tasks import get_task
from graphsent.training import load_model

MODULE = """
from graphsent.sentences import Sentence
from graphsent.tasks import SPLITS, Corpus, SentenceTask


class Lines(SentenceTask):
    name = "lines"
    corpora = (Corpus("lines", "Lines", {s: f"{s}.tsv" for s in SPLITS}, own_kinds=("words",)),)

    def read_sentences(self, path):
        rows = (line.split("\\t") for line in path.read_text().splitlines())
        return [Sentence(text.split(), label) for label, text in rows]


class Scores(Lines):
    goal = "regression"


class Classes(Lines):
    finds_labels = True


class Named(Lines):
    label_names = ("bad", "good")
"""
KINDS = ("good\tgood", "bad\tbad", "so-so\tplain")


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "goal_tasks_here.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("goal_tasks_here", None)


def write(directory, lines):
    for split in ("train", "dev", "test"):
        (directory / f"{split}.tsv").write_text("\n".join(lines) + "\n")


def learn(*arguments: str) -> int:
    tiny = ["--epochs=3", "--embedding-dim=6", "--num-threads=1", "--data-dir=.", "--out=run"]
    adam = ["--optimizer=adam", "--lr=0.05", "--embedding-optimizer=same", "--embedding-lr=0.05"]
    return main(["train", *arguments, *tiny, *adam])


def test_class_names_instead_of_indices_are_rejected(here, capsys):
    write(here, ["0\tbad film", "good\tgood film"])
    assert learn("--task=goal_tasks_here:Named", "--model=nbow") == 2
    error = capsys.readouterr().err
    assert "train.tsv: sentence 2: label 'good': expected the index of its class" in error


def test_classes_are_found_in_the_training_data(here, capsys):
    write(here, [f"{kind} film {number}" for number in range(20) for kind in KINDS])
    assert learn("--task=goal_tasks_here:Classes", "--model=nbow") == 0
    assert json.loads((here / "run/model/config.json").read_text())["arguments"]["label_names"] == [
        "bad",
        "good",
        "so-so",
    ]
    (here / "test.tsv").write_text("so-so\tplain film\n")
    assert main(["evaluate", "run"]) == 0
    assert "test: accuracy 100.00 %" in capsys.readouterr().out
    (here / "test.tsv").write_text("so-so\ta\ngod\tb\n")
    assert main(["evaluate", "run"]) == 2
    assert "test.tsv: sentence 2: unknown label 'god'" in capsys.readouterr().err
    write(here, ["good\ta film"])
    arguments = ["--task=goal_tasks_here:Classes", "--model=nbow", "--data-dir=.", "--out=new"]
    assert main(["train", *arguments]) == 2
    assert "expected at least two classes, got ('good',)" in capsys.readouterr().err
    assert not (here / "new").exists()


def test_a_regression_learns_scores(here, capsys):
    texts = ("good good", "good", "film", "bad", "bad bad")
    write(here, [f"{100 - 10 * place}\t{text}" for place, text in enumerate(texts)] * 8)
    assert learn("--task=goal_tasks_here:Scores", "--model=nbow", "--test") == 0
    results = json.loads((here / "run/results.json").read_text())
    assert set(results["test"]) == {"pearson", "spearman", "mse"}
    assert results["test"]["pearson"] > 0.9
    assert main(["evaluate", "run"]) == 0
    capsys.readouterr()
    (here / "in.txt").write_text("good good\nbad bad\n")
    assert main(["predict", "run", "in.txt"]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[1] for line in lines] == ["good good", "bad bad"]
    assert 60 < float(lines[1][0]) < 80 < float(lines[0][0]) < 105
    assert main(["predict", "run", "in.txt", "--format=jsonl"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first == {"score": pytest.approx(float(lines[0][0]), abs=1e-3), "text": "good good"}
    with pytest.raises(SystemExit, match="2"):
        main(["predict", "run", "in.txt", "--format=trees"])
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", "run", "--errors=3"])
    assert "--errors is for classification: the task 'lines' is regression" in (
        capsys.readouterr().err
    )
    with pytest.raises(SystemExit, match="2"):
        main(["draw", "--tree=(X good)", "--model=run", "--out=tree.svg"])


def test_small_scores_are_printed_with_as_many_digits(here, capsys):
    write(here, ["4e-5\tgood", "2e-5\tfilm", "1e-5\tbad"] * 8)
    assert learn("--task=goal_tasks_here:Scores", "--model=nbow") == 0
    capsys.readouterr()
    (here / "in.txt").write_text("good\nbad\n")
    assert main(["predict", "run", "in.txt"]) == 0
    printed = [float(line.split("\t")[0]) for line in capsys.readouterr().out.splitlines()]
    assert main(["predict", "run", "in.txt", "--format=jsonl"]) == 0
    exact = [json.loads(line)["score"] for line in capsys.readouterr().out.splitlines()]
    assert 0 < exact[1] < exact[0] < 1e-4
    assert printed == pytest.approx(exact, rel=1e-2)
    assert load_model("run").predict(["good", "bad"]).tolist() == pytest.approx(exact, rel=1e-5)
    files = ["--train=train.tsv", "--dev=dev.tsv", "--split=0"]
    assert main(["debug-data", *files, "--regression"]) == 0
    assert "scores: 1e-05 to 4e-05, mean 2.33e-05" in capsys.readouterr().out


def test_entailment(tmp_path, capsys):
    run = ["--task=sick", "--target=entailment", "--model=sequence-relatedness", "--epochs=1"]
    assert main(["train", *run, "--test", f"--out={tmp_path / 'run'}", *TINY]) == 0
    results = json.loads((tmp_path / "run/results.json").read_text())
    assert list(results["test"]) == ["accuracy"]
    assert results["task_options"] == {"target": "entailment"}
    capsys.readouterr()
    for side in "ab":
        (tmp_path / side).write_text("(S (D a) (N man))\n")
    pair = [str(tmp_path / side) for side in "ab"]
    assert main(["predict", str(tmp_path / "run"), *pair]) == 0
    name, probability, first, second = capsys.readouterr().out.strip().split("\t")
    assert name in get_task("sick", target="entailment").label_names
    assert 1 / 3 <= float(probability) <= 1
    assert first == second == "a man"
    assert main(["predict", str(tmp_path / "run"), *pair, "--format=jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == name


@pytest.mark.data
def test_entailment_of_sick(data_dir, parses_dir):
    splits = get_task("sick", target="entailment").load(data_dir, parses_dir=parses_dir).splits
    counts = [sum(pair.label == str(label) for pair in splits["test"]) for label in range(3)]
    assert counts == [720, 2793, 1414]
