from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from typing import NamedTuple

import numpy as np
import pytest

from graphsent.drawing import write_page
from graphsent.drawing.palette import class_colors
from graphsent.errors import DataError
from graphsent.sentences import Sentence
from graphsent.trees import DependencyTree, Tree

NAMES = ("negative", "neutral", "positive")
HOSTILE = [
    "<script>document.title='hacked'</script>",
    "</script><img/src=x/onerror=document.title='hacked'>",
    "<!--<script>",
    "&amp;\u2028'\"${TITLE}",
]
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


class Prediction(NamedTuple):
    tree: object
    probabilities: np.ndarray
    label_names: tuple[str, ...] = NAMES
    ordered_classes: bool = True


def prediction(tree, labels=None) -> Prediction:
    labels = [1] * tree.num_nodes if labels is None else labels
    return Prediction(tree, 0.1 + 0.7 * np.eye(3, dtype=np.float32)[labels])


def tree() -> Tree:
    return Tree(["2", "1", "", "", "0"], [None, "a", None, "lovely", "film"], [-1, 0, 0, 2, 2])


def hostile() -> Tree:
    parents = [-1] + [0] * len(HOSTILE)
    return Tree(["0"] * len(parents), [None, *HOSTILE], parents)


class Elements(HTMLParser):
    """The names of all elements, and the text of the one with the data."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.data = ""
        self._in_data = False

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self._in_data = ("id", "data") in attrs

    def handle_endtag(self, tag):
        self._in_data = False

    def handle_data(self, data):
        if self._in_data:
            self.data += data


def read(path) -> tuple[Elements, dict]:
    elements = Elements()
    elements.feed(path.read_text(encoding="utf-8"))
    return elements, json.loads(elements.data)


def test_contents_of_the_page(tmp_path):
    path = tmp_path / "page.html"
    dependency = DependencyTree(["good", "film"], [1, -1], labels=["", "positive"])
    given = [
        prediction(tree(), [2, 1, 0, 1, 1]),
        prediction(dependency),
        prediction(Sentence(["so"])),
    ]
    assert write_page(given, path, title="A & B") == 3
    _, data = read(path)
    assert data["names"] == list(NAMES)
    assert len(data["colors"]) == 3
    first, second, third = data["items"]
    assert first["words"] == ["a", "lovely", "film"]
    assert first["labels"] == [2, 1, 0, 1, 1]
    assert first["gold"] == [2, 1, -1, -1, 0]
    assert first["parents"] == [-1, 0, 0, 2, 2]
    assert first["positions"] == [-1, 0, -1, 1, 2]
    assert first["spans"] == [[0, 3], [0, 1], [1, 3], [1, 2], [2, 3]]
    assert first["probabilities"][0] == [0.1, 0.1, 0.8]
    assert second["gold"] == [-1, 2]  # by name
    assert (second["root"], second["positions"]) == (1, [0, 1])
    assert (third["parents"], third["gold"]) == ([-1], [-1])
    assert "<title>A &amp; B</title>" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("ordered", [True, False])
def test_the_page_has_the_colours_of_the_classes(ordered, tmp_path):
    path = tmp_path / "page.html"
    write_page([prediction(tree())._replace(ordered_classes=ordered)], path)
    _, data = read(path)
    expected = class_colors(NAMES, [], ordered_classes=ordered)
    assert data["colors"] == [{"fill": each.fill, "text": each.text} for each in expected]


def test_nothing_in_the_data_becomes_markup(tmp_path):
    plain, attacked = tmp_path / "plain.html", tmp_path / "attacked.html"
    write_page([prediction(tree())], plain, title="title")
    names = ("<b>", "</script>", "&")
    mean = [prediction(hostile())._replace(label_names=names)]
    write_page(mean, attacked, title="</title><script>alert(1)</script>")
    assert read(plain)[0].names == read(attacked)[0].names
    assert read(attacked)[1]["items"][0]["words"] == HOSTILE
    assert read(attacked)[1]["names"] == list(names)


def test_the_page_is_self_contained(tmp_path):
    write_page([prediction(tree())], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=|@import|url\(|https?://(?!www\.w3\.org/2000/svg)", text)
    assert "default-src 'none'" in text


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ([], "no predictions"),
        ([0.5], "expected a classification of a sentence, got 0.5"),
        (
            [prediction(tree()), prediction(tree())._replace(label_names=("a", "b", "c"))],
            "one model",
        ),
    ],
)
def test_predictions_without_a_page(predictions, message, tmp_path):
    with pytest.raises(DataError, match=message):
        write_page(predictions, tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(BROWSER is None, reason="needs chromium or google-chrome")
def test_in_a_browser(tmp_path):
    path = tmp_path / "page.html"
    right = [prediction(tree(), [2, 1, 1, 1, 0])] * 210
    write_page(
        [*right, prediction(tree(), [0, 1, 1, 1, 0]), prediction(hostile())], path, title="Title"
    )
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'user'}",
    ]
    address = f"{path.as_uri()}#212"  # the hostile one is chosen
    done = subprocess.run(
        [*command, "--dump-dom", address], capture_output=True, text=True, timeout=120, check=True
    )
    dom = done.stdout
    assert "<title>Title</title>" in dom
    assert "hacked" in dom
    assert "<img" not in dom
    assert "212 of 212 sentences" in dom
    assert dom.count('class="badges"') == 212  # up to the chosen one
    assert "212 sentences; 210 of 212 with a gold label are right (99.1 %)" in dom
    assert dom.count('class="node off"') == hostile().num_nodes
    assert "1 ≠ 0" in dom


def test_gold_labels_where_class_names_are_numbers(tmp_path):
    names = ("-1", "0", "1")
    predictions = [
        Prediction(Tree.from_string(f"({name} good)"), np.eye(3)[[number]], names)
        for number, name in enumerate(names)
    ]
    for numbered, expected in ((False, [[0], [1], [2]]), (True, [[-1], [0], [1]])):
        write_page(predictions, tmp_path / "page.html", numbered=numbered)
        _, data = read(tmp_path / "page.html")
        assert [item["gold"] for item in data["items"]] == expected


def test_gold_labels_are_names_of_classes_as_predict_writes_them(tmp_path):
    names = ("very bad", "fair (so-so)")
    tree = Tree.from_string("(very_bad (fair_-LRB-so-so-RRB- good) (bad film))")
    write_page([Prediction(tree, np.eye(2)[[0, 0, 0]], names)], tmp_path / "page.html")
    _, data = read(tmp_path / "page.html")
    assert data["items"][0]["gold"] == [0, 1, -1]
    tree = Tree.from_string("(a_b good)")
    for names in (("a_b", "a b"), ("a b", "a_b")):
        write_page([Prediction(tree, np.eye(2)[[0]], names)], tmp_path / "page.html")
        _, data = read(tmp_path / "page.html")
        assert data["items"][0]["gold"] == [names.index("a_b")]
