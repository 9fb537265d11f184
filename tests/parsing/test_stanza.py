"""Trees from Stanza's own types, returned by a stand-in for its pipeline."""

from __future__ import annotations

import pytest

from graphsent.parsing import ParserError, load_parser, registry
from graphsent.trees import Tree

stanza = pytest.importorskip("stanza", reason="Stanza is not installed: make test-parsers")
from stanza.models.common.doc import Document  # noqa: E402
from stanza.models.constituency.parse_tree import Tree as StanzaTree  # noqa: E402


def word(number, text, head, deprel, tag):
    return {
        "id": number,
        "text": text,
        "lemma": text.lower(),
        "upos": "X",
        "xpos": tag,
        "head": head,
        "deprel": deprel,
    }


FILM = [
    word(1, "Good", 2, "amod", "JJ"),
    word(2, "(films)", 0, "root", "NNS") | {"feats": "Number=Plur"},
]
# One token of the text, two words: the German "zum".
TO_THE = [
    {"id": [1, 2], "text": "zum"},
    word(1, "zu", 3, "case", "APPR"),
    word(2, "dem", 3, "det", "ART"),
    word(3, "Film", 0, "root", "NN"),
]


def constituents():
    leaves = [StanzaTree("JJ", [StanzaTree("Good")]), StanzaTree("NNS", [StanzaTree("(films)")])]
    return StanzaTree("ROOT", [StanzaTree("NP", leaves)])


class Pipeline:
    """A stand-in pipeline that knows three texts."""

    made: tuple = ()

    def __init__(self, language, *, processors, download_method, verbose, **options):
        assert (download_method, verbose) == (None, False)
        Pipeline.made = (language, processors, options)
        if language == "xx":
            raise FileNotFoundError("no resources.json")
        self.processors = processors

    def bulk_process(self, texts):
        return [self.document(text) for text in texts]

    def document(self, text):
        sentences = {"Good (films)": [FILM], "zum Film": [TO_THE]}.get(text, [FILM, FILM])
        document = Document(sentences, text=text)
        for sentence in document.sentences:
            sentence.text = "Good (films)"
            if "constituency" in self.processors:
                sentence.constituency = constituents()
        return document


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    monkeypatch.setattr(stanza, "Pipeline", Pipeline)
    registry._load.cache_clear()
    yield
    registry._load.cache_clear()


def test_dependency_trees():
    parser = load_parser("stanza:en", "dependency", 1)
    assert Pipeline.made == ("en", "tokenize,mwt,pos,lemma,depparse", {"tokenize_no_ssplit": True})
    assert parser.source.version == f"Stanza {stanza.__version__}"
    first, second = parser(["Good (films)", "zum Film"])
    assert first.words == ("Good", "(films)")
    assert first.heads.tolist() == [1, -1]
    assert (first.relations, first.lemmas) == (("amod", "root"), ("good", "(films)"))
    assert first.feats == ("", "Number=Plur")
    assert second.words == ("zu", "dem", "Film")
    assert second.xpos == ("APPR", "ART", "NN")


def test_constituency_trees():
    parser = load_parser("stanza:en/default")
    assert Pipeline.made[2] == {"package": "default", "tokenize_no_ssplit": True}
    (tree,) = parser(["Good (films)"])
    assert tree == Tree.from_string("(ROOT (NP (JJ Good) (NNS -LRB-films-RRB-)))")


def test_sentences_of_a_text():
    parser = load_parser("stanza:de", "dependency")
    (error,) = parser.attempt(["One. Two."])  # the stand-in still splits it into two
    assert "has no tree for 'One. Two.'" in str(error)
    assert parser.split(["One. Two."]) == [["Good (films)"] * 2]
    assert Pipeline.made == ("de", "tokenize", {})


def test_missing_models():
    with pytest.raises(ParserError, match=r"no resources.json\); .*stanza.download\('xx'\)"):
        load_parser("stanza:xx")
