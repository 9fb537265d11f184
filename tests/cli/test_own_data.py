"""`graphsent train` and the other commands on a user's own data."""

from __future__ import annotations

import json
import re

import pytest

from graphsent.cli import main
from graphsent.training import RunConfig

WORDS = {"pos": ("good", "lovely", "superb"), "neg": ("bad", "dull", "awful")}
THINGS = ("film", "play", "book", "song", "plot", "cast", "scene", "score", "end", "idea")
EXAMPLES = [
    (label, f"a {word} {thing}")
    for thing in THINGS
    for label, words in WORDS.items()
    for word in words
]
NBOW = ["--model=nbow", "--embedding-dim=6", "--epochs=1", "--num-threads=1"]


@pytest.fixture
def tsv(tmp_path):
    path = tmp_path / "my.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, text in EXAMPLES), encoding="utf-8")
    return path


def test_train_evaluate_predict_and_resume(tsv, tmp_path, capsys):
    out = tmp_path / "run"
    assert main(["train", f"--train={tsv}", *NBOW, "--test", f"--out={out}"]) == 0
    printed = capsys.readouterr().out
    assert "train 48 of my.tsv, dev 6 held out of train" in printed
    assert "2 labels in train: neg 24, pos 24" in printed
    results = json.loads((out / "results.json").read_text())
    config = RunConfig.load(out / "config.yaml")
    assert config.task == "own"
    assert config.task_options["train"] == str(tsv)
    assert config.task_options["labels"] == ["neg", "pos"]
    held_out = json.loads((out / "splits.json").read_text())
    assert len(held_out["held_out_of_train"][0]["test"]) == 6

    assert main(["evaluate", str(out)]) == 0
    figure = f"{100 * results['test']['macro_f1']:.2f} %"
    assert f"macro F1 {figure}" in capsys.readouterr().out
    (tmp_path / "new.txt").write_text("A lovely film.\n")
    assert main(["predict", str(out), str(tmp_path / "new.txt")]) == 0
    assert capsys.readouterr().out.split()[0] in ("neg", "pos")
    assert main(["train", f"--resume={out}", "--epochs=2"]) == 0
    assert json.loads((out / "splits.json").read_text()) == held_out

    moved = out.rename(tmp_path / "moved")
    assert main(["evaluate", str(moved)]) == 0
    capsys.readouterr()
    tsv.write_text(tsv.read_text() + "pos\tone more\n")
    for command in (["evaluate", str(moved)], ["train", f"--resume={moved}", "--epochs=3"]):
        assert main(command) == 2
        assert (
            "my.tsv has changed since the run held out some of its lines" in capsys.readouterr().err
        )


def test_a_changed_file_of_a_split_is_noticed(tsv, tmp_path, capsys):
    flags = [f"--{split}={tsv}" for split in ("train", "dev", "test")]
    assert main(["train", *flags, *NBOW, f"--out={tmp_path}/unjudged", "--no-test"]) == 0
    assert "test: accuracy" not in capsys.readouterr().out
    assert main(["train", *flags, *NBOW, f"--out={tmp_path}/run"]) == 0
    assert "test: accuracy" in capsys.readouterr().out  # there is a file of them
    assert not (tmp_path / "run" / "splits.json").exists()
    tsv.write_text(tsv.read_text() + "pos\tone more\n")
    assert main(["train", f"--resume={tmp_path}/run", "--epochs=2"]) == 2
    assert "the corpus changed since this run began" in capsys.readouterr().err


@pytest.mark.parametrize("order", [0, 1])
def test_a_test_file_is_kept_beside_a_bare_test(tsv, tmp_path, capsys, order):
    other = tmp_path / "other.tsv"
    other.write_text("pos\ta good tale\nneg\ta bad tale\n")
    flags = [[f"--test={other}"], ["--test"]]
    flags = [*flags[order], f"--out={tmp_path}/run", *flags[1 - order]]
    assert main(["train", f"--train={tsv}", *NBOW, *flags]) == 0
    assert "test 2 of other.tsv" in capsys.readouterr().out
    assert RunConfig.load(tmp_path / "run" / "config.yaml").task_options["test"] == str(other)


def test_texts_that_are_also_in_train_are_counted(tsv, tmp_path, capsys):
    other = tmp_path / "other.tsv"
    other.write_text("pos\tA good film!\nneg\ta bad film\nneg\ta bad tale\n")
    flags = [f"--train={tsv}", f"--dev={other}", *NBOW]
    assert main(["train", *flags, f"--test={tsv}", f"--out={tmp_path}/a"]) == 0
    printed = capsys.readouterr().out
    assert "2 of the 3 texts of dev are also in train\n" in printed
    assert "60 of the 60 texts of test are also in train\n" in printed
    assert main(["train", f"--train={tsv}", *NBOW, f"--out={tmp_path}/b"]) == 0
    assert "also in train" not in capsys.readouterr().out


def test_without_a_test_split_only_dev_is_evaluated(tsv, tmp_path, capsys):
    out = tmp_path / "run"
    flags = [f"--train={tsv}", f"--dev={tsv}", "--split=0", *NBOW]
    assert main(["train", *flags, f"--out={out}"]) == 0
    printed = capsys.readouterr().out
    assert "there is no test split: the model is evaluated on dev alone" in printed
    assert "test:" not in printed
    assert "test" not in json.loads((out / "results.json").read_text())
    assert main(["evaluate", str(out), "--split=dev"]) == 0
    assert main(["train", f"--resume={out}", "--epochs=2"]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(out)]) == 2
    expected = "there is no test split: the data have train and dev; add --test FILE"
    assert expected in capsys.readouterr().err
    seeds = tmp_path / "seeds"
    assert main(["train", *flags, "--seeds=0-1", f"--out={seeds}"]) == 0
    assert "test" not in json.loads((seeds / "results.json").read_text())["summary"]
    assert main(["train", f"--train={tsv}", "--split=0", *NBOW, f"--out={tmp_path}/no"]) == 2
    assert "there is no dev split: the data have train; add --dev FILE" in capsys.readouterr().err


def test_the_metric_that_selects_the_epoch(tsv, tmp_path, capsys):
    out = tmp_path / "run"
    flags = [f"--train={tsv}", *NBOW, f"--out={out}"]
    assert main(["train", *flags, "--select=f1"]) == 2
    error = capsys.readouterr().err
    assert "select: unknown metric 'f1': expected one of auto, accuracy, macro_f1" in error
    assert main(["train", *flags, "--select=macro_f1", "--test"]) == 0
    printed = capsys.readouterr().out
    assert "dev macro F1 " in printed
    assert "test: macro F1 " in printed
    assert RunConfig.load(out / "config.yaml").training.select == "macro_f1"
    with pytest.raises(SystemExit, match="2"):
        main(["train", f"--resume={out}", "--epochs=2", "--select=accuracy"])
    assert "--select cannot change with --resume" in capsys.readouterr().err
    assert main(["train", f"--resume={out}", "--epochs=2"]) == 0
    assert "dev macro F1 " in capsys.readouterr().out


def test_folds_of_own_data_hold_out_each_line_once(tsv, tmp_path, capsys):
    out = tmp_path / "folds"
    flags = [f"--train={tsv}", *NBOW, f"--out={out}"]
    assert main(["train", *flags, "--num-folds=3", "--folds=all"]) == 0
    results = json.loads((out / "results.json").read_text())
    assert [run["fold"] for run in results["runs"]] == [0, 1, 2]
    held_out = [
        json.loads((out / f"fold-{fold}" / "splits.json").read_text())["held_out_of_train"][0]
        for fold in range(3)
    ]
    lines = [line for each in held_out for line in each["test"]]
    assert sorted(lines) == list(range(1, len(EXAMPLES) + 1))
    assert main(["evaluate", str(out)]) == 0
    capsys.readouterr()
    test = [f"--test={tsv}", f"--out={tmp_path}/no"]
    assert main(["train", *flags[:-1], *test, "--folds=all"]) == 2
    assert "the corpora of the task 'own' have splits, not folds" in capsys.readouterr().err


def test_one_file_per_label(tmp_path, capsys):
    flags = []
    for label in ("pos", "neg", "very bad/no.txt"):
        path = tmp_path / f"{len(flags)}.txt"
        path.write_text("".join(f"{text} {label}\n" for _, text in EXAMPLES))
        flags += ["--class", f"{label}={path}"]
    assert main(["train", *flags, *NBOW, f"--out={tmp_path}/run"]) == 0
    assert "neg 48, pos 48, very bad/no.txt 48" in capsys.readouterr().out


def test_columns_by_name(tmp_path, capsys):
    path = tmp_path / "my.csv"
    rows = [f'"{text}",x,{label}\n' for label, text in EXAMPLES]
    path.write_text("".join(["said,text,mood\n", *rows]))
    flags = [f"--train={path}", "--label-column=mood", *NBOW]
    assert main(["train", *flags, "--text-column", "said", f"--out={tmp_path}/a"]) == 0
    assert main(["train", *flags, "--text-column", "says", f"--out={tmp_path}/b"]) == 2
    error = capsys.readouterr().err
    assert "my.csv:1: no column 'says': expected one of 'said', 'text', 'mood'; did you" in error


def test_a_model_of_trees(tsv, tmp_path, capsys):
    trees = tmp_path / "trees.txt"
    with trees.open("w") as file:
        for _, text in EXAMPLES:
            first, second, third = text.split()
            file.write(f"(NP (DT {first}) (NP (JJ {second}) (NN {third})))\n")
    flags = ["--hidden=6", "--embedding-dim=6", "--epochs=1", "--num-threads=1"]
    flags += [f"--train={tsv}", f"--out={tmp_path}/run"]
    assert main(["train", *flags]) == 2
    assert "holds sentences, but the model reads constituency trees" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    assert main(["train", *flags, "--train-trees", str(trees)]) == 0
    assert main(["evaluate", f"{tmp_path}/run"]) == 0
    assert main(["predict", f"{tmp_path}/run", str(trees)]) == 0


def test_more_folds_than_texts_are_refused_before_training(tsv, tmp_path, capsys):
    flags = ["--folds=all", "--num-folds=61", f"--out={tmp_path}/run"]
    assert main(["train", f"--train={tsv}", *NBOW, *flags]) == 2
    assert "at most one fold per distinct text of train, 60, got 61" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_labels_of_a_configuration_are_not_those_of_other_data(tsv, tmp_path, capsys):
    assert main(["train", f"--train={tsv}", *NBOW, f"--out={tmp_path}/a"]) == 0
    other = tmp_path / "other.tsv"
    other.write_text("".join(f"{len(text) % 3}\t{text}\n" for _, text in EXAMPLES))
    flags = [f"--config={tmp_path}/a/config.yaml", f"--train={other}"]
    assert main(["train", *flags, f"--out={tmp_path}/b"]) == 0
    assert main(["train", *flags, "--regression", f"--out={tmp_path}/c"]) == 0
    assert main(["train", *flags, "--labels", "0", "1", f"--out={tmp_path}/d"]) == 2
    assert "unknown label '2': expected one of 0, 1" in capsys.readouterr().err
    assert main(["train", *flags, "--labels", "0", "0", f"--out={tmp_path}/d"]) == 2
    assert "labels: expected one or more different names" in capsys.readouterr().err


def test_thousands_of_classes_are_not_drawn(tmp_path, capsys):
    path = tmp_path / "many.tsv"
    path.write_text("".join(f"{i}\ta film {i}\n" for i in range(201) for _ in range(3)))
    flags = [f"--train={path}", f"--dev={path}", f"--test={path}", "--no-test"]
    assert main(["train", *flags, *NBOW, f"--out={tmp_path}/run"]) == 0
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", f"{tmp_path}/run", f"--confusion={tmp_path}/matrix.svg"])
    assert "--confusion draws at most 200 classes, got 201" in capsys.readouterr().err


def test_pairs_of_ones_own_have_no_page(tmp_path, capsys):
    path = tmp_path / "pairs.tsv"
    rows = [f"{label}\t{text}\t{text}\n" for label, text in EXAMPLES]
    path.write_text("".join(["label\ttext1\ttext2\n", *rows]))
    flags = ["--model=sequence-relatedness", "--hidden=3", *NBOW[1:], f"--out={tmp_path}/run"]
    assert main(["train", f"--train={path}", *flags]) == 0
    capsys.readouterr()
    for refused in (f"--page={tmp_path}/page.html", f"--data-dir={tmp_path}"):
        with pytest.raises(SystemExit, match="2"):
            main(["evaluate", f"{tmp_path}/run", refused])
        printed = capsys.readouterr()
        assert "accuracy" not in printed.out
        assert f"{refused.partition('=')[0]} is for" in printed.err


def test_a_configuration_of_a_run_is_reused(tsv, tmp_path):
    assert main(["train", f"--train={tsv}", *NBOW, f"--out={tmp_path}/a"]) == 0
    config = f"--config={tmp_path}/a/config.yaml"
    assert main(["train", config, "--seed=1", f"--out={tmp_path}/b"]) == 0
    first, second = ((tmp_path / name / "splits.json").read_text() for name in "ab")
    assert first == second


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--class=pos"], "--class: expected LABEL=FILE, got 'pos'"),
        (["--class=pos=a", "--class=pos=b"], "expected one file per label, got two for 'pos'"),
        (["--class=pos=a", "--train=b"], "--class and --train are mutually exclusive"),
        (["--train=b", "--task=sst5"], "are for your own data, but the task is sst5"),
        (["--train=b", "--encoder-pooling=first"], "--encoder-pooling needs --encoder"),
        (["--train=b", "--encoder-lr=1"], "--encoder-lr needs --finetune-encoder"),
        (["--train=b", "--data-dir=."], "--data-dir is for published corpora"),
        (["--train=b", "--parses-dir=."], "--parses-dir is for published corpora"),
        (["--train=a", "--split=much"], "--split: expected a finite number, got 'much'"),
        (["--train=b", "--num-folds=5"], "--num-folds needs --fold or --folds"),
        (["--train=b", "--dev=c", "--test=d", "--split=0.2"], "--split has no effect"),
        (["--train=b", "--dev=c", "--split=0", "--split-seed=2"], "--split-seed has no effect"),
        (["--train=b", "--dev=c", "--folds=all", "--split-seed=2"], "--split-seed has no effect"),
        (["--class=pos=a", "--class=neg=b", "--label-column=x"], "--label-column has no effect"),
        (["--class=pos=a", "--class=neg=b", "--text-column=x"], "--text-column has no effect"),
        (["--train=b", "--test=c", "--test=d"], "--test: expected one file, got 'c' and 'd'"),
        (["--train=b", "--train=c"], "--train: expected one file, got 'b' and 'c'"),
        (["--train=b", "--dev=c", "--dev=d"], "--dev: expected one file, got 'c' and 'd'"),
        (["--train=b", "--no-test"], "--no-test needs --test FILE"),
        (["--train=b", "--test", "--no-test"], "--no-test needs --test FILE"),
        ([], "--task is missing: .*; or --train FILE for your own data"),
    ],
)
def test_wrong_flags(tmp_path, capsys, flags, message):
    with pytest.raises(SystemExit, match="2"):
        main(["train", *flags, *NBOW, f"--out={tmp_path}/run"])
    assert re.search(message, capsys.readouterr().err)


def test_a_bad_line_is_found_before_anything_is_written(tsv, tmp_path, capsys):
    tsv.write_text(tsv.read_text() + "pos without a tab\n")
    assert main(["train", f"--train={tsv}", *NBOW, f"--out={tmp_path}/run"]) == 2
    assert "my.tsv:61: no tab in 'pos without a tab'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_evaluate_writes_confusion_and_errors(tsv, tmp_path, capsys):
    assert main(["train", f"--train={tsv}", *NBOW, f"--out={tmp_path}/run"]) == 0
    capsys.readouterr()
    flags = ["--errors=2", f"--errors-file={tmp_path}/errors.csv"]
    flags += [f"--confusion={tmp_path}/confusion.png", f"--json={tmp_path}/figures.json"]
    flags.append(f"--page={tmp_path}/page.html")
    assert main(["evaluate", f"{tmp_path}/run", "--split=train", *flags]) == 0
    printed = capsys.readouterr().out
    content = json.loads((tmp_path / "figures.json").read_text())
    (neg, as_pos), (as_neg, pos) = content["confusion"]["rows_are_gold"]
    assert neg + as_pos == as_neg + pos == 24
    assert content["metrics"]["accuracy"] == pytest.approx((neg + pos) / 48)
    assert content["classes"][0]["name"] == "neg"
    errors = (tmp_path / "errors.csv").read_text().splitlines()[1:]
    assert len(errors) == as_pos + as_neg
    lines = tsv.read_text().splitlines()
    for error in errors:
        where, gold, _, _, sentence = error.split(",")
        assert lines[int(where.removeprefix("my.tsv:")) - 1] == f"{gold}\t{sentence}"
    assert errors[0].split(",")[0] in printed
    assert f"{len(errors)} errors, most confident first" in printed
    assert (tmp_path / "confusion.png").read_bytes().startswith(b"\x89PNG")
    assert "page.html: 48 sentences" in printed
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count('"gold":[0]') == page.count('"gold":[1]') == 24


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--errors=0"], "--errors: expected at least 1, got 0"),
        (["--page=a.svg"], "--page a.svg: expected a file name ending in .html"),
        (["--confusion=a.pdf"], "--confusion a.pdf: expected a file name ending in .svg, .png"),
    ],
)
def test_wrong_flags_of_evaluate(trained, capsys, flags, message):
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", str(trained), *flags])
    assert message in capsys.readouterr().err


def test_misclassified_examples_of_a_corpus_have_their_number(trained, capsys):
    assert main(["evaluate", str(trained), "--errors=1"]) == 0
    assert re.search(r"\ntest \d+ +(very )?(negative|neutral|positive)", capsys.readouterr().out)


@pytest.mark.parametrize("model", ["treelstm", "arnn"])
def test_trees_of_a_shape(tsv, tmp_path, capsys, model):
    flags = ["--hidden=6", "--embedding-dim=6", "--epochs=1", "--num-threads=1", f"--model={model}"]
    flags += [f"--train={tsv}", f"--out={tmp_path}/run", "--trees=balanced"]
    assert main(["train", *flags]) == 0
    assert main(["evaluate", f"{tmp_path}/run", "--errors=1"]) == 0
    (tmp_path / "new.txt").write_text("A lovely film.\n")
    capsys.readouterr()
    assert main(["predict", f"{tmp_path}/run", str(tmp_path / "new.txt")]) == 0
    assert capsys.readouterr().out.split()[0] in ("neg", "pos")


def test_a_custom_parser(tsv, tmp_path, capsys, monkeypatch):
    (tmp_path / "parser_of_words.py").write_text(
        "def parse(sentences):\n"
        "    trees = [' '.join(f'(W {word})' for word in each.split()) for each in sentences]\n"
        "    return [f'(S {tree})' for tree in trees]\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHSENT_CACHE", str(tmp_path / "cache"))
    flags = ["--hidden=6", "--embedding-dim=6", "--epochs=1", "--num-threads=1", "--out=run"]
    assert main(["train", f"--train={tsv}", *flags, "--parser=parser_of_words:parse"]) == 0
    assert main(["evaluate", "run", "--errors=1"]) == 0
    assert "my.tsv:" in capsys.readouterr().out


def test_regression(tmp_path, capsys):
    path = tmp_path / "my.tsv"
    path.write_text("".join(f"{(label == 'pos') * 2.5 + 1}\t{text}\n" for label, text in EXAMPLES))
    out = f"--out={tmp_path}/run"
    assert main(["train", f"--train={path}", "--regression", *NBOW, "--test", out]) == 0
    printed = capsys.readouterr().out
    assert "scores from 1 to 3.5 in train" in printed
    assert "test: pearson " in printed
    assert main(["evaluate", f"{tmp_path}/run"]) == 0
    good = path.read_text()
    for label in ("many", "nan", "-inf", "1_000", "١٢", "1e39"):  # the last overflows in float32
        path.write_text(f"{good}{label}\twords\n")
        assert main(["train", f"--train={path}", "--regression", *NBOW, f"{out}2"]) == 2
        error = f"my.tsv:61: expected a number as the label, got {label!r}"
        assert error in capsys.readouterr().err


def test_pairs_are_trained_and_evaluated(tmp_path, capsys):
    path = tmp_path / "pairs.csv"
    lines = ["sentence1,sentence2,score,same"]
    lines += [f"{text},a good film,{len(text)}.5,{label}" for label, text in EXAMPLES]
    path.write_text("\n".join(lines) + "\n")
    flags = [f"--train={path}", "--model=sequence-relatedness", "--hidden=6", "--comparison=4"]
    flags += ["--embedding-dim=6", "--epochs=1", "--num-threads=1"]
    assert main(["train", *flags, "--regression", "--test", f"--out={tmp_path}/a"]) == 0
    assert "test: pearson " in capsys.readouterr().out
    (tmp_path / "first").write_text("It isn't good.\n")
    (tmp_path / "second").write_text("(S (A good) (N films))\n")
    assert main(["predict", f"{tmp_path}/a", f"{tmp_path}/first", f"{tmp_path}/second"]) == 0
    assert capsys.readouterr().out.split("\t")[1:] == ["It is n't good .", "good films\n"]
    assert main(["train", f"--resume={tmp_path}/a", "--epochs=2"]) == 0
    assert main(["train", *flags, "--label-column=same", f"--out={tmp_path}/b"]) == 0
    assert main(["evaluate", f"{tmp_path}/b", "--errors=1"]) == 0
    assert "| a good film" in capsys.readouterr().out
    flags[1] = "--model=arnn-relatedness"
    assert main(["train", *flags, "--trees=right", "--regression", f"--out={tmp_path}/trees"]) == 0
    assert main(["train", f"--train={path}", *NBOW, f"--out={tmp_path}/c"]) == 2
    printed = capsys.readouterr().err
    assert "'own' is classification of pairs, the model 'nbow' is for " in printed
    assert "regression of single sentences" in printed
    assert main(["train", *flags, "--regression", f"--out={tmp_path}/c"]) == 2
    printed = capsys.readouterr().err
    assert "a model of words, such as sequence-relatedness" in printed
    assert "kimcnn" not in printed


def test_an_option_of_several_values_may_be_repeated(tmp_path, capsys):
    table, vectors = tmp_path / "pairs.csv", [tmp_path / name for name in ("a.txt", "b.txt")]
    rows = [f"{label},{text},the {text}" for label, text in EXAMPLES]
    table.write_text("\n".join(["label,title,body", *rows, ""]))
    for path in vectors:
        path.write_text("film 1 2\n")
    flags = ["--model=sequence-relatedness", "--hidden=4", "--epochs=1", "--num-threads=1"]
    flags += [f"--train={table}", f"--out={tmp_path / 'run'}"]
    flags += ["--text-column=title", "--text-column=body", "--labels=neg", "--labels=pos"]
    flags += [f"--vectors={path}" for path in vectors]
    assert main(["train", *flags]) == 0
    assert "a.txt (2) + b.txt (2)" in capsys.readouterr().out
    config = RunConfig.load(tmp_path / "run" / "config.yaml")
    assert config.task_options["text_column"] == ["title", "body"]
    assert config.task_options["labels"] == ["neg", "pos"]
    assert [*config.vectors] == [*map(str, vectors)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no examples: expected labelled sentences"),
        (["pos,a film,", "neg,,a play"], "pairs.csv:2: the text is empty"),
    ],
)
def test_files_of_pairs_without_a_good_row(tmp_path, capsys, rows, message):
    table = tmp_path / "pairs.csv"
    table.write_text("\n".join(["label,sentence1,sentence2", *rows, ""]))
    flags = [f"--train={table}", "--model=sequence-relatedness", f"--out={tmp_path / 'run'}"]
    assert main(["train", *flags]) == 2
    assert message in capsys.readouterr().err
