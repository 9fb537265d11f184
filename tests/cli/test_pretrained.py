"""The model included in the package."""

from __future__ import annotations

import configparser
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

import graphsent
from graphsent.cli import main
from graphsent.pretrained import PACKAGED

REPOSITORY = Path(__file__).resolve().parents[2]
CLEAR = {
    "A film of great charm.": "positive",
    "A gripping, beautifully acted film.": "positive",
    "One of the best films of the year.": "positive",
    "It is funny, moving and never dull.": "positive",
    "A dull, lifeless mess.": "negative",
    "The plot is stupid and the acting is terrible.": "negative",
    "This film is not good.": "negative",
    "I was bored.": "negative",
}


def test_it_is_small_and_ships_with_the_package():
    parser = configparser.ConfigParser()
    parser.read(REPOSITORY / "setup.cfg", encoding="utf-8")
    pattern = parser["options.package_data"]["graphsent.pretrained"]
    shipped = set(PACKAGED.parent.glob(pattern))
    assert shipped == set(PACKAGED.iterdir())
    assert sum(path.stat().st_size for path in shipped) < 12e6


def test_its_card_says_what_it_is_and_names_no_directory():
    card = (PACKAGED / "README.md").read_text(encoding="utf-8")
    for said in ("Socher et al. 2013", "Apache License 2.0", "licence", "make packaged-model"):
        assert said in card
    assert re.search(r"\| root accuracy \| \d\d\.\d\d % \| \d\d\.\d\d % \|", card)
    assert not re.search(r"[ '\"(]/\w+/", card)


def test_clear_sentences_are_right():
    model = graphsent.load()
    for found, expected in zip(model.predict([*CLEAR]), CLEAR.values(), strict=True):
        assert found.root_name.endswith(expected), found


@pytest.mark.parametrize("arguments", [["A film of great charm"], []])
def test_predict_uses_it_without_a_run(arguments, capsys, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(b"A film of great charm\n"))
    monkeypatch.setattr("sys.stdin", stream)
    assert main(["predict", *arguments]) == 0
    captured = capsys.readouterr()
    name, probability, sentence = captured.out.splitlines()[0].split("\t")
    assert name.endswith("positive")
    assert float(probability) > 0.4
    assert sentence == "A film of great charm"
    assert "using the bundled model" in captured.err


def test_it_answers_without_importing_what_models_of_words_do_not_need():
    script = """
import sys
from graphsent.cli import main
assert main(["predict", "A film of great charm"]) == 0
heavy = {"dgl", "nltk", "pandas", "networkx", "scipy", "sympy", "pytorch_lightning", "matplotlib"}
print(sorted(heavy & set(sys.modules)))
"""
    command = [sys.executable, "-c", script]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-1] == "[]"
