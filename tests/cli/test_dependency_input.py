"""`graphsent predict` and `graphsent draw` on dependency trees, pairs and edge weights."""

from __future__ import annotations

import io
import json
import re

import pytest
import torch

from graphsent.cli import main
from graphsent.cli.whole_files import trees_from
from graphsent.models import (
    ARNNClassifier,
    ARNNRelatedness,
    BiTreeLSTMClassifier,
    NBoW,
    TreeLSTMClassifier,
    load_pretrained,
)
from graphsent.parsing import TreeSource
from graphsent.trees import parse_conllu, write_conllu
from graphsent.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["the", "film", "good", "is", "not"])
CONLLU = """\
# text = the film is good
1\tthe\t_\tDET\t_\t_\t2\tdet\t_\t_
2\tfilm\t_\tNOUN\t_\t_\t4\tnsubj\t_\t_
3\tis\t_\tAUX\t_\t_\t4\tcop\t_\t_
4\tgood\t_\tADJ\t_\t_\t0\troot\t_\t_

1\tnot\t_\tPART\t_\t_\t2\tadvmod\t_\t_
2\tgood\t_\tADJ\t_\t_\t0\troot\t_\t_

"""
SENTENCES = ["the film is good", "not good"]


@pytest.fixture
def files(tmp_path):
    """The trees, and the same trees in reverse order."""
    trees = parse_conllu(CONLLU)
    write_conllu(tmp_path / "first.conllu", trees)
    write_conllu(tmp_path / "second.conllu.gz", trees[::-1])
    return [str(tmp_path / "first.conllu"), str(tmp_path / "second.conllu.gz")]


def saved(directory, model_class, *sizes, **options) -> str:
    torch.manual_seed(0)
    model_class(VOCABULARY, 5, *sizes, **options).save_pretrained(directory)
    return str(directory)


@pytest.fixture
def classifier(tmp_path):
    return saved(tmp_path / "arnn", ARNNClassifier, 4, 5)


@pytest.fixture
def relatedness(tmp_path):
    return saved(tmp_path / "sick", ARNNRelatedness, 4, 5, 6)


def test_classes_of_dependency_trees(classifier, files, capsys, monkeypatch):
    assert main(["predict", classifier, files[0]]) == 0
    text = capsys.readouterr().out
    assert [line.split("\t")[2] for line in text.splitlines()] == SENTENCES
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(CONLLU.encode())))
    assert main(["predict", classifier]) == 0
    assert capsys.readouterr().out == text
    assert main(["predict", classifier, files[0], "--format=trees"]) == 0
    predicted = parse_conllu(capsys.readouterr().out)
    assert main(["predict", classifier, files[0], "--format=jsonl"]) == 0
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for tree, original, content in zip(predicted, parse_conllu(CONLLU), objects, strict=True):
        assert tree.words == original.words
        assert tree.heads.tolist() == original.heads.tolist()
        assert list(tree.labels) == [node["name"] for node in content["nodes"]]


def test_predicted_trees_are_read_with_the_predicted_labels(classifier, tmp_path):
    given, out = tmp_path / "given.conllu", tmp_path / "out.conllu"
    given.write_text(f"# label = mine\n{CONLLU}")
    assert main(["predict", classifier, str(given), "--format=trees", "--out", str(out)]) == 0
    names = load_pretrained(classifier).label_names
    (tree, _) = trees_from(str(out))
    assert tree.labels[tree.root] in names
    assert tree.metadata == {"text": "the film is good"}


def test_all_columns_but_the_label_remain_in_predicted_trees(classifier, tmp_path):
    given, out = tmp_path / "given.conllu", tmp_path / "out.conllu"
    text = (
        "1-2\tisn't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        "1\tis\tbe\tAUX\tVBZ\tMood=Ind\t0\troot\t0:root\tGloss=is|Label=mine\n"
        "2\tnot\tnot\tPART\tRB\t_\t1\tadvmod\t1:advmod\tLabel=mine\n"
        "2.1\tgood\t_\t_\t_\t_\t_\t_\t1:xcomp\t_\n\n"
    )
    given.write_text(text)
    assert main(["predict", classifier, str(given), "--format=trees", "--out", str(out)]) == 0
    assert re.sub(r"Label=[^\n]+", "Label=mine", out.read_text()) == text


@pytest.mark.parametrize("command", ["predict", "encode"])
def test_trees_of_the_other_kind_are_noticed_once(command, tmp_path, files, capsys):
    def run(source: TreeSource | None, file: str) -> list[str]:
        model = TreeLSTMClassifier(VOCABULARY, 5, 4, 4, cell="childsum")
        model.tree_source = source
        model.save_pretrained(tmp_path / "model")
        assert main([command, str(tmp_path / "model"), file]) == 0
        return capsys.readouterr().err.splitlines()

    path = tmp_path / "trees.txt"
    path.write_text("(S (A the) (B film))\n(S (A good) (B film))\n")
    told = f"graphsent {command}: {path}:1: the model was trained on dependency trees, this is a "
    told += "constituency tree: its results may be meaningless"
    assert run(TreeSource("dependency"), str(path)) == [told]
    (told,) = run(TreeSource("constituency"), files[0])
    assert f"{files[0]}:1: the model was trained on constituency trees" in told
    assert run(TreeSource("dependency"), files[0]) == []
    assert run(TreeSource("constituency"), str(path)) == []
    assert run(TreeSource("dependency", "shape:left"), str(path)) == []
    assert run(None, str(path)) == []


def test_scores_of_pairs(relatedness, files, capsys):
    assert main(["predict", relatedness, *files]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[1:] for line in lines] == [SENTENCES, SENTENCES[::-1]]
    assert all(1 <= float(line[0]) <= 5 for line in lines)
    assert main(["predict", relatedness, *files, "--format=jsonl"]) == 0
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for line, content in zip(lines, objects, strict=True):
        assert list(content.values())[1:] == line[1:]
        assert content["score"] == pytest.approx(float(line[0]), abs=1e-3)


def test_files_of_pairs_with_different_lengths(relatedness, files, tmp_path, capsys):
    write_conllu(tmp_path / "one.conllu", parse_conllu(CONLLU)[:1])
    assert main(["predict", relatedness, files[0], str(tmp_path / "one.conllu")]) == 1
    assert "2 inputs" in (message := capsys.readouterr().err)
    assert message.count("\n") == 1


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        ("relatedness", ["first"], "reads pairs of sentences"),
        ("relatedness", ["first", "second", "--format=trees"], "--format trees"),
        ("classifier", ["first", "second"], "expected one file for the model"),
    ],
)
def test_files_that_do_not_match_the_model(model, arguments, message, files, request, capsys):
    places = dict(zip(("first", "second"), files, strict=True))
    arguments = [places.get(argument, argument) for argument in arguments]
    with pytest.raises(SystemExit, match="2"):
        main(["predict", request.getfixturevalue(model), *arguments])
    assert message in capsys.readouterr().err


def test_drawing_attention(classifier, files, tmp_path):
    plain, weighed = tmp_path / "plain.svg", tmp_path / "weighed.svg"
    assert main(["draw", files[0], f"--model={classifier}", f"--out={plain}"]) == 0
    assert main(["draw", files[0], f"--model={classifier}", "--weights", f"--out={weighed}"]) == 0
    assert "1.00" not in plain.read_text()
    # An only child gets all the attention of its parent.
    assert "1.00" in weighed.read_text()


def test_drawing_heads_of_a_tree_that_is_not_binary(tmp_path):
    model = saved(tmp_path / "heads", BiTreeLSTMClassifier, 4, 5, 6)
    out = tmp_path / "heads.svg"
    arguments = ["draw", "--tree=((A the) (B film) (C good))", f"--model={model}", "--weights"]
    assert main([*arguments, f"--out={out}"]) == 0
    assert out.exists()


def test_drawing_predicted_against_gold(tmp_path, capsys):
    torch.manual_seed(0)
    TreeLSTMClassifier(VOCABULARY, 5, 3, 4).save_pretrained(tmp_path / "trees")
    out = tmp_path / "gold.svg"
    shown = [f"--model={tmp_path / 'trees'}", f"--out={out}", "--gold", "--probabilities"]
    with pytest.raises(SystemExit, match="2"):
        main(["draw", "--tree=(S (A the) (B film))", *shown])
    assert "--gold: the tree has no label of the model" in capsys.readouterr().err
    tree = "--tree=(3 (2 the) (2 film))"
    assert main(["draw", tree, *shown, "--direction=sibling"]) == 0
    assert "probability of the label" in out.read_text()


def test_gold_labels_are_names_as_predict_writes_them(tmp_path):
    model = TreeLSTMClassifier(VOCABULARY, 2, 3, 4, label_names=("very bad", "fair (so-so)"))
    model.save_pretrained(tmp_path / "trees")
    out, tree = (
        tmp_path / "gold.svg",
        "--tree=(very_bad (fair_-LRB-so-so-RRB- the) (very_bad film))",
    )
    assert main(["draw", tree, f"--model={tmp_path / 'trees'}", f"--out={out}", "--gold"]) == 0


def test_a_page_of_all_trees(classifier, files, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["draw", files[0], f"--model={classifier}", f"--out={page}", "--title=Mine"]) == 0
    assert "<title>Mine</title>" in page.read_text(encoding="utf-8")
    for arguments in ([], [f"--model={classifier}", "--number=0"]):
        with pytest.raises(SystemExit, match="2"):
            main(["draw", files[0], f"--out={tmp_path / 'no.html'}", *arguments])
    error = capsys.readouterr().err
    assert "a page shows predictions and needs --model" in error
    assert "--number is for the picture of one tree" in error
    assert not (tmp_path / "no.html").exists()


def test_labels_in_comments_are_those_of_the_roots(classifier, tmp_path, capsys, monkeypatch):
    path, page = tmp_path / "labelled.conllu", tmp_path / "page.html"
    text = CONLLU.replace("# text", "# label = 4\n# text")
    path.write_text(text)
    assert main(["draw", str(path), f"--model={classifier}", f"--out={page}"]) == 0
    assert '"gold":[-1,-1,-1,4]' in page.read_text(encoding="utf-8")
    gold = [f"--model={classifier}", "--gold", f"--out={tmp_path / 'gold.svg'}"]
    assert main(["draw", str(path), *gold]) == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["draw", *gold]) == 0
    with pytest.raises(SystemExit, match="2"):
        main(["draw", str(path), *gold, "--number=2"])
    assert "--gold: the tree has no label" in capsys.readouterr().err


def test_drawing_what_the_model_lacks(classifier, relatedness, files, tmp_path, capsys):
    out = f"--out={tmp_path / 'tree.svg'}"
    for arguments in (["--weights"], [f"--model={relatedness}"]):
        with pytest.raises(SystemExit, match="2"):
            main(["draw", files[0], out, *arguments])
    assert "--weights needs --model" in capsys.readouterr().err
    for name in ("--encoder", "--model-class"):
        with pytest.raises(SystemExit, match="2"):
            main(["draw", files[0], out, f"{name}=x"])
        assert f"{name} needs --model" in capsys.readouterr().err
    for arguments in (["--gold"], [f"--model={classifier}", "--weights", "--direction=sibling"]):
        with pytest.raises(SystemExit, match="2"):
            main(["draw", files[0], out, *arguments])
    assert "not available with --direction sibling" in capsys.readouterr().err
    words = saved(tmp_path / "words", NBoW, 4)
    with pytest.raises(SystemExit, match="2"):
        main(["draw", files[0], out, f"--model={words}", "--weights"])
    assert "the model 'nbow' has no edge weights" in capsys.readouterr().err
    plain = saved(tmp_path / "none", ARNNClassifier, 4, 5, attention="none")
    assert main(["draw", files[0], out, f"--model={plain}", "--weights"]) == 2
    assert "attention='none'" in capsys.readouterr().err
    assert not (tmp_path / "tree.svg").exists()
