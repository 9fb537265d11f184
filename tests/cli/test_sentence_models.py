"""Sentence models on the command line: train, evaluate, predict and inspect."""

from __future__ import annotations

import gzip
import io
import json
import random
import shutil
from pathlib import Path

import pytest

from graphsent.cli import main

SMALL = {
    "dcnn": ["--widths=[3,2]", "--maps=[2,2]"],
    "apdcnn": ["--hidden=4", "--widths=[[3,2]]"],
    "nbow": [],
    "maxtdnn": [],
    "kimcnn": ["--maps=3"],
    "recnn": ["--hidden=4"],
}
ANSWERS = {"LOC:city": "Where", "HUM:ind": "Who", "NUM:date": "When"}
SENTENCE = "Where was Anna ?"
PARSE = "(S (W Where) (VP (V was) (NP (N Anna) (P ?))))"


def write_questions(directory: Path) -> None:
    """The embedded files of questions and their parses, a few lines each."""
    rng = random.Random(0)
    for folder in ("questions", "parses"):
        (directory / folder).mkdir(parents=True)
    for split in ("train", "dev", "test"):
        questions, parses = [], []
        for _ in range(12):
            label, word = rng.choice(list(ANSWERS.items()))
            verb, name = rng.choice(["was", "is"]), rng.choice(["Anna", "Bob"])
            questions.append(f"{label} {word} {verb} {name} ?\n")
            parses.append(f"{label}\t(ROOT (W {word}) (VP (V {verb}) (NP (N {name}) (P ?))))\n")
        (directory / "questions" / f"{split}.txt").write_text("".join(questions))
        path = directory / "parses" / f"questions.{split}.trees.gz"
        path.write_bytes(gzip.compress("".join(parses).encode()))


def write_tweets(directory: Path) -> None:
    (directory / "twitter").mkdir(parents=True)
    row = '"{}","1","a day","a query","anna","so {}"\n'.format
    text = "".join(row(*each) for each in (("0", "dull"), ("4", "good")) * 10)
    for name in ("training.20000.processed.noemoticon.csv", "testdata.manual.2009.06.14.csv"):
        (directory / "twitter" / name).write_text(text)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("sentences") / "data"
    write_questions(directory)
    write_tweets(directory)
    return directory


@pytest.fixture(scope="module")
def runs(data, toy_data, tmp_path_factory):
    """``runs(task, model)`` is a run directory, trained on first use."""
    directory = tmp_path_factory.mktemp("runs")

    def of(task: str, model: str) -> str:
        out = directory / f"{task}-{model}"
        if not out.exists():
            corpus = toy_data if task.startswith("sst") else data
            arguments = [f"--task={task}", f"--model={model}", f"--data-dir={corpus}"]
            arguments += ["--epochs=1", "--embedding-dim=6", "--num-threads=1", "--test"]
            arguments += [f"--out={out}"]
            assert main(["train", *arguments, *SMALL[model]]) == 0
        return str(out)

    return of


def file_of(directory: Path, text: str, name: str = "sentences.txt") -> str:
    (directory / name).write_text(text)
    return str(directory / name)


@pytest.mark.parametrize(
    ("task", "model"),
    [
        *(("trec", model) for model in SMALL),
        ("sst2", "dcnn"),
        ("sst5", "apdcnn"),
        ("sst5", "kimcnn"),
        ("twitter", "dcnn"),
    ],
)
def test_a_model_is_trained_evaluated_and_predicts(task, model, runs, tmp_path, capsys):
    out = runs(task, model)
    results = json.loads((Path(out) / "results.json").read_text())
    capsys.readouterr()
    assert main(["evaluate", out, f"--json={tmp_path / 'figures.json'}"]) == 0
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["metrics"] == results["test"]
    reads_trees = model in ("apdcnn", "recnn")
    raw = "Where was Anna?"
    text = f"{PARSE}\n{PARSE}\n" if reads_trees else f"{SENTENCE}\n{raw}\n{SENTENCE} unseen\n"
    capsys.readouterr()
    assert main(["predict", out, file_of(tmp_path, text)]) == 0
    sentences = [line.split("\t")[2] for line in capsys.readouterr().out.splitlines()]
    expected = [SENTENCE] * 2 if reads_trees else [SENTENCE, SENTENCE, f"{SENTENCE} unseen"]
    if task == "twitter":
        expected = [sentence.lower() for sentence in expected]
    assert sentences == expected


def test_models_of_words_read_trees_too(runs, tmp_path, capsys):
    out = runs("trec", "dcnn")
    capsys.readouterr()
    for text in (PARSE, SENTENCE):
        assert main(["predict", out, file_of(tmp_path, text)]) == 0
    one, other = capsys.readouterr().out.splitlines()
    assert one == other
    with pytest.raises(SystemExit, match="2"):
        main(["predict", out, file_of(tmp_path, SENTENCE), "--format=trees"])
    assert "--format trees is for trees" in capsys.readouterr().err


def test_inspect_lists_the_ngrams_of_filters(runs, tmp_path, capsys):
    out = runs("trec", "dcnn")
    capsys.readouterr()
    assert main(["inspect", out, "filters", "--filters=1-2,12", "--top=2"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["filter", "rank", "score", "ngram"]
    assert len(lines) == 6
    assert lines[-1].startswith("map 2, row 6")
    corpus = file_of(tmp_path, f"{SENTENCE}\n")
    for suffix in ("csv", "json", "svg", "png"):
        path = tmp_path / f"filters.{suffix}"
        assert main(["inspect", out, "filters", corpus, "--out", str(path)]) == 0
    assert len(json.loads((tmp_path / "filters.json").read_text())) == 12 * 2
    assert (tmp_path / "filters.csv").read_text().count("\n") == 1 + 12 * 2
    assert main(["inspect", runs("trec", "apdcnn"), "filters", "--top=1"]) == 0
    of_trees = ["inspect", runs("trec", "apdcnn"), "filters", file_of(tmp_path, "Who, me?\n")]
    capsys.readouterr()
    assert main(of_trees) == 0
    assert "Who , me" in capsys.readouterr().out


def test_learning_curves(runs, tmp_path, capsys):
    inspect = ["inspect", runs("trec", "dcnn"), "curves"]
    capsys.readouterr()
    assert main(inspect) == 0
    header, first, *_ = capsys.readouterr().out.splitlines()
    assert header.split()[:2] == ["epoch", "loss"]
    assert first.split()[0] == "1"
    picture = tmp_path / "curves.svg"
    assert main([*inspect, f"--out={picture}"]) == 0
    assert "accuracy" in picture.read_text()
    with pytest.raises(SystemExit, match="2"):
        main([*inspect, "file.txt"])
    assert main(["inspect", str(tmp_path), "curves"]) == 2
    assert "is not a run: it has no config.yaml" in capsys.readouterr().err


def test_learning_curves_of_an_edited_table(runs, tmp_path, capsys):
    run = shutil.copytree(runs("trec", "dcnn"), tmp_path / "run")
    table = run / "logs" / "metrics.csv"
    table.write_text(table.read_text().replace("loss", "Loss", 1))
    assert main(["inspect", str(run), "curves"]) == 2
    assert f"{table}: expected a column 'loss', got epoch, Loss" in capsys.readouterr().err


def test_a_feature_graph(runs, tmp_path, capsys):
    inspect = ["inspect", runs("trec", "dcnn"), "graph"]
    capsys.readouterr()
    assert main([*inspect, "--sentence", SENTENCE]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["layer", "1", "layer", "2", "word"]
    assert [line.split()[-1] for line in lines] == SENTENCE.split()
    corpus = file_of(tmp_path, f"one\n{SENTENCE}\n")
    path = tmp_path / "graph.json"
    assert main([*inspect, corpus, "--number=2", "--map=2", "--row=1", f"--out={path}"]) == 0
    graph = json.loads(path.read_text())
    assert graph["words"] == SENTENCE.split()
    assert {node["map"] for node in graph["nodes"] if node["layer"] == 2} == {1}
    picture = tmp_path / "graph.svg"
    assert main([*inspect, corpus, "--number=2", "--title=A title", f"--out={picture}"]) == 0
    assert "A title" in picture.read_text()


def test_standard_input_is_inspected(runs, tmp_path, monkeypatch, capsys):
    inspect = ["inspect", runs("trec", "dcnn"), "graph"]
    conllu = "1\tnot\t_\t_\t_\t_\t2\tdep\t_\t_\n2\tgood\t_\t_\t_\t_\t0\troot\t_\t_\n"
    for text in (b"not good\n", conllu.encode(), b"caf\xe9\n"):
        capsys.readouterr()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert main(inspect) == (2 if b"\xe9" in text else 0)
        printed = capsys.readouterr()
        if printed.out:
            assert [line.split()[-1] for line in printed.out.splitlines()[1:]] == ["not", "good"]
    assert "standard input:1:4: 0xE9 is not valid utf-8" in printed.err


def test_the_texts_of_a_table_are_inspected(runs, tmp_path, capsys):
    out, found = runs("trec", "dcnn"), []
    contents = {"a.txt": "a b c\nd e\n", "a.csv": 'n,text\n1,"a b\n c"\n2,d e\n'}
    contents["a.jsonl"] = '{"text": "a b c"}\n{"text": "d e"}\n'
    contents |= {"a.tsv": "x\ta b c\nx\td e\n", "b.tsv": "a b c\nd e\n"}
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
        capsys.readouterr()
        assert main(["inspect", out, "filters", str(tmp_path / name)]) == 0
        found.append(capsys.readouterr().out)
    assert len(set(found)) == 1
    (tmp_path / "bad.tsv").write_text("x\ta b c\nno tab\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "short.txt").write_text("a\n")
    messages = {"bad.tsv": "bad.tsv:2: ", "empty.txt": "empty.txt: empty"}
    messages["short.txt"] = "short.txt: all sentences are shorter than the filters"
    for name, message in messages.items():
        assert main(["inspect", out, "filters", str(tmp_path / name)]) == 2
        assert message in capsys.readouterr().err


def test_a_sentence_in_brackets_is_inspected_whole(runs, tmp_path, capsys):
    inspect = ["inspect", runs("trec", "dcnn"), "graph"]
    for text, words in (("(not good)", "( not good )"), ("(awful film", "( awful film")):
        for given in ([f"--sentence={text}"], [file_of(tmp_path, f"{text}\nfilm\n")]):
            capsys.readouterr()
            assert main([*inspect, *given]) == 0
            lines = capsys.readouterr().out.splitlines()[1:]
            assert [line.split()[-1] for line in lines] == words.split()


def test_inspect_shows_the_attention_of_a_sentence(runs, tmp_path, capsys):
    inspect = ["inspect", runs("trec", "apdcnn"), "attention"]
    capsys.readouterr()
    assert main([*inspect, "--sentence", PARSE]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert sum(float(line.split()[2]) for line in lines) == pytest.approx(1, abs=0.01)
    assert main([*inspect, file_of(tmp_path, PARSE), f"--out={tmp_path / 'a.png'}"]) == 0
    assert (tmp_path / "a.png").exists()


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        ("nbow", ["filters"], "the model 'nbow' has no filters: expected a convolutional model"),
        ("recnn", ["graph", "--sentence=a"], "the model 'recnn' has no feature graph"),
        ("dcnn", ["attention", "--sentence=(A a)"], "'dcnn' has no attention over positions"),
        ("apdcnn", ["attention", "--sentence=a b"], "expected a parse tree, got the sentence"),
        ("dcnn", ["filters", "--filters=13"], "no filter 13: the model has 12"),
        ("dcnn", ["graph", "--sentence=a", "--map=1", "--row=9"], "2 maps of 2 rows"),
        ("dcnn", ["graph", "--sentence=a", "--number=2"], "--sentence: no sentence 2: there are 1"),
    ],
)
def test_inspect_errors_give_one_line(model, arguments, message, runs, capsys):
    out = runs("trec", model)
    capsys.readouterr()
    assert main(["inspect", out, *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["filters", "--map=1"], "--map is not for filters"),
        (["attention", "--top=1"], "--top is not for attention"),
        (["graph", "--map=1"], "--map and --row go together"),
        (
            ["graph", "--out=x.pdf"],
            "--out x.pdf: expected a file name ending in .txt, .csv, .json, .png, .svg",
        ),
        (["graph", "--title=x"], "--title is for pictures"),
        (["graph", "x", "--sentence=y"], "expected a file or --sentence, got both"),
        (
            ["filters", "--filters=1;2"],
            "--filters: expected numbers such as 0-4 or 0,2,5 (at most 1000), got '1;2'",
        ),
        (["words"], "words"),
    ],
)
def test_wrong_arguments_of_inspect_give_one_line_and_status_2(arguments, message, runs, capsys):
    out = runs("trec", "dcnn")
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        main(["inspect", out, *arguments])
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_model_without_a_run_needs_a_corpus(runs, capsys):
    directory = f"{runs('trec', 'dcnn')}/model"
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        main(["inspect", directory, "filters"])
    assert "is not a run directory and names no corpus: expected a FILE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task=sick", "--model=dcnn"], "'sick' is regression of pairs, the model 'dcnn' is for"),
        (
            ["--task=trec", "--model=arnn-relatedness"],
            "is for regression and classification of pairs",
        ),
        (["--task=trec", "--model=dcnn"], "no trec/"),
        (
            ["--task=twitter", "--model=apdcnn", "+data"],
            "cannot be read as constituency: it has wo",
        ),
        (
            ["--task=trec", "--model=dcnn", "--k-top=0", "+data"],
            "k_top: expected at least 1, got 0",
        ),
        (["--task=trec", "--model=apdcnn", "--fusion=x", "+data"], "unknown fusion 'x': expected"),
    ],
)
def test_conflicting_options_give_one_line(arguments, message, data, toy_data, tmp_path, capsys):
    corpus = data if "+data" in arguments else toy_data
    arguments = [each for each in arguments if each != "+data"]
    code = main(["train", *arguments, f"--data-dir={corpus}", f"--out={tmp_path / 'run'}"])
    error = capsys.readouterr().err
    assert code == 2
    assert message in error
    assert error.count("\n") == 1


def test_word_vectors_of_several_files(data, tmp_path, capsys):
    for name, dim in (("one.txt", 2), ("two.txt", 3)):
        vector = " ".join(["0.5"] * dim)
        file_of(tmp_path, "".join(f"{word} {vector}\n" for word in ("Where", "Who")), name)
    files = [str(tmp_path / "one.txt"), str(tmp_path / "two.txt")]
    for chosen in (files[:1], files):
        out = str(tmp_path / f"run{len(chosen)}")
        arguments = ["--task=trec", "--model=nbow", f"--data-dir={data}", "--epochs=1"]
        assert (
            main(["train", *arguments, "--num-threads=1", "--out", out, "--vectors", *chosen]) == 0
        )
        config = json.loads((Path(out) / "model" / "config.json").read_text())
        assert config["arguments"]["embedding_dim"] == (2 if len(chosen) == 1 else 5)
