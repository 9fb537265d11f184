"""Features of a frozen encoder, computed once and cached."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from toy_encoder import Tokenizer, toy_encoder

from graphsent.contextual import Encoder, Features, FeatureStore, WordSpan, features, store

SENTENCES = [("a", "film"), ("the", "the", "dog", "barks"), ("a",), ("a", "film")]


def spans(sentences=SENTENCES):
    return [WordSpan(words, 0, len(words)) for words in sentences]


def expected(encoder, sentences=SENTENCES):
    one = [encoder.encode(encoder.read(spans([words]))) for words in sentences]
    return torch.cat(one).detach()


def test_features_are_those_of_each_sentence_by_itself():
    encoder = toy_encoder()
    found = Features(encoder).of(spans())
    torch.testing.assert_close(found, expected(encoder))
    assert not found.requires_grad
    stretch = Features(encoder).of([WordSpan(SENTENCES[1], 1, 3)])
    torch.testing.assert_close(stretch, expected(encoder, SENTENCES[1:2])[1:3])
    assert Features(encoder).of([]).shape == (0, 3)
    assert Features(encoder).of([WordSpan((), 0, 0)]).shape == (0, 3)


def test_a_tokenizer_without_a_piece_for_padding():
    """Such as that of GPT-2; what pads a sentence does not matter."""
    encoder, tokenizer = toy_encoder(), Tokenizer()
    tokenizer.pad_token_id = None
    without = Encoder(Path("toy"), "0" * 64, "mean", encoder.model, tokenizer)
    torch.testing.assert_close(Features(without).of(spans()), Features(encoder).of(spans()))


def test_sentences_of_similar_length_are_read_at_once(monkeypatch):
    monkeypatch.setattr(features, "_WORDS_AT_ONCE", 12)
    encoder, read = toy_encoder(), []
    monkeypatch.setattr(
        encoder,
        "read",
        lambda spans: read.append([s.end for s in spans]) or Encoder.read(encoder, spans),
    )
    Features(encoder).of(spans([(str(n),) * size for n, size in enumerate([5, 1, 13, 2, 5, 1, 6])]))
    assert read == [[1, 1, 2], [5, 5], [6], [13]]


def test_cached_features_are_computed_once(tmp_path, monkeypatch):
    monkeypatch.setattr(features, "_SENTENCES_A_FILE", 2)
    encoder, reports = toy_encoder(), []
    first = Features(encoder)
    first.keep(iter(SENTENCES), FeatureStore(tmp_path, 3), reports.append)
    assert reports == [2, 3]
    assert len(list(tmp_path.iterdir())) == 2

    calls = encoder.model.calls
    again = Features(encoder)
    again.keep([*SENTENCES], FeatureStore(tmp_path, 3))
    for each in (first, again):
        torch.testing.assert_close(each.of(spans()), expected(toy_encoder()))
    assert encoder.model.calls == calls
    again.of(spans([("new",)]))
    assert encoder.model.calls == calls + 1
    assert len(list(tmp_path.iterdir())) == 2  # nothing is cached of what is not requested


def test_an_interrupted_run_resumes(tmp_path, monkeypatch):
    monkeypatch.setattr(features, "_SENTENCES_A_FILE", 1)

    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Features(toy_encoder()).keep(SENTENCES, FeatureStore(tmp_path, 3), stop)
    reports = []
    Features(toy_encoder()).keep(SENTENCES, FeatureStore(tmp_path, 3), reports.append)
    assert reports == [1, 2]


def test_features_written_by_another_process_are_reused(tmp_path, monkeypatch):
    monkeypatch.setattr(features, "_SENTENCES_A_FILE", 1)
    reports = []

    def report(done):
        if not reports:
            Features(toy_encoder()).keep(SENTENCES[1:], FeatureStore(tmp_path, 3))
        reports.append(done)

    found = Features(toy_encoder())
    found.keep([("x",), *SENTENCES], FeatureStore(tmp_path, 3), report)
    assert reports == [1]
    torch.testing.assert_close(found.of(spans()), expected(toy_encoder()))


def test_damaged_files_are_recomputed(tmp_path):
    Features(toy_encoder()).keep(SENTENCES, FeatureStore(tmp_path, 3))
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    for damaged in (content[:-4], b"", content[:20]):
        path.write_bytes(damaged)
        store = FeatureStore(tmp_path, 3)
        assert store.get(SENTENCES[0]) is None
        assert not path.exists()
        found = Features(toy_encoder())
        found.keep(SENTENCES, store)
        torch.testing.assert_close(found.of(spans()), expected(toy_encoder()))
        assert path.read_bytes() == content
    assert FeatureStore(tmp_path, 4).get(SENTENCES[0]) is None  # of another length


def test_files_that_cannot_be_read_are_kept(tmp_path, monkeypatch):
    """They may be sound: another user's, or too many files are open."""
    Features(toy_encoder()).keep(SENTENCES, FeatureStore(tmp_path, 3))
    (path,) = tmp_path.iterdir()

    def fail(_path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(store, "load_file", fail)
    assert FeatureStore(tmp_path, 3).get(SENTENCES[0]) is None
    assert path.exists()


def test_files_are_as_readable_as_others(tmp_path):
    Features(toy_encoder()).keep(SENTENCES, FeatureStore(tmp_path, 3))
    (path,) = tmp_path.iterdir()
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
def test_a_file_that_cannot_be_written_is_named(tmp_path):
    code = """
import resource, sys, torch
from graphsent.contextual import FeatureStore
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    FeatureStore(sys.argv[1], 3).add([["a"]], torch.zeros(1, 3))
except OSError as error:
    assert error.filename.startswith(sys.argv[1]), error
    print(error.strerror)
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == "File too large\n"
    assert not [*tmp_path.iterdir()]


def test_sentences_are_told_apart_by_their_words(tmp_path):
    store = FeatureStore(tmp_path, 3)
    store.add([("ab", "c")], torch.ones(2, 3))
    assert store.get(("ab", "c")).tolist() == [[1.0] * 3] * 2
    assert store.get(("a", "bc")) is None
    assert store.get(("abc",)) is None


def test_two_processes_at_once(tmp_path):
    script = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from toy_encoder import toy_encoder
from graphsent.contextual import Features, FeatureStore, features
features._SENTENCES_A_FILE = 5
words = [(str(number), "film") for number in range(200)]
Features(toy_encoder()).keep(words, FeatureStore({str(tmp_path)!r}, 3))
"""
    runs = [
        subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE) for _ in range(2)
    ]
    for run in runs:
        assert run.communicate()[1] == b""
        assert run.returncode == 0
    store = FeatureStore(tmp_path, 3)
    for number in range(200):
        words = (str(number), "film")
        torch.testing.assert_close(store.get(words), expected(toy_encoder(), [words]))
    assert all(path.suffix == ".safetensors" for path in tmp_path.iterdir())
