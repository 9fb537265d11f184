"""Trees of a real Berkeley neural parser model (packages: `make test-parsers`)."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from graphsent.parsing import Parser, ParserError, load_parser
from graphsent.parsing.errors import UnparsedSentence
from graphsent.trees import iter_labelled_trees

pytest.importorskip("benepar", reason="benepar is not installed: make test-parsers")
pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def parser(models_dir: Path) -> Parser:
    return load_parser(f"benepar:{models_dir / 'constituency_parser'}")


def test_a_sentence(parser):
    assert parser.source.kind == "constituency"
    assert parser.source.version.startswith("benepar 0.")
    (tree,) = parser(["They don't read (old) books."])
    assert str(tree) == (
        "(ROOT (S (NP (PRP They)) (VP (VBP do) (RB n't) (VP (VB read) "
        "(PRN (-LRB- -LRB-) (JJ old) (-RRB- -RRB-)) (NNS books))) (. .)))"
    )


def test_full_stops_inside_a_line(parser):
    (tree,) = parser(["It is good. I like it."])
    assert tree.words == ["It", "is", "good", ".", "I", "like", "it", "."]
    assert tree.labels[0] == "ROOT"


def test_a_sentence_that_is_too_long_is_isolated(parser):
    first, second, third = parser.attempt(["A film.", "word " * 600, "A book."])
    assert (first.words, third.words) == (["A", "film", "."], ["A", "book", "."])
    assert isinstance(second, UnparsedSentence)
    assert "exceeds the maximum supported length" in str(second)


def test_the_trees_of_the_corpora(parser, parses_dir: Path):
    """This model parsed the corpora; the tokenizer changes their quotes."""
    lines = iter_labelled_trees(parses_dir / "mr.trees.gz")
    trees = (tree for _, tree in lines if not {'"', "'"}.intersection(tree.words))
    known = list(itertools.islice(trees, 64))
    found = parser(" ".join(tree.words) for tree in known)
    same = sum(one == other for one, other in zip(found, known, strict=True))
    assert same >= 62  # rounding decides a few


def test_directories_that_are_not_models(tmp_path):
    (tmp_path / "benepar_model.bin").write_bytes(b"nothing")
    with pytest.raises(ParserError, match="benepar cannot load the model"):
        load_parser(f"benepar:{tmp_path}")
