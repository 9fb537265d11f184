"""NLTK's client against a server on this machine that speaks CoreNLP's JSON."""

from __future__ import annotations

import json
import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from graphsent.parsing import ParserFailed, load_parser
from graphsent.parsing.errors import UnparsedSentence
from graphsent.trees import Tree

pytest.importorskip("requests")


def answer(text: str, properties: dict) -> dict:
    """The JSON of a server that splits at spaces and, unless told otherwise, after full stops.

    CoreNLP has no-break spaces in tokens such as 8 1/2; here, they take the place of tildes.
    Offsets count UTF-16 units, as in Java.
    """
    words, begin = [], 0
    for number, word in enumerate(text.split(), start=1):
        begin = text.index(word, begin)
        escaped = word.replace("(", "-LRB-").replace(")", "-RRB-").replace("~", "\u00a0")
        token = {"index": number, "word": escaped}
        offset, size = (len(part.encode("utf-16-le")) // 2 for part in (text[:begin], word))
        token |= {"characterOffsetBegin": offset, "characterOffsetEnd": offset + size}
        words.append(token | {"pos": "X", "lemma": word.lower()})
        begin += len(word)
    ends = [number for number, word in enumerate(words, start=1) if word["word"] == "."]
    if properties.get("ssplit.isOneSentence") == "true" or not ends:
        ends = [len(words)]
    sentences = []
    for first, last in zip([0, *ends], ends, strict=False):
        tokens = words[first:last]
        leaves = "\n  ".join(f"(X {token['word']})" for token in tokens)
        edges = [
            {"dep": "ROOT" if n == 1 else "dep", "governor": int(n > 1), "dependent": n}
            for n in range(len(tokens), 0, -1)
        ]
        found = {"tokens": tokens, "parse": f"(ROOT\n  {leaves})", "basicDependencies": edges}
        kept = {"parse": "parse", "depparse": "basicDependencies"}
        wanted = properties["annotators"].split(",")
        sentences.append(
            {"tokens": tokens} | {key: found[key] for name, key in kept.items() if name in wanted}
        )
    return {"sentences": sentences}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        properties = json.loads(query["properties"][0])
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.asked.append(text)
        status = 500 if "bad" in text else 200
        content = (
            b"parse failed" if status == 500 else json.dumps(answer(text, properties)).encode()
        )
        content = b"<html>" if "html" in text else content
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def name_of(server: ThreadingHTTPServer) -> str:
    return f"corenlp:http://127.0.0.1:{server.server_port}"


def test_constituency_trees(server):
    parser = load_parser(name_of(server))
    first, second = parser(["a (good) film", "Größe . b ."])
    assert first == Tree.from_string("(ROOT (X a) (X -LRB-good-RRB-) (X film))")
    assert second.words == ["Größe", ".", "b", "."]
    assert parser(["8~1/2 films"])[0].words == ["8\u00a01/2", "films"]
    assert parser.source.kind == "constituency"


def test_dependency_trees(server):
    parser = load_parser(name_of(server), "dependency", 2)
    texts = [f"a ({n}) film" for n in range(20)]
    trees = parser(texts)
    assert [tree.words for tree in trees] == [tuple(text.split()) for text in texts]
    assert trees[0].heads.tolist() == [-1, 0, 0]
    assert trees[0].relations == ("root", "dep", "dep")
    assert (trees[0].xpos, trees[0].lemmas) == (("X",) * 3, ("a", "(0)", "film"))
    assert sorted(server.asked) == sorted(texts)


def test_sentences_of_a_text(server):
    parser = load_parser(name_of(server))
    assert parser.split(["a film . it is good ."]) == [["a film .", "it is good ."]]
    beyond = "\N{GRINNING FACE} ."  # the basic multilingual plane
    assert parser.split([f"a {beyond} it is {beyond}"]) == [[f"a {beyond}", f"it is {beyond}"]]


def test_a_sentence_that_the_server_rejects(server):
    first, second, third = load_parser(name_of(server)).attempt(["a", "bad film", "b"])
    assert (first.words, third.words) == (["a"], ["b"])
    assert isinstance(second, UnparsedSentence)
    assert "500" in str(second)


def test_no_server_or_another_server(server):
    with pytest.raises(ParserFailed, match="no answer from a CoreNLP server"):
        load_parser(name_of(server)).attempt(["html"])
    with pytest.raises(ParserFailed, match=r"no answer from a CoreNLP server: .*refused"):
        load_parser("corenlp:http://127.0.0.1:1").attempt(["a"])
