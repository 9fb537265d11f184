"""docs/own_model.md: its code and its commands run as typed, on a small treebank."""

from __future__ import annotations

import io
import re
import shlex
import sys

import pytest
import torch
from commands import status_of
from toy_treebank import write_treebank

import graphsent


@pytest.fixture
def page(repository, tmp_path, monkeypatch):
    """The blocks of the page, in a directory with the module that it writes."""
    text = (repository / "docs" / "own_model.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    *module, in_python = (code for language, code in blocks if language == "python")
    (commands,) = (code for language, code in blocks if not language)
    (tmp_path / "my_models.py").write_text("\n".join(module))
    write_treebank(tmp_path / "data")
    monkeypatch.setenv("GRAPHSENT_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield commands, in_python
    sys.modules.pop("my_models", None)


def test_it_runs_as_typed(page, monkeypatch, capsys):
    commands, in_python = page
    *lines, pipe = commands.replace("|\n", "|").strip().split("\n")
    (_, tree), predict = map(shlex.split, pipe.split("|"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(tree.encode())))
    for words in (*map(shlex.split, lines), predict):
        assert words[0] == "graphsent"
        status = status_of(words[1:])
        assert status == 0
    printed = capsys.readouterr().out
    assert "--hidden HIDDEN" in printed
    assert printed.splitlines()[-1].endswith("\tThe film is dull")
    exec(compile(in_python, "own_model.md", "exec"), {})
    assert capsys.readouterr().out.strip() == printed.splitlines()[-1].partition("\t")[0]


def test_the_classifier_of_word_sequences(page, tmp_path):
    command = ["train", "--task=sst5", "--model=my_models:MeanClassifier", "--epochs=1"]
    assert status_of([*command, f"--out={tmp_path / 'run'}"]) == 0
    cls = sys.modules["my_models"].MeanClassifier
    model = graphsent.load(tmp_path / "run", model_class=cls)
    sentences = ["a good film", "so so so dull"]  # a repeated word may share its row
    W = model.encoder.W
    for sentence, vector in zip(sentences, model.encode(sentences), strict=True):
        words = torch.tensor([model.vocab[word] for word in sentence.split()])
        with torch.no_grad():
            expected = torch.tanh(W(model.word_vectors(words).mean(0)))
        torch.testing.assert_close(torch.from_numpy(vector), expected)
