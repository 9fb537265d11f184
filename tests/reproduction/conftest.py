"""A catalogue with one small table, and data for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_treebank import write_treebank

from graphsent.reproduction import Catalogue, Execution, Places
from graphsent.reproduction import catalogue as module

FAMILY = """
revision: 1
chosen: as they came
deviations: [smaller]
config:
  task: sst5
  vectors: [tiny.txt]
  training: {epochs: 5, num_threads: 1, optimizer: adam, lr: 0.02}
configurations:
  toy-nbow:
    minutes: 0.1
    config: {model: nbow}
  toy-tree:
    minutes: 0.2
    config: {model: treelstm, model_options: {hidden: 6, dropout: 0.0}}
  toy-tree-left:
    of: toy-tree
    deviations: [left-branching trees]
    config: {trees: left}
"""
TABLE = """
title: Toys
source: Nobody, table 1
remarks: [A remark on all of it.]
rows:
  - name: words
    results:
      - {configuration: toy-nbow, paper: {root_accuracy: 40.5, phrase_accuracy: ~}}
  - name: trees
    results:
      - {configuration: toy-tree, main: true, paper: {root_accuracy: 51}}
  - name: left-branching
    results:
      - {configuration: toy-tree-left, paper: {root_accuracy: ~}}
comparisons:
  - {claim: trees are better, first: toy-tree, second: toy-nbow}
  - {claim: the parse helps, first: toy-tree, second: toy-tree-left}
"""


@pytest.fixture
def shipped(tmp_path, monkeypatch) -> Path:
    """The directory of the catalogue, instead of the shipped one."""
    directory = tmp_path / "shipped"
    for folder, name, text in (("configurations", "toy", FAMILY), ("tables", "toys", TABLE)):
        (directory / folder).mkdir(parents=True)
        (directory / folder / f"{name}.yaml").write_text(text)
    monkeypatch.setattr(module, "_SHIPPED", directory)
    return directory


@pytest.fixture
def catalogue(shipped) -> Catalogue:
    return Catalogue()


@pytest.fixture
def data(tmp_path) -> Path:
    """A data directory with vectors beside it."""
    write_treebank(tmp_path / "data")
    (tmp_path / "vectors").mkdir()
    text = "good 1 0 0 1\nawful 0 1 1 0\nnot -1 0 0 1\n"
    (tmp_path / "vectors" / "tiny.txt").write_text(text)
    return tmp_path / "data"


@pytest.fixture
def here(shipped, data, tmp_path, monkeypatch) -> Path:
    """The current directory, which holds the catalogue and the data."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def execution(data, tmp_path) -> Execution:
    return Execution(Places(str(data)), tmp_path / "docs" / "results", tmp_path / "work")
