"""Whatever interrupts saving, a complete model remains: the old or the new one."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
import torch

from graphsent import _files
from graphsent.errors import ModelError
from graphsent.models import Model, NBoW, load_pretrained
from graphsent.models.base import storage
from graphsent.training import load_model
from graphsent.vocabulary import Vocabulary

VOCAB = Vocabulary(["a", "b"])
KILLED = """
import os, sys
from graphsent.models import NBoW
from graphsent.models.base import storage
from graphsent.vocabulary import Vocabulary
storage.save_tensors = lambda *args, **kwargs: os._exit(9)
NBoW(Vocabulary(["a", "b"]), 2, 6).save_pretrained(sys.argv[1])
"""


def model(size: int) -> NBoW:
    return NBoW(VOCAB, 2, size)


@pytest.fixture
def directory(tmp_path):
    model(4).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_a_killed_process_leaves_the_old_model(directory):
    assert subprocess.run([sys.executable, "-c", KILLED, directory], check=False).returncode == 9
    assert load_pretrained(directory).config["embedding_dim"] == 4
    model(6).save_pretrained(directory)
    assert load_pretrained(directory).config["embedding_dim"] == 6


@pytest.mark.parametrize(("module", "name"), [(storage, "save_tensors"), (_files, "_swap")])
def test_an_interruption_leaves_the_old_model_and_no_traces(directory, monkeypatch, module, name):
    def interrupt(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, name, interrupt)
    with pytest.raises(KeyboardInterrupt):
        model(6).save_pretrained(directory)
    assert load_pretrained(directory).config["embedding_dim"] == 4
    assert list(directory.parent.iterdir()) == [directory]


def test_a_failing_rename_puts_the_old_model_back(directory, monkeypatch):
    rename = os.replace

    def fail_at_new(source, target):
        if os.fspath(source).endswith(".new"):
            raise PermissionError("no")
        rename(source, target)

    monkeypatch.setattr(os, "replace", fail_at_new)
    with pytest.raises(PermissionError):
        model(6).save_pretrained(directory)
    assert load_pretrained(directory).config["embedding_dim"] == 4
    assert list(directory.parent.iterdir()) == [directory]


@pytest.mark.parametrize("name", ["model", "run"])
def test_a_model_that_is_missing_while_it_is_replaced_is_loaded(
    directory, monkeypatch, tmp_path, name
):
    if name == "run":
        (tmp_path / "run").mkdir()
        (tmp_path / "run/config.yaml").touch()
        directory = directory.rename(tmp_path / "run/model")
    old = directory.rename(tmp_path / "old")

    def sleep(_seconds):
        if old.exists():
            old.rename(directory)

    monkeypatch.setattr(time, "sleep", sleep)
    assert load_model(tmp_path / name).config["embedding_dim"] == 4


def test_a_first_save_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_args, **_kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(storage, "save_tensors", fail)
    with pytest.raises(OSError, match="disk full"):
        model(4).save_pretrained(tmp_path / "new" / "model")
    assert list((tmp_path / "new").iterdir()) == []


def test_an_empty_directory_and_a_link_to_a_model_can_be_saved_to(directory, tmp_path):
    (tmp_path / "empty").mkdir()
    model(4).save_pretrained(tmp_path / "empty")
    assert load_pretrained(tmp_path / "empty").config["embedding_dim"] == 4
    (tmp_path / "link").symlink_to(directory)
    model(6).save_pretrained(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert load_pretrained(directory).config["embedding_dim"] == 6


def test_other_directories_are_not_replaced(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ModelError, match="file: it is a file, expected a directory"):
        model(4).save_pretrained(tmp_path / "file")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ModelError, match=r"not a graphsent model \(.*config\.json: not written by"):
        model(4).save_pretrained(foreign)
    assert (foreign / "config.json").read_text() == '{"model_type": "bert"}'


class Tied(NBoW):
    """A model with two tied parameters."""

    name = "tied"

    def __init__(self, vocab: Vocabulary, num_classes: int) -> None:
        super().__init__(vocab, num_classes, 4)
        self.second = torch.nn.Linear(4, num_classes)
        self.second.weight = self.output.weight


def test_a_custom_model_keeps_dtype_and_tied_weights(tmp_path):
    ours: Model = Tied(VOCAB, 3).double()
    ours.save_pretrained(tmp_path / "model")
    theirs = Tied.from_pretrained(tmp_path / "model")
    assert theirs.second.weight is theirs.output.weight
    assert theirs.output.weight.dtype == torch.float64
    torch.testing.assert_close(theirs.state_dict(), ours.state_dict(), rtol=0, atol=0)
    message = "is test_interrupted_saving:Tied, whose code runs only on request"
    with pytest.raises(ModelError, match=message):
        load_pretrained(tmp_path / "model")
