"""Models on the Hugging Face Hub: uploads, and downloads from the cache, offline."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import graphsent
from graphsent.cli import main
from graphsent.errors import ModelError
from graphsent.models import NBoW, TreeLSTMClassifier, load_pretrained
from graphsent.vocabulary import Vocabulary

VOCAB = Vocabulary(["a", "film"])
REVISION = "0" * 40


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """huggingface_hub without a network: uploads go to its cache, from where models are read."""
    pytest.importorskip("huggingface_hub")
    from huggingface_hub import constants, hub_mixin

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))

    class Api:
        def __init__(self, **_options: object) -> None:
            pass

        def create_repo(self, repo_id: str, **_options: object) -> SimpleNamespace:
            return SimpleNamespace(repo_id=repo_id)

        def upload_folder(self, *, repo_id: str, folder_path: Path, **_options: object) -> str:
            where = tmp_path / "cache" / f"models--{repo_id.replace('/', '--')}"
            shutil.copytree(folder_path, where / "snapshots" / REVISION)
            (where / "refs").mkdir()
            (where / "refs" / "main").write_text(REVISION)
            return f"https://hub/{repo_id}"

    monkeypatch.setattr(hub_mixin, "HfApi", Api)
    return tmp_path / "cache"


def test_a_model_goes_to_the_hub_and_comes_back(hub, capsys):
    model = NBoW(VOCAB, 2, 4, label_names=["bad", "good"])
    model.card = "# A model\n"
    assert model.push_to_hub("anna/films", private=True) == "https://hub/anna/films"
    files = hub / "models--anna--films" / "snapshots" / REVISION
    assert {path.name for path in files.iterdir()} == {
        "README.md",
        "config.json",
        "model.safetensors",
        "vocabulary.json",
    }
    assert (files / "README.md").read_text() == "# A model\n"
    for name in ("hf://anna/films", "hf://anna/films@main"):
        for load in (graphsent.load, load_pretrained, NBoW.from_pretrained):
            found = load(name)
            np.testing.assert_array_equal(found.encode(["a film"]), model.encode(["a film"]))
    capsys.readouterr()
    assert main(["predict", "hf://anna/films", "a film"]) == 0
    assert "\ta film\n" in capsys.readouterr().out


def test_the_named_revision_is_loaded(hub):
    NBoW(VOCAB, 2, 4).push_to_hub("anna/films")
    other = hub / "models--anna--films" / "snapshots" / ("1" * 40)
    NBoW(VOCAB, 3, 4).save_pretrained(other)
    (other.parent.parent / "refs" / "next").write_text("1" * 40)
    for revision, num_classes in (("main", 2), ("next", 3), ("1" * 40, 3)):
        assert len(graphsent.load(f"hf://anna/films@{revision}").label_names) == num_classes


def test_a_model_without_a_card_gets_a_short_one(hub):
    model = TreeLSTMClassifier(VOCAB, 2, 3, 4)
    model.push_to_hub("anna/trees")
    card = graphsent.load("hf://anna/trees").card
    assert "library_name: graphsent" in card
    assert model.card is None


def test_only_the_files_of_a_model_are_downloaded(hub, monkeypatch):
    from huggingface_hub.utils import filter_repo_objects

    NBoW(VOCAB, 2, 4).push_to_hub("anna/films")
    files = hub / "models--anna--films" / "snapshots" / REVISION
    saved = [path.name for path in files.iterdir()] + ["encoder/config.json", "encoder/a/b.txt"]
    kept = []

    def download(*_arguments: object, allow_patterns: list[str], **_options: object) -> str:
        there = [*saved, "pytorch_model.bin", "onnx/model.onnx", "onnx/config.json"]
        kept.extend(filter_repo_objects(there, allow_patterns=allow_patterns))
        return str(files)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    graphsent.load("hf://anna/films")
    assert kept == saved


def test_a_missing_model(hub, capsys):
    with pytest.raises(ModelError, match="cannot download hf://anna/none: "):
        graphsent.load("hf://anna/none")
    assert main(["predict", "hf://anna/no/ne", "a film"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("kind", [OSError, Exception])  # httpx has errors of its own
def test_an_upload_that_fails_is_one_error(kind, hub, monkeypatch):
    from huggingface_hub import hub_mixin

    def fail(*_arguments: object, **_options: object) -> None:
        raise kind("401 Client Error: Unauthorized")

    monkeypatch.setattr(hub_mixin.HfApi, "create_repo", fail)
    with pytest.raises(ModelError, match="cannot upload to anna/films on the Hub: 401"):
        NBoW(VOCAB, 2, 4).push_to_hub("anna/films")


def test_a_path_without_the_scheme_is_never_looked_for_on_the_hub(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ModelError, match="anna/films is not a directory"):
        graphsent.load("anna/films")
    with pytest.raises(ImportError, match="huggingface_hub"):
        graphsent.load("hf://anna/films")
