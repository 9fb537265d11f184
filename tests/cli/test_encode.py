"""`graphsent encode`: vectors in files, in step with inputs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import outcome

from graphsent._files import leftovers
from graphsent.cli.encode import _output
from graphsent.models import BiTreeLSTMClassifier, NBoW, load_pretrained
from graphsent.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["the", "film", "good", "is", "."])
TEXT = "The film is good.\n\nfilm\n(S (A good) (B film))\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    """Saved models of words and of trees, and a file with an empty line."""
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    NBoW(VOCABULARY, 3, 4).save_pretrained("words")
    BiTreeLSTMClassifier(VOCABULARY, 3, 4, 4, 4).save_pretrained("trees")
    Path("text.txt").write_text(TEXT)
    Path("sound.txt").write_text(TEXT.replace("\n\n", "\n"))
    return tmp_path


def encode(capsys, *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    return outcome(capsys, "encode", *arguments)


def test_vectors_are_those_of_the_model_in_all_formats(capsys):
    expected = load_pretrained("words").encode(["The film is good.", "film", "good film"])
    for options in ([], ["--batch-size=1"]):
        code, out, _ = encode(capsys, "words", "sound.txt", "--out=v.npy", *options)
        assert (code, out) == (0, "wrote v.npy: 3 vectors of length 4\n")
        vectors = np.load("v.npy")
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(vectors, expected, atol=1e-6)
    encode(capsys, "words", "sound.txt", "--out=v.npz")
    with np.load("v.npz") as archive:
        np.testing.assert_allclose(archive["vectors"], expected, atol=1e-6)
        assert archive["lines"].tolist() == [1, 2, 3]
    _, printed, _ = encode(capsys, "words", "sound.txt")
    encode(capsys, "words", "sound.txt", "--out=v.jsonl")
    assert Path("v.jsonl").read_text() == printed
    found = [json.loads(line) for line in printed.splitlines()]
    assert [each["text"] for each in found] == ["The film is good .", "film", "good film"]
    np.testing.assert_allclose([each["vector"] for each in found], expected, atol=1e-5)
    assert not [path for path in Path().iterdir() if path.name.startswith(".")]


def test_bad_inputs_keep_their_places(capsys):
    code, _, err = encode(capsys, "words", "text.txt", "--out=v.npz")
    assert code == 1
    assert "graphsent encode: text.txt:2: an empty line" in err
    assert "1 of 4 inputs are bad and have no result" in err
    with np.load("v.npz") as archive:
        assert np.isnan(archive["vectors"]).all(axis=1).tolist() == [False, True, False, False]
        assert archive["lines"].tolist() == [1, 2, 3, 4]
    _, out, _ = encode(capsys, "words", "text.txt")
    assert json.loads(out.splitlines()[1])["line"] == 2
    before = Path("v.npz").read_bytes()
    assert encode(capsys, "words", "text.txt", "--out=v.npz", "--strict")[0] == 1
    assert Path("v.npz").read_bytes() == before


def test_models_of_trees_need_trees_or_a_parser(capsys):
    _, out, err = encode(capsys, "trees", "(S (A good) (B film))")
    assert json.loads(out)["text"] == "good film"
    assert err == ""
    code, _, err = encode(capsys, "trees", "good film")
    assert code == 1
    assert "raw text needs --parser" in err
    code, out, _ = encode(capsys, "trees", "good film", "--parser=toy_parsers:flat")
    assert (code, json.loads(out)["text"]) == (0, "good film")


def test_npy_header_has_the_same_length_for_any_number_of_rows(capsys):
    Path("many.txt").write_text("film\n" * 1234)
    assert encode(capsys, "words", "many.txt", "--out=v.npy")[0] == 0
    assert np.load("v.npy", mmap_mode="r").shape == (1234, 4)
    Path("none.txt").touch()
    assert encode(capsys, "words", "none.txt", "--out=v.npy")[0] == 0
    assert np.load("v.npy").shape == (0, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["words", "text.txt", "--out=v.txt"], "expected a file name ending in .npy, .npz, .jsonl"),
        (["words", "text.txt", "--batch-size=0"], "--batch-size: expected at least 1"),
        (
            ["words", "text.txt", "text.txt"],
            "expected one file for the model 'nbow', got two: text.txt, text.txt",
        ),
        (["none", "text.txt"], "no such run, model or file: none"),
        (["words", "text.txt", "--otu=v.npy"], "did you mean '--out'?"),
    ],
)
def test_usage_errors(arguments, message, capsys):
    code, out, err = encode(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.jsonl"])
def test_leftovers_of_a_killed_process_are_found_by_the_next(name, tmp_path):
    directory = tmp_path / "new"
    with _output(str(directory / name), 3):
        there = set(directory.iterdir())
        assert there == {path for path, _ in leftovers(directory, name)} != set()
    assert [*directory.iterdir()] == [directory / name]
