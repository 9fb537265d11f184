"""`graphsent config`: configurations listed, shown, copied and checked."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from commands import outcome

from graphsent.cli import main
from graphsent.reproduction import Catalogue
from graphsent.training import RunConfig
from graphsent.training.building import completed
from graphsent.training.config_check import config_faults
from graphsent.training.config_file import Settings
from graphsent.training.setting import prepare


def test_configurations_are_listed_by_words_in_their_names(here, capsys):
    _, every, _ = outcome(capsys, "config", "list")
    assert all(f"\n{name} " in every for name in ("toy-nbow", "toy-tree", "toy-tree-left"))
    _, some, _ = outcome(capsys, "config", "list", "tree", "left")
    assert [line.split() for line in some.splitlines()[1:]] == [
        ["toy-tree-left", "sst5", "treelstm", "0.2"]
    ]
    code, _, err = outcome(capsys, "config", "list", "toy-nbw")
    assert code == 2
    assert "did you mean 'toy-nbow'?" in err


def test_settings_that_stand_for_more_than_they_are_are_not_written_out(here, capsys):
    lines = ["a: &a [x]"]
    for before, name in zip("abcdefg", "bcdefgh", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    (here / "my.yaml").write_text("\n".join([*lines, "task: *h", "model: nbow"]) + "\n")
    code, _, err = outcome(capsys, "config", "check", "my.yaml")
    assert code == 2
    assert "my.yaml: expected at most 10,000 settings, got 10,163,820" in err
    long = ", ".join(["[sst5]"] * 3_000)
    (here / "my.yaml").write_text(f"task: [{long}]\nmodel: nbow\n")
    for command in (["config", "check", "my.yaml"], ["train", "--config=my.yaml", "--out=run"]):
        assert main(command) == 2
        line, *_ = capsys.readouterr().err.splitlines()
        assert "task: expected a name, got [['sst5'], ['sst5']," in line
        assert line.endswith(" more characters)")
        assert len(line) < 1_200


def test_a_configuration_is_shown_and_copied_for_train(here, capsys):
    code, shown, _ = outcome(capsys, "config", "show", "toy-tree-left", "--brief")
    assert code == 0
    assert "# differs from the paper: left-branching trees" in shown
    assert yaml.safe_load(shown) == Catalogue().configuration("toy-tree-left").config
    assert outcome(capsys, "config", "copy", "toy-tree-left", "my.yaml", "--data-dir=data")[0] == 0
    config = RunConfig.load(here / "my.yaml")
    assert config.trees == "left"
    assert config.vectors == (str(here / "vectors" / "tiny.txt"),)
    assert outcome(capsys, "config", "check", "my.yaml") == (0, "my.yaml: no errors\n", "")
    code, _, err = outcome(capsys, "config", "copy", "toy-tree-left", "my.yaml", "--data-dir=data")
    assert code == 2
    assert "my.yaml already exists" in err
    assert main(["train", "--config=my.yaml", "--epochs=1", "--out=run"]) == 0
    assert "test:" not in capsys.readouterr().out


def test_missing_files_are_copied_by_name(here, capsys, monkeypatch):
    monkeypatch.delenv("GRAPHSENT_VECTORS", raising=False)
    (here / "vectors").rename(here / "elsewhere")
    code, out, err = outcome(capsys, "config", "copy", "toy-tree", "my.yaml", "--data-dir=data")
    assert (code, err) == (0, "")
    assert "not found: no directory of word vectors" in out
    assert "graphsent config check my.yaml" in out
    assert yaml.safe_load(Path("my.yaml").read_text())["vectors"] == ["tiny.txt"]
    code, _, err = outcome(capsys, "config", "check", "my.yaml")
    assert (code, "vectors: there is no file tiny.txt" in err) == (2, True)
    given = ("--data-dir=data", "--vectors-dir=none")
    code, _, err = outcome(capsys, "config", "copy", "toy-tree", "other.yaml", *given)
    assert code == 2
    assert "no directory of word vectors" in err
    assert not Path("other.yaml").exists()


def test_what_is_shown_has_all_defaults_and_trains_the_same(here, execution, capsys):
    _, shown, _ = outcome(capsys, "config", "show", "toy-tree")
    values = yaml.safe_load(shown)
    assert values["training"]["patience"] == 0
    assert values["model_options"]["cell"] == "nary"
    brief = execution.places.locate(Catalogue().configuration("toy-tree").run_config())
    complete = completed(brief)
    before, after = (prepare(each, lambda line: None) for each in (brief, complete))
    assert before.config == after.config
    assert before.config.model_options.items() >= complete.model_options.items()


def test_shipped_configurations_are_valid(monkeypatch):
    for name in ("isfile", "isdir"):
        monkeypatch.setattr(f"graphsent.training.config_check.os.path.{name}", lambda path: True)
    for each in Catalogue().configurations.values():
        node = yaml.compose(yaml.safe_dump(dict(each.config)))
        assert config_faults(Settings(dict(each.config), node)) == [], each.name


def test_an_encoder_needs_no_word_vectors_beside_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("encoder").mkdir()
    text = "task: sst5\nmodel: nbow\ninputs: {encoder: encoder}\nmodel_options: {embedding_dim: %s}"
    Path("f.yaml").write_text(text % 0)  # as in config.yaml of a run
    assert outcome(capsys, "config", "check", "f.yaml") == (0, "f.yaml: no errors\n", "")
    Path("f.yaml").write_text(text % -1)
    code, _, err = outcome(capsys, "config", "check", "f.yaml")
    assert (code, "f.yaml:4: embedding_dim: expected at least 1, got -1" in err) == (2, True)


FAULTY = """\
task: sst2
model: treelstm
data_dri: data
lower_fallback: maybe
vectors: [~/none.txt, ~/some.txt]
task_options:
  neutral_root: drop
model_options:
  hiden: 100
  hidden: many
  dropout: 0.5
training:
  epoch: 10
  lr: fast
  batch_size: 0
  lr: 0.1
  select: f1
inputs: {min_count: 0, encoder_poling: mean}
tokenizer: tweet
"""
FAULTS = """\
f.yaml:3: unknown option 'data_dri': expected one of
f.yaml:4: lower_fallback: expected true or false, got 'maybe'
f.yaml:5: vectors: there is no file ~/none.txt
f.yaml:7: unknown option 'neutral_root' of task sst2: expected one of
f.yaml:9: treelstm has no option 'hiden': expected one of
f.yaml:10: hidden: expected an integer, got 'many'
f.yaml:13: unknown training option 'epoch': expected one of
f.yaml:15: batch_size: expected at least 1, got 0
f.yaml:16: lr is set twice, first in line 14
f.yaml:17: select: unknown metric 'f1': expected one of
f.yaml:18: min_count: expected at least 1, got 0
f.yaml:18: unknown option of inputs 'encoder_poling': expected one of
f.yaml:19: tokenizer: the model 'treelstm' reads trees, not raw text
graphsent config: 13 errors, see above
"""


def test_every_fault_of_a_file_has_a_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    Path("some.txt").touch()
    Path("f.yaml").write_text(FAULTY)
    code, out, err = outcome(capsys, "config", "check", "f.yaml")
    assert (code, out) == (2, "")
    for line, expected in zip(err.splitlines(), FAULTS.splitlines(), strict=True):
        assert line.startswith(expected)
    for name in ("data_dir", "neutral_roots", "hidden", "epochs", "encoder_pooling"):
        assert f"did you mean '{name}'?" in err


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("model: nbow", "f.yaml: task is missing: expected a name"),
        ("task: sst6\nmodel: nbow", "f.yaml:1: unknown task 'sst6'"),
        ("task: sst5\nmodel: nbw", "f.yaml:2: unknown model 'nbw'"),
        ("task: sst5\nmodel: [a]", "f.yaml:2: model: expected a name, got ['a']"),
        ("task: sick\nmodel: nbow", "f.yaml:2: the task 'sick' is regression of pairs"),
        ("task: sst5\nmodel: nbow\ndata_dir: none", "f.yaml:3: the given data directory"),
        ("task: sst5\nmodel: nbow\nparses_dir: none", "f.yaml:3: the given parses directory"),
        ("task: sst5\nmodel: nbow\nparser: none", "f.yaml:3: parser: the model 'nbow' reads words"),
        ("task: sst5\nmodel: treelstm\nparser: none", "f.yaml:3: unknown parser 'none'"),
        ("task: sst5\nmodel: treelstm\nparser: ''", "f.yaml:3: unknown parser ''"),
        ("task: sst5\nmodel: nbow\ntree_kind: tree", "f.yaml:3: unknown tree_kind 'tree'"),
        ("task: sst5\nmodel: nbow\ntrees: left", "f.yaml:3: left trees are for models of trees"),
        ("task: sst5\nmodel: nbow\ntrees: flat", "f.yaml:3: unknown trees 'flat'"),
        ("task: sst5\nmodel: nbow\ntokenizer: x", "f.yaml:3: unknown tokenizer 'x'"),
        ("task: sst5\nmodel: treelstm\ntokenizer: tweet", "f.yaml:3: tokenizer: the model"),
        ("task: sst5\nmodel: nbow\ntraining: 3", "f.yaml:3: training: expected names with"),
        (
            "task: sst5\nmodel: nbow\ninputs: {finetune_encoder: true}",
            "f.yaml:3: finetune_encoder: there is no encoder",
        ),
        ("task: sst5\nmodel: nbow\ntraining:\n  device: gpu", "f.yaml:4: device: expected cpu"),
        (
            "task: sst5\nmodel: nbow\ninputs:\n  encoder: none",
            "f.yaml:4: encoder: there is no directory none",
        ),
        (
            "task: sst5\nmodel: nbow\ntraining:\n  select: f1",
            "f.yaml:4: select: unknown metric 'f1': expected one of auto, root_accuracy",
        ),
        (
            "task: sick\nmodel: arnn-relatedness\ntraining:\n  class_weights: balanced",
            "f.yaml:4: class_weights: expected 'none'",
        ),
        (
            "task: rerank\nmodel: parse-reranker\nstream: true",
            "f.yaml:3: stream: the task 'rerank' has n-best lists",
        ),
        (
            "task: sst5\nmodel: kimcnn\nmodel_options:\n  variant: other",
            "f.yaml:4: unknown variant 'other'",
        ),
    ],
)
def test_single_faults(text, fault, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("f.yaml").write_text(text)
    code, _, err = outcome(capsys, "config", "check", "f.yaml")
    first, *rest = err.splitlines()
    assert first.startswith(fault)
    assert (code, rest) == (2, ["graphsent config: 1 error, see above"])


OWN = """\
task: own
model: nbow
task_options:
  train: %s
  dev: {a: none.txt, b: train.tsv}
  dev_trees: [none.trees]
  splitt: 0
model_options: {hidden: 3}
"""
FAULTS_OF_OWN = {
    "train.tsv": """\
f.yaml:5: dev: there is no file none.txt
f.yaml:6: dev_trees: there is no file none.trees
f.yaml:7: unknown option 'splitt' of task own
f.yaml:8: nbow has no option 'hidden'
""",
    "none.tsv": """\
f.yaml:4: train: there is no file none.tsv
f.yaml:5: dev: there is no file none.txt
f.yaml:6: dev_trees: there is no file none.trees
f.yaml:7: unknown option 'splitt' of task own
""",
}


@pytest.mark.parametrize(
    ("setting", "options", "message"),
    [
        ("", "split: 0", "4: there is no dev split: the data have train; add --dev FILE"),
        ("stream: true", "", "3: --stream holds nothing out of train: add --dev FILE"),
        ("stream: true", "dev: a.tsv, fold: 1", "3: --stream holds nothing out of train, so it"),
    ],
)
def test_own_data_without_a_split(tmp_path, monkeypatch, capsys, setting, options, message):
    monkeypatch.chdir(tmp_path)
    Path("a.tsv").write_text("a\tb\nc\td\n")
    text = f"task: own\nmodel: nbow\n{setting}\ntask_options: {{train: a.tsv, {options}}}\n"
    Path("f.yaml").write_text(text)
    code, _, err = outcome(capsys, "config", "check", "f.yaml")
    assert (code, err.startswith(f"f.yaml:{message}")) == (2, True)


@pytest.mark.parametrize("train", FAULTS_OF_OWN)
def test_missing_files_of_own_data(train, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("train.tsv").write_text("a\tgood\nb\tbad\n")
    Path("f.yaml").write_text(OWN % train)
    code, _, err = outcome(capsys, "config", "check", "f.yaml")
    *faults, _ = err.splitlines()
    assert code == 2
    for line, expected in zip(faults, FAULTS_OF_OWN[train].splitlines(), strict=True):
        assert line.startswith(expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["shw", "toy-tree"], "did you mean 'show'?"),
        (["show", "toy"], "unknown configuration 'toy'"),
        (["show"], "show: expected NAME, got 0"),
        (["copy", "toy-tree"], "copy: expected NAME FILE, got 1"),
        (["check"], "check: expected FILE ..., got none"),
        (["show", "toy-tree", "--breif"], "did you mean '--brief'?"),
        (["show", "toy-tree", "--data-dir=d"], "--data-dir has no effect on show: it is for copy"),
        (["check", "f.yaml", "--brief"], "--brief has no effect on check: it is for show and copy"),
    ],
)
def test_usage_errors(here, capsys, arguments, message):
    code, out, err = outcome(capsys, "config", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_every_file_is_checked(tmp_path, capsys):
    (tmp_path / "broken.yaml").write_text("a: [\n")
    (tmp_path / "bad.yaml").write_text("task: sst5\nmodel: treelstm\nbogus: 1\n")
    names = [str(tmp_path / f"{name}.yaml") for name in ("none", "broken", "bad")]
    code, _, err = outcome(capsys, "config", "check", *names)
    none, broken, bad, last = err.splitlines()
    assert none.startswith(f"{names[0]}: cannot read the configuration: No such file")
    assert broken.startswith(f"{names[1]}: ")
    assert bad.startswith(f"{names[2]}:3: unknown option 'bogus'")
    assert (code, last) == (2, "graphsent config: 3 errors, see above")


def test_a_file_that_is_not_a_mapping(tmp_path, capsys):
    for text, message in (("- a\n", "got list"), ("a: [\n", "in YAML"), ("", "got NoneType")):
        (tmp_path / "f.yaml").write_text(text)
        code, _, err = outcome(capsys, "config", "check", str(tmp_path / "f.yaml"))
        assert code == 2
        assert message in err
