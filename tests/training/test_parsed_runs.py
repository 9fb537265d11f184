"""Training on sentences with trees by a parser, and what is saved."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from toy_parsers import HEADED, flat
from toy_treebank import TINY

from graphsent.cli import main
from graphsent.errors import FailedError
from graphsent.models import load_pretrained
from graphsent.parsing import Parser, TreeSource
from graphsent.parsing.cache import cached_parses, iter_trees
from graphsent.parsing.errors import ParserError, ParserFailed
from graphsent.tasks import get_task, with_trees
from graphsent.trees import DependencyTree, Tree

FLAT = "--parser=toy_parsers:flat"
TREC = ["train", "--task=trec", "--epochs=1", *TINY]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("GRAPHSENT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def questions(directory: Path) -> str:
    """A corpus of questions without trees; the parser has none for the sixth of train."""
    folder = directory / "trec"
    folder.mkdir(parents=True)
    lines = [f"{'NUM:date' if n % 2 else 'HUM:ind'} who is w{n} ?\n" for n in range(40)]
    lines[5] = "NUM:date bad ?\n"
    (folder / "train_5500.label").write_text("".join(lines))
    (folder / "TREC_10.label").write_text("".join(lines[10:20]))
    return str(directory)


def test_sentences_are_parsed_once(tmp_path, capsys, cache):
    data = questions(tmp_path / "data")
    command = [*TREC, f"--data-dir={data}", FLAT, "--model=treelstm"]
    assert main([*command, f"--out={tmp_path / 'a'}"]) == 0
    log = capsys.readouterr().out
    assert log.count("sentences with toy_parsers:flat (source ") == 3
    assert "left out of " in log
    assert "1 examples without a tree" in log
    results = json.loads((tmp_path / "a" / "results.json").read_text())
    assert results["trees"]["parser"] == "toy_parsers:flat"
    assert results["corpus"]["tree_kind"] == "constituency"
    assert sum(results["trees"]["examples_without_tree"].values()) == 1

    assert main([*command, f"--out={tmp_path / 'b'}"]) == 0
    assert "sentences with" not in capsys.readouterr().out
    assert len(list(cache.glob("parses/*/trees.gz"))) == 3
    assert main(["evaluate", str(tmp_path / "a")]) == 0
    assert main(["train", f"--resume={tmp_path / 'a'}", "--epochs=2"]) == 0

    model = load_pretrained(tmp_path / "a" / "model")
    assert model.tree_source.parser == "toy_parsers:flat"
    model.parser = flat
    assert model.predict(["Who is w3 ?"])[0].tree.words == ["Who", "is", "w3", "?"]


def test_a_parser_that_changed(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(tmp_path)
    source = "from toy_parsers import flat\ndef parse(texts):\n    return flat(texts)\n"
    (tmp_path / "mine.py").write_text(source)
    data = questions(tmp_path / "data")
    run = str(tmp_path / "a")
    assert main([*TREC, f"--data-dir={data}", "--parser=mine:parse", f"--out={run}"]) == 0
    (tmp_path / "mine.py").write_text(source + "# changed\n")
    sys.modules.pop("mine")
    assert main(["train", f"--resume={run}", "--epochs=2"]) == 2
    assert "the trees changed since this run began" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model=kimcnn", FLAT], "parser: the model 'kimcnn' reads words and needs none"),
        (
            ["--model=treelstm", "--parser=toy_parsers:headed"],
            "parser for the model 'treelstm': toy_parsers:headed returns dependency trees, "
            "but constituency trees are needed (or --tree-kind dependency)",
        ),
        (["--model=treelstm", "--parser=spaci"], "unknown parser 'spaci'"),
        (["--model=treelstm", "--tree-kind=words", FLAT], "reads words and needs none"),
        (["--model=treelstm", "--trees=balanced", FLAT], "parser: balanced trees need none"),
        (["--model=treelstm", "--stream", FLAT], "parse first, with graphsent parse"),
    ],
)
def test_unsuitable_parsers(tmp_path, capsys, arguments, message):
    data = questions(tmp_path / "data")
    out = tmp_path / "a"
    command = ["train", "--task=trec", f"--data-dir={data}", f"--out={out}", *arguments]
    assert main(command) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_a_parser_without_trees_is_an_error_with_the_reason(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(tmp_path)
    code = "def parse(texts):\n    return [shaped_tree(each.split(), 'left') for each in texts]\n"
    code = f"from graphsent.trees import shaped_tree\n{code}"
    (tmp_path / "bare.py").write_text(code)
    data = questions(tmp_path / "data")
    command = [*TREC, f"--data-dir={data}", "--parser=bare:parse", f"--out={tmp_path / 'a'}"]
    for _ in range(2):  # also from the cache
        assert main(command) == 2
        error = capsys.readouterr().err
        assert "no sentence of train has a tree: bare:parse returned a tree for" in error
        assert error.endswith("with an unlabelled node\n")


def test_treebanks_need_no_parser(capsys, tmp_path):
    assert main(["train", "--task=sst5", FLAT, f"--out={tmp_path / 'a'}"]) == 2
    assert "have their own trees: omit the parser" in capsys.readouterr().err


def test_trees_of_both_kinds_take_the_label(tmp_path):
    data = get_task("trec").load(questions(tmp_path / "data"), tree_kind="words")
    lines = []
    made = with_trees(data, HEADED, lines.append)
    for split, trees in made.splits.items():
        sentences = [each for each in data.splits[split] if "bad" not in each.words]
        assert [list(tree.words) for tree in trees] == [each.words for each in sentences]
        assert all(isinstance(tree, DependencyTree) for tree in trees)
        roots = [tree.labels[int(tree.heads.argmin())] for tree in trees]
        assert roots == [each.label for each in sentences]
    assert made.source.tree_kind == "dependency"
    parser = Parser(TreeSource("constituency", "x:y", "1"), flat)
    constituents = with_trees(data, parser, lines.append)
    assert all(isinstance(tree, Tree) for tree in constituents.splits["train"])


@pytest.mark.parametrize("kind", ["constituency", "dependency"])
def test_cached_trees_keep_step_with_texts(kind):
    parser = HEADED if kind == "dependency" else Parser(TreeSource(kind, "x:y", "1"), flat)
    texts = ["bad", "a b", "", "bad", "c", "bad"]
    file = cached_parses(lambda: texts, parser, lambda line: None)
    trees = list(iter_trees(file, len(texts)))
    words = [None if tree is None else list(tree.words) for tree in trees]
    assert words == [None, ["a", "b"], None, None, ["c"], None]
    again = cached_parses(lambda: texts, Parser(parser.source, None), pytest.fail)
    assert again == file
    other = Parser(parser.source._replace(version="2"), parser.function)
    assert cached_parses(lambda: texts, other, lambda line: None) != file
    unknown = Parser(parser.source._replace(version=""), parser.function)
    with pytest.raises(ParserError, match=r"its source is unknown: give .* an attribute version"):
        cached_parses(lambda: texts, unknown, pytest.fail)


def test_sentences_of_own_data_are_parsed(tmp_path, capsys):
    path = tmp_path / "reviews.tsv"
    lines = [f"{'good' if n % 2 else 'awful'}\tIsn't it (number {n})?\n" for n in range(30)]
    path.write_text("".join([*lines[:4], "good\tbad\n", *lines[4:]]))
    command = ["train", f"--train={path}", "--epochs=1", FLAT, "--model=treelstm", *TINY]
    assert main([*command, f"--out={tmp_path / 'a'}"]) == 0
    log = capsys.readouterr().out
    assert "1 examples without a tree (reviews.tsv:5)" in log
    model = load_pretrained(tmp_path / "a" / "model")
    assert "Isn't" in model.vocab  # the parser tokenized the raw text
    assert main(["evaluate", str(tmp_path / "a")]) == 0


@pytest.mark.parametrize("damage", [b"", b"\x1f\x8b\x08\x00cut", b"(S (N text))\n"])
def test_damaged_cached_trees_are_reparsed(damage):
    texts, echoed = ["a b", "c d"], []
    parser = Parser(TreeSource("constituency", "own:flat", "1"), flat)
    file = cached_parses(lambda: texts, parser, echoed.append)
    expected = list(iter_trees(file, 2))
    file.write_bytes(damage)
    assert cached_parses(lambda: texts, parser, echoed.append) == file
    assert list(iter_trees(file, 2)) == expected
    assert len(echoed) == 2


def test_an_unusable_cache(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("GRAPHSENT_CACHE", f"{tmp_path}/file")
    parser = Parser(TreeSource("constituency", "own:flat", "1"), flat)
    with pytest.raises(ParserFailed, match=r"cannot write trees to .*GRAPHSENT_CACHE"):
        cached_parses(lambda: ["a b"], parser, pytest.fail)
    for name in ("GRAPHSENT_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, "")
    with pytest.raises(FailedError, match=r"the user has no home directory.*GRAPHSENT_CACHE"):
        cached_parses(lambda: ["a b"], parser, pytest.fail)
