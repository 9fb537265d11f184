"""`graphsent debug-data`: figures checked by hand, and every bad line by its number."""

from __future__ import annotations

import json
import shutil

import pytest

from graphsent.cli import main
from graphsent.tasks.data_dir import embedded_data_dir


@pytest.fixture
def look(tmp_path, capsys):
    """Runs the command; returns its status, its output, and its JSON."""

    def look(*flags: str) -> tuple[int, str, dict]:
        status = main(["debug-data", *flags, f"--json={tmp_path}/figures.json"])
        captured = capsys.readouterr()
        return (
            status,
            captured.out + captured.err,
            json.loads((tmp_path / "figures.json").read_text()),
        )

    return look


def test_statistics_of_sentences(tmp_path, look):
    train, test = tmp_path / "train.tsv", tmp_path / "test.tsv"
    train.write_text("pos\ta good film\nneg\tbad\npos\tA good film !\nneg\ta good film\n")
    test.write_text("pos\ta good play\nneg\tbad\n")
    status, printed, content = look(f"--train={train}", f"--dev={test}", f"--test={test}")
    assert status == 0
    found = content["splits"]["train"]
    assert (found["examples"], found["labels"]) == (4, {"pos": 2, "neg": 2})
    assert found["lengths"]["counts"] == {"1": 1, "3": 2, "4": 1}
    assert (found["lengths"]["lowest"], found["lengths"]["mean"]) == (1, 2.75)
    assert found["lengths"]["nine_tenths_up_to"] == 4
    assert (found["different_words"], found["running_words"]) == (6, 11)
    assert (found["repeated_texts"], found["texts_with_several_labels"]) == (2, 1)
    found = content["splits"]["test"]
    assert (found["words_not_in_train"], found["running_words_not_in_train"]) == (1, 1)
    assert found["texts_in_train"] == 1
    assert (found["repeated_texts"], found["texts_with_several_labels"]) == (0, 0)
    assert content["test_texts_in_dev"] == 2
    assert content["bad_lines"] == []
    assert "train: 4 examples" in printed
    assert "words: 1 to 4, mean 2.75, 90th percentile 4; 6 distinct" in printed
    assert "repeated texts: 2; texts with conflicting labels: 1" in printed


def test_statistics_of_trees(tmp_path, look):
    path = tmp_path / "trees.txt"
    path.write_text("(1 (0 (2 a) (2 b) (2 c)) (2 d))\n(0 (2 e) (2 f))\n")
    _, printed, content = look(f"--train={path}", f"--dev={path}", f"--test={path}")
    found = content["splits"]["train"]
    assert found["depths"]["counts"] == {"1": 1, "2": 1}
    assert found["arities"]["counts"] == {"2": 2, "3": 1}
    assert "children of inner nodes: 2: 66.7 %, 3: 33.3 %" in printed


def test_labels_of_phrases_are_counted(tmp_path, look):
    """Only those that are a label of some sentence, or named by --labels, are learned."""
    path, table = tmp_path / "trees.txt", tmp_path / "trees.csv"
    path.write_text("(1 (0 (2 a) (1 b)) (2 c))\n(0 (2 d) (2 e))\n")
    table.write_text("tree,label\n(1 (0 a) (1 b)),1\n")
    _, printed, content = look(f"--train={path}", "--split=0")
    found = content["splits"]["train"]
    assert (found["phrases"], found["labelled_phrases"]) == (6, 2)
    assert "labelled phrases within sentences: 2 of 6" in printed
    _, printed, _ = look(f"--train={path}", "--split=0", "--labels", "0", "1", "2")
    assert "labelled phrases within sentences: 6 of 6" in printed
    _, printed, content = look(f"--train={table}", "--split=0", "--text-column=tree")
    assert content["splits"]["train"]["labelled_phrases"] == 0
    assert "labelled phrases within sentences: 0 of 2" in printed
    path.write_text("pos\ta b\nneg\tc\n")
    _, printed, content = look(f"--train={path}", "--split=0", "--text-column=2")
    assert "phrases" not in printed
    assert "phrases" not in content["splits"]["train"]


def test_coverage_of_vectors(tmp_path, look):
    train, vectors = tmp_path / "train.tsv", tmp_path / "vectors.txt"
    train.write_text("pos\ta good film\nneg\ta bad film\n")
    vectors.write_text("good 1 2\nfilm 3 4\n")
    status, printed, content = look(f"--train={train}", "--split=0", "--vectors", str(vectors))
    assert status == 0
    assert content["vectors"] == {"types": 4, "types_found": 2, "tokens": 6, "tokens_found": 3}
    assert "vectors: 2 (50.00 %) of 4 words" in printed


def test_every_bad_line_is_named(tmp_path, look):
    train, test = tmp_path / "train.tsv", tmp_path / "test.tsv"
    train.write_bytes(b"pos\tgood\nno tab\nneg\tbad\n\tno label\nneg\tcaf\xe9\npos\tfine\n")
    test.write_text("pos\tgood\nnegg\tbad\n")
    status, printed, content = look(f"--train={train}", f"--test={test}")
    assert status == 1
    lines = [line.split(": ")[0].rpartition("/")[2] for line in content["bad_lines"]]
    assert lines == ["train.tsv:2", "train.tsv:4", "train.tsv:5:8", "test.tsv:2"]
    assert content["splits"]["train"]["examples"] + content["splits"]["dev"]["examples"] == 3
    assert all(line in printed for line in content["bad_lines"])
    assert "4 bad lines" in printed


def test_a_single_label_is_reported(tmp_path, look):
    train = tmp_path / "train.tsv"
    train.write_text("pos\tgood\npos\tfine\n")
    status, printed, _ = look(f"--train={train}")
    assert status == 1
    assert "all 2 examples have the label 'pos'" in printed


def test_many_lines_that_are_bad_for_one_reason(tmp_path, look):
    train, dev = tmp_path / "train.tsv", tmp_path / "dev.tsv"
    rows = [f"{'pn'[i % 2]}\tfilm {i}\n" for i in range(40)]
    train.write_text("".join([*rows, *(f"no tab {i}\n" for i in range(30)), "p\tone\textra\n"]))
    dev.write_text("".join([*rows, "no tab in dev\n"]))
    status, printed, content = look(f"--train={train}", f"--dev={dev}")
    assert status == 1
    assert len(content["bad_lines"]) == 32
    assert "train.tsv:50: no tab in 'no tab 9'" in printed
    assert "train.tsv:51: " not in printed
    assert "\n... and 20 more lines\n" in printed
    assert "train.tsv:71: expected 2 columns" in printed
    assert "dev.tsv:41: no tab in 'no tab in dev'" in printed
    assert "32 bad lines" in printed


def test_one_bad_line_is_counted_as_one(tmp_path, look):
    train = tmp_path / "train.tsv"
    train.write_text("pos\tgood\nneg\tbad\nno tab\n")
    _, printed, content = look(f"--train={train}", f"--dev={train}")
    assert "debug-data: 1 bad line\n" in printed
    assert content["problems"] == []


def test_data_that_training_refuses(tmp_path, look, capsys):
    """Each is one problem with the same message as in training."""
    few, equal, several = (tmp_path / name for name in ("few.tsv", "equal.tsv", "several.tsv"))
    few.write_text("pos\tgood\nneg\tbad\n")
    equal.write_text("".join(f"{form}\tfilm {i}\n" for i in range(20) for form in ("2", "2.0")))
    several.write_text("".join(f"{i % 4}\tplay {i}\n" for i in range(40)))
    cases = [
        ([f"--train={few}", f"--test={few}"], "too few distinct examples of each label to hold"),
        ([f"--train={equal}", f"--dev={several}", "--regression"], "train: all scores are 2"),
        ([f"--train={several}", f"--dev={equal}", "--regression"], "dev: all scores are 2"),
    ]
    for flags, message in cases:
        status, printed, content = look(*flags)
        assert status == 1
        (problem,) = content["problems"]
        assert message in problem
        assert problem in printed
        assert "debug-data: 1 problem\n" in printed
        assert main(["train", *flags, "--model=nbow", f"--out={tmp_path}/run"]) == 2
        assert problem in capsys.readouterr().err
        assert not (tmp_path / "run").exists()


def test_a_dev_split_of_one_class(tmp_path, look):
    train, dev = tmp_path / "train.tsv", tmp_path / "dev.tsv"
    train.write_text("".join(f"{'pn'[i % 2]}\tfilm {i}\n" for i in range(40)))
    dev.write_text("p\tone play\np\tanother play\n")
    status, printed, _ = look(f"--train={train}", f"--dev={dev}")
    assert status == 1
    assert "dev: all 2 examples have the label 'p': expected several" in printed


def test_the_corpus_of_a_task(look, monkeypatch):
    monkeypatch.delenv("GRAPHSENT_DATA", raising=False)
    status, printed, content = look("--task=trec")
    assert status == 0
    assert "embedded synthetic questions" in printed
    assert content["splits"]["train"]["labels"]["ENTY"] > 0


def test_the_options_of_a_task(look, monkeypatch):
    monkeypatch.delenv("GRAPHSENT_DATA", raising=False)
    _, printed, content = look("--task=sick")
    assert "scores: " in printed
    status, printed, content = look("--task=sick", "--target=entailment")
    assert status == 0
    assert content["splits"]["train"]["labels"].keys() == {"neutral", "entailment", "contradiction"}


def test_pairs_and_scores(tmp_path, look):
    path = tmp_path / "pairs.csv"
    path.write_text("sentence1,sentence2,score\na b,c,1.5\nd,e f,4\n")
    flags = [f"--{split}={path}" for split in ("train", "dev", "test")]
    _, printed, content = look(*flags, "--regression")
    assert content["splits"]["train"]["lengths"]["counts"] == {"1": 2, "2": 2}
    assert "scores: 1.5 to 4, mean 2.750" in printed


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "--train FILE (or --class LABEL=FILE), or --task NAME, is missing"),
        (
            ["--task=trec", "--train=a"],
            "--train is for your own data and cannot be used with --task",
        ),
        (["--train=a", "--tree-kind=words"], "--tree-kind is for --task"),
        (["--train=a", "--data-dir=b"], "--data-dir is for published corpora"),
        (["--train=a", "--num-folds=5"], "--num-folds needs --fold"),
    ],
)
def test_wrong_flags(capsys, flags, message):
    with pytest.raises(SystemExit, match="2"):
        main(["debug-data", *flags])
    assert message in capsys.readouterr().err


def test_the_tokenizer_reads_a_corpus_too(tmp_path, look):
    directory = shutil.copytree(embedded_data_dir() / "relatedness", tmp_path / "relatedness")
    for path in directory.glob("*.txt"):
        path.write_text(path.read_text().replace("boy\t", "boy's\t"))
    flags = ("--task=sick", f"--data-dir={tmp_path}")
    found = [look(*flags, *more)[1] for more in ((), ("--tokenizer=whitespace",))]
    assert found[0] != found[1]


def test_missing_columns(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("x,y,z\n1,2,3\n")
    assert main(["debug-data", f"--train={path}"]) == 2
    assert "which column holds the label? Name one of 'x', 'y', 'z'" in capsys.readouterr().err


def test_lists_of_parses_are_rejected(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["debug-data", "--task=rerank", "--tree-kind=constituency"])
    assert "has n-best lists: expected a task of sentences or pairs" in capsys.readouterr().err


def test_data_are_not_overwritten(tmp_path, capsys):
    train, trees = tmp_path / "train.tsv", tmp_path / "trees.txt"
    train.write_text("pos\ta good film\nneg\tbad\n")
    trees.write_text("(S (A a) (B (C good) (D film)))\n(S bad)\n")
    own = [f"--train={train}", f"--train-trees={trees}"]
    data = tmp_path / "data"
    shutil.copytree(embedded_data_dir(), data)
    dev = data / "sentiment" / "dev.txt"
    cases = [(own, train), (own, trees), (["--task=sst5", f"--data-dir={data}"], dev)]
    for flags, path in cases:
        before = path.read_bytes()
        with pytest.raises(SystemExit, match="2"):
            main(["debug-data", *flags, f"--json={path}"])
        assert f"--json {path} would overwrite an input" in capsys.readouterr().err
        assert path.read_bytes() == before
