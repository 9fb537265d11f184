"""Parsers by name, and their handling of sentences that they cannot parse."""

from __future__ import annotations

import linecache
import sys
from functools import partial
from types import ModuleType
from unittest.mock import Mock

import pytest
from toy_parsers import FLAT, HEADED, flat, headed

from graphsent.parsing import (
    Parser,
    ParserError,
    ParserFailed,
    TreeSource,
    as_parser,
    is_safe,
    load_parser,
)
from graphsent.parsing.errors import UnparsedSentence
from graphsent.trees import Tree


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("spacy", "unknown parser 'spacy': expected benepar:DIRECTORY, .*:function$"),
        ("", "unknown parser ''"),
        ("shape:", "unknown parser 'shape:': expected benepar:DIRECTORY"),
        ("nowhere:parse", r"unknown parser 'nowhere:parse' \(No module named 'nowhere'\)"),
        ("toy_parsers:nothing", "unknown parser 'toy_parsers:nothing'"),
        ("toy_parsers:__doc__", "toy_parsers:__doc__: expected a function, got str"),
        ("benepar:nowhere", "benepar:.*nowhere: expected the directory of a benepar model"),
        ("corenlp:localhost", "corenlp:localhost: expected the URL of a server"),
        ("shape:round", "unknown parser 'shape:round': expected shape:balanced or shape:left"),
    ],
)
def test_unknown_parsers(name, message):
    with pytest.raises(ParserError, match=message):
        load_parser(name)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("parse", "NameError: name 'parse' is not defined"),
        ("def parse(:", "SyntaxError: invalid syntax"),
        ("raise SystemExit('later')", "SystemExit: later"),
    ],
)
def test_a_module_that_cannot_be_imported(code, reason, tmp_path, monkeypatch):
    (tmp_path / "broken_parser.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ParserError, match=f"broken_parser:parse: its module .*: {reason}"):
        load_parser("broken_parser:parse")


@pytest.mark.parametrize(
    ("name", "kind"), [("spacy:en", "constituency"), ("benepar:x", "dependency")]
)
def test_a_parser_returns_its_kind_of_trees(name, kind):
    with pytest.raises(
        ParserError, match=f"{name[:5]}.* returns .* trees, but {kind} trees are needed"
    ):
        load_parser(name, kind)
    with pytest.raises(ParserError, match="unknown kind of trees 'words'"):
        load_parser(name, "words")


@pytest.mark.parametrize(
    ("module", "name"),
    [("spacy", "spacy:en"), ("stanza", "stanza:en"), ("requests", "corenlp:http://localhost:1")],
)
def test_the_extra_is_named_if_a_package_is_missing(module, name, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    extra = name.partition(":")[0]
    with pytest.raises(ParserFailed, match=rf"pip install 'graphsent\[{extra}\]'"):
        load_parser(name)


def test_the_extra_of_benepar(tmp_path, monkeypatch):
    (tmp_path / "benepar_model.bin").touch()
    monkeypatch.setitem(sys.modules, "benepar", None)
    with pytest.raises(ParserFailed, match=r"pip install 'graphsent\[benepar\]'"):
        load_parser(f"benepar:{tmp_path}")


def test_a_custom_function():
    parser = load_parser("toy_parsers:headed")
    assert parser.source == TreeSource("dependency", "toy_parsers:headed", "3")
    (tree,) = parser(["a  film "])
    assert tree.words == ("a", "film")
    by_source = load_parser("toy_parsers:flat").source
    assert by_source.kind == "constituency"
    assert by_source.version.startswith("source ")
    with pytest.raises(
        ParserError, match="returns dependency trees, but constituency trees are needed"
    ):
        load_parser("toy_parsers:headed", "constituency")


def test_a_custom_function_may_split_texts():
    def parse(texts):
        return flat(texts)

    parse.split = lambda texts: [text.split(";") for text in texts]
    parser = as_parser(parse, "constituency")
    assert parser.attempt_split(["a;b", "c", ";"]) == [["a", "b"], ["c"], [";"]]


def test_the_source_of_a_partial_function_is_that_of_the_function_and_its_arguments(monkeypatch):
    versions = set()
    of_flat = [partial(flat), partial(flat, option=1), partial(flat, option=2)]
    for each in (flat, *of_flat, partial(is_safe)):  # is_safe is in another file
        monkeypatch.setattr("toy_parsers.changing", each, raising=False)
        versions.add(load_parser("toy_parsers:changing").source.version)
    assert len(versions) == 5


def test_a_function_of_a_notebook_that_changes(monkeypatch):
    module = ModuleType("some_notebook")
    monkeypatch.setitem(sys.modules, "some_notebook", module)
    sources = []
    for cell, tree in (("<cell 1>", "(S (X a))"), ("<cell 2>", "(S (Y a))")):
        code = f"def parse(texts):\n    return [{tree!r}] * len(texts)\n"
        monkeypatch.setitem(linecache.cache, cell, (len(code), None, code.splitlines(True), cell))
        exec(compile(code, cell, "exec"), vars(module))
        parser = load_parser("some_notebook:parse")
        assert parser(["a"]) == [Tree.from_string(tree)]
        sources.append(parser.source)
    assert all(source.version.startswith("source ") for source in sources)
    assert sources[0] != sources[1]


def test_functions_and_parsers_are_accepted():
    assert as_parser(FLAT, "constituency") is FLAT
    assert as_parser(flat, "constituency").source.parser == "toy_parsers:flat"
    assert as_parser("toy_parsers:flat", "constituency")(["a b"]) == FLAT(["a b"])
    with pytest.raises(ParserError, match="toy:flat returns constituency trees, but dependency"):
        as_parser(FLAT, "dependency")
    with pytest.raises(ParserError, match="builtins:int: expected a function, got int"):
        as_parser(3, "dependency")


def test_a_parser_is_not_called_without_sentences():
    parser = Parser(FLAT.source, Mock(side_effect=IndexError), Mock(side_effect=IndexError))
    assert parser([]) == []
    assert all(isinstance(each, UnparsedSentence) for each in parser.attempt(["", " "]))
    assert parser.attempt_split(["", " "]) == [[""], [" "]]


@pytest.mark.parametrize("parser", [FLAT, HEADED])
def test_a_bad_sentence_is_isolated(parser):
    trees = parser.attempt(["a b", "c bad", "", "d", " \t", "bad", "e f g"])
    words = [None if isinstance(tree, UnparsedSentence) else list(tree.words) for tree in trees]
    assert words == [["a", "b"], None, None, ["d"], None, None, ["e", "f", "g"]]
    assert str(trees[2]) == "an empty line: expected a sentence"
    assert "'c bad'" in str(trees[1])
    with pytest.raises(UnparsedSentence, match=r"input 2: .*'c bad'"):
        parser(["a b", "c bad"])
    assert parser.attempt([]) == []


def test_errors_of_other_packages_are_reported_in_one_line():
    (error,) = HEADED.attempt(["bad"])
    assert str(error) == "toy:headed cannot parse 'bad': RuntimeError: bad luck"


def test_trees_in_other_forms():
    parser = Parser(TreeSource("constituency", "x:y"), lambda texts: ["(S (A a))"] * len(texts))
    assert parser(["a", "b"]) == [Tree.from_string("(S (A a))")] * 2
    broken = Parser(TreeSource("constituency", "x:y"), lambda texts: ["(S (A a)", 3])
    first, second = broken.attempt(["a", "b"])
    assert "x:y returned no tree for 'a': " in str(first)
    assert "got int" in str(second)
    bare = Tree(["S", ""], [None, "a"], [-1, 0])
    unlabelled = Parser(TreeSource("constituency", "x:y"), lambda texts: [bare] * len(texts))
    (third,) = unlabelled.attempt(["a"])
    assert str(third) == "x:y returned a tree for 'a' with an unlabelled node"


def test_artificial_trees_are_a_parser():
    parser = load_parser("shape:left", "dependency")
    assert [tree.heads.tolist() for tree in parser(["not a film"])] == [[1, 2, -1]]
    (tree,) = load_parser("shape:left")(["not a film"])
    assert [tree.words, set(tree.labels)] == [["not", "a", "film"], {"X"}]
    with pytest.raises(ParserError, match="shape:left computes in one thread"):
        load_parser("shape:left", num_threads=2)


def test_a_text_that_cannot_be_split_is_isolated():
    def split(texts):
        if any("bad" in text for text in texts):
            raise ValueError("too\nlong")
        return [[*text.split(". "), " "] if text else [] for text in texts]

    parser = Parser(TreeSource("constituency", "x:y"), list, split)
    first, bad, empty, last = parser.attempt_split(["a. b", "bad", "", "c"])
    assert (first, empty, last) == (["a", "b"], [""], ["c"])
    assert str(bad) == "x:y cannot split 'bad': ValueError: too long"


@pytest.mark.parametrize("found", [["ab"], [[None]], [3], [["a"], ["b"]]])
def test_a_splitter_that_returns_something_else(found):
    parser = Parser(TreeSource("constituency", "x:y"), list, lambda texts: found)
    with pytest.raises(ParserError, match=r"x:y returned .*: expected"):
        parser.attempt_split(["a b"])


def test_one_string_is_not_several_sentences():
    with pytest.raises(ParserError, match=r"expected several texts, got one: put it in \[\]"):
        load_parser("shape:left")("A good film.")


def test_errors_that_no_sentence_causes():
    with pytest.raises(ParserError, match="returned 1 results for 2 texts to parse"):
        Parser(TreeSource("constituency", "x:y"), lambda texts: ["(S a)"]).attempt(["a", "b"])
    with pytest.raises(ParserError, match="returned 0 results for 1 texts to parse"):
        Parser(TreeSource("constituency", "x:y"), lambda texts: None).attempt(["a"])
    with pytest.raises(
        ParserError, match="returned a dependency tree: expected constituency trees"
    ):
        Parser(TreeSource("constituency", "x:y"), headed).attempt(["a"])

    def gone(texts):
        raise ParserFailed("no server")

    with pytest.raises(ParserFailed, match="no server"):
        Parser(TreeSource("constituency", "x:y"), gone).attempt(["a", "b"])


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("spacy:en_core_web_sm", True),
        ("spacy:./pipeline", False),
        ("stanza:en", True),
        ("benepar:/models/en", True),
        ("corenlp:http://127.0.0.1:9000", True),
        ("corenlp:https://LOCALHOST/parse", True),
        ("corenlp:http://[::1]:9000", True),
        ("corenlp:http://localhost.example.org", False),
        ("corenlp:http://localhost:9000@example.org", False),
        (r"corenlp:http://example.org\@localhost:9000", False),  # requests asks example.org
        ("corenlp:http://[", False),
        ("os:system", False),
        ("", False),
    ],
)
def test_parsers_that_are_safe_to_load(name, safe):
    assert is_safe(name) == safe


def test_escapes_are_undone_for_the_parser():
    seen = []
    parser = Parser(
        TreeSource("constituency", "x:y"), lambda texts: seen.extend(texts) or flat(texts)
    )
    (tree,) = parser(["a -LRB- b -RRB- and\\/or c"])
    assert seen == ["a ( b ) and/or c"]
    assert tree.words[1] == "-LRB-"
